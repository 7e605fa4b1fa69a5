"""A policy: questions in, completions out. Evaluation takes this from the floor, no more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

from kernelwright.rl.adapter_folder import find_adapter
from kernelwright.rl.decode import sample
from kernelwright.rl.memory import give_back
from kernelwright.rl.models import (
    Dtype,
    Quantization,
    chat_ids,
    end_token_ids,
    errors_in_one_line,
    load_base,
    load_tokenizer,
)
from kernelwright.rl.weights import ModelError


class Policy(Protocol):
    """Whatever answers user messages."""

    def complete(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int,
        temperature: float,
        seed: int,
        on_answer: Callable[[], None] | None = None,
    ) -> list[str]:
        """One completion per prompt, in order; temperature 0 is greedy.

        The same arguments give the same completions. `on_answer` is called as each is complete.
        """
        ...


class ScriptedPolicy:
    """Gives the completions it was made with, in order and around again. For tests and dry runs."""

    def __init__(self, completions: Sequence[str]) -> None:
        if not completions:
            raise ValueError("a scripted policy needs a completion")
        self._completions = tuple(completions)
        self._given = 0

    def complete(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int,
        temperature: float,
        seed: int,
        on_answer: Callable[[], None] | None = None,
    ) -> list[str]:
        """The next completions of the script, whatever is asked."""
        if on_answer:
            for _ in prompts:
                on_answer()
        places = range(self._given, self._given + len(prompts))
        self._given = places.stop
        return [self._completions[place % len(self._completions)] for place in places]


class HFPolicy:
    """A causal language model of transformers, adapted or not, asked in its own chat format."""

    def __init__(self, model: Any, tokenizer: Any, batch_size: int = 48) -> None:
        if not tokenizer.chat_template:
            raise ModelError("this model's tokenizer has no chat template: take an instruct model")
        self.model = model
        self.tokenizer = tokenizer
        self.batch_size = batch_size

    def complete(
        self,
        prompts: Sequence[str],
        *,
        max_new_tokens: int,
        temperature: float,
        seed: int,
        on_answer: Callable[[], None] | None = None,
    ) -> list[str]:
        """Samples from the model's own distribution: no top-k, no top-p, no penalties."""
        found = sample(
            self.model,
            [chat_ids(self.tokenizer, prompt) for prompt in prompts],
            max_new_tokens=max_new_tokens,
            temperature=temperature,
            end_token_ids=end_token_ids(self.model, self.tokenizer),
            seed=seed,
            rows=self.batch_size,
            on_finished=(lambda *_: on_answer()) if on_answer else None,
        )
        give_back()  # a GPU's memory, too: the judge needs it
        return [self.tokenizer.decode(one.token_ids, skip_special_tokens=True) for one in found]


def load_policy(
    model: str,
    *,
    quantization: Quantization | None = None,
    dtype: Dtype = "auto",
    batch_size: int = 48,
) -> HFPolicy:
    """The policy of an embedded model, a Hub id, or a folder with a model, an adapter or a run.

    `quantization` None holds an adapter's base as it was in training, any other model unquantised.
    """
    adapter = find_adapter(model)
    if adapter is None:
        base = load_base(model, quantization=quantization or "none", dtype=dtype)
        return HFPolicy(base, load_tokenizer(model), batch_size)
    from peft import PeftModel

    base = load_base(adapter.base, quantization=quantization or adapter.quantization, dtype=dtype)
    with errors_in_one_line(str(adapter.folder)):
        tuned = PeftModel.from_pretrained(base, str(adapter.folder)).eval()
    return HFPolicy(tuned, load_tokenizer(adapter.base), batch_size)
