"""Policies of models in this process, and one of scripted completions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kernelwright.envs.policy import Completion, Finish, OnFinished, Policy, Prompt, Sampling
from kernelwright.rl.models.adapter_folder import find_adapter
from kernelwright.rl.models.chat import chat_ids, end_token_ids
from kernelwright.rl.models.free_memory import give_back
from kernelwright.rl.models.load import (
    Dtype,
    Quantization,
    errors_in_one_line,
    hush_libraries,
    load_base,
    load_tokenizer,
)
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.policies.decode import Sampled, sample
from kernelwright.rl.policies.providers.find import provider_and_model


class ScriptedPolicy:
    """Gives the completions it was made with, in order and around again. For tests and dry runs."""

    def __init__(self, completions: Sequence[str]) -> None:
        if not completions:
            raise ValueError("a scripted policy needs a completion")
        self._completions = tuple(completions)
        self._given = 0

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        """The next completions of the script, whatever is asked."""
        places = range(self._given, self._given + len(prompts))
        self._given = places.stop
        texts = [self._completions[place % len(self._completions)] for place in places]
        found = [Completion(text=text, finish=Finish.STOP) for text in texts]
        for number, one in enumerate(found):
            if on_finished:
                on_finished(number, one)
        return found


class HFPolicy:
    """A causal language model of transformers, adapted or not, asked in its own chat format.

    `batch_size` answers are in work at once, None: as many as suit the device. `weights_step` is
    the optimiser step of its weights, None where it is not being trained.
    """

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        batch_size: int | None = None,
        weights_step: int | None = None,
    ) -> None:
        if not tokenizer.chat_template:
            raise ModelError("this model's tokenizer has no chat template: take an instruct model")
        self.model = model
        self.tokenizer = tokenizer
        self.batch_size = batch_size
        self.weights_step = weights_step

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        """Samples from the model's own distribution: no top-k, no top-p, no penalties."""
        asked = prompt_token_ids(self.tokenizer, prompts)
        finished: dict[int, Completion] = {}

        def finish(number: int, sampled: Sampled) -> None:
            one = as_completion(self.tokenizer, asked[number], sampled, self.weights_step)
            finished[number] = one
            if on_finished:
                on_finished(number, one)

        sample(
            self.model,
            asked,
            max_new_tokens=sampling.max_new_tokens,
            temperature=sampling.temperature,
            end_token_ids=end_token_ids(self.model.generation_config, self.tokenizer),
            seed=sampling.seed,
            rows=self.batch_size,
            numbers=sampling.numbers,
            on_finished=finish,
        )
        give_back()  # a GPU's memory, too: the judge needs it
        return [finished[number] for number in range(len(prompts))]


def prompt_token_ids(tokenizer: Any, prompts: Sequence[Prompt]) -> list[list[int]]:
    """Each prompt in the model's chat format, as tokens; equal ones are tokenised once."""
    known = {prompt: chat_ids(tokenizer, prompt) for prompt in dict.fromkeys(prompts)}
    return [known[prompt] for prompt in prompts]


def as_completion(
    tokenizer: Any, prompt_ids: Sequence[int], sampled: Sampled, weights_step: int | None
) -> Completion:
    """Sampled tokens with their text, without special tokens."""
    return Completion(
        text=tokenizer.decode(sampled.token_ids, skip_special_tokens=True),
        finish=Finish.STOP if sampled.ended else Finish.LENGTH,
        prompt_ids=tuple(prompt_ids),
        token_ids=sampled.token_ids,
        logprobs=sampled.logprobs,
        weights_step=weights_step,
    )


def open_policy(model: str) -> Policy:
    """The policy of a model's name: a provider's (`NAME:…`), else as `load_policy` has it."""
    named = provider_and_model(model)
    return named[0].open(named[1]) if named else load_policy(model)


def load_policy(
    model: str,
    *,
    quantization: Quantization | None = None,
    dtype: Dtype = "auto",
    batch_size: int | None = None,
) -> HFPolicy:
    """The policy of an embedded model, a Hub id, or a folder with a model, an adapter or a run.

    `quantization` None holds an adapter's base as it was in training, any other model unquantised.
    """
    hush_libraries()  # first: importing PEFT has bitsandbytes speak already
    adapter = find_adapter(model)
    if adapter is None:
        base = load_base(model, quantization=quantization or "none", dtype=dtype)
        return HFPolicy(base, load_tokenizer(model), batch_size)
    from peft import PeftModel

    base = load_base(adapter.base, quantization=quantization or adapter.quantization, dtype=dtype)
    with errors_in_one_line(str(adapter.folder)):
        tuned = PeftModel.from_pretrained(base, str(adapter.folder)).eval()
    return HFPolicy(tuned, load_tokenizer(adapter.base), batch_size)
