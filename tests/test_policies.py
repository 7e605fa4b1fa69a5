"""A policy answers in order, reproducibly, from whatever its model's name means."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from kernelwright.envs.policy import Completion, Finish, Message, Sampling
from kernelwright.rl.models.adapter_folder import find_adapter
from kernelwright.rl.models.load import load_base, load_tokenizer
from kernelwright.rl.models.weights import EMBEDDED, ModelError
from kernelwright.rl.policies.hf import HFPolicy, ScriptedPolicy, load_policy
from tests.tiny_model import save_tiny

GREEDY = Sampling(max_new_tokens=2, temperature=0)
PROMPTS = ("Add.", "Multiply two long vectors.", "Add.", "Sort", "Scan it")


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_tiny(tmp_path_factory.mktemp("base"))


@pytest.fixture(scope="module")
def adapter(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run folder whose adapter was trained over NF4 weights, as `rl/train/adapter.py` leaves
    it."""
    from peft import LoraConfig, get_peft_model

    run = tmp_path_factory.mktemp("run")
    final = run / "checkpoints" / "final"
    tuned = get_peft_model(load_base(str(base)), LoraConfig(r=4, target_modules="all-linear"))
    torch.manual_seed(0)
    for name, parameter in tuned.named_parameters():
        if "lora_" in name:
            torch.nn.init.normal_(parameter, std=0.2)
    tuned.save_pretrained(final)
    (final / "kernelwright.json").write_text(json.dumps({"base": str(base), "quantization": "nf4"}))
    return run


def answers(policy: Any, *, temperature: float = 0.0, seed: int = 0, tokens: int = 12) -> list[str]:
    sampling = Sampling(max_new_tokens=tokens, temperature=temperature, seed=seed)
    return [one.text for one in policy.complete(PROMPTS, sampling)]


# The scripted policy


@given(st.lists(st.text(), min_size=1, max_size=5), st.lists(st.integers(0, 7), max_size=5))
def test_a_script_is_read_in_order_and_around_again(script: list[str], calls: list[int]) -> None:
    policy, said = ScriptedPolicy(script), list[str]()
    for count in calls:
        said += [one.text for one in policy.complete([""] * count, GREEDY)]
    assert said == [script[place % len(script)] for place in range(sum(calls))]


def test_an_empty_script_is_refused() -> None:
    with pytest.raises(ValueError, match="completion"):
        ScriptedPolicy([])


# The policy of a model


def test_greedy_answers_are_in_order_and_do_not_depend_on_the_batch(base: Path) -> None:
    together = load_policy(str(base), dtype="float32")
    alone = HFPolicy(together.model, together.tokenizer, batch_size=1)
    assert answers(together) == answers(alone, seed=1)
    assert len(set(answers(together))) == 4
    assert answers(together)[0] == answers(together)[2]


def test_a_greedy_answer_is_the_argmax_after_the_chat_prompt(base: Path) -> None:
    policy, tokenizer = load_policy(str(base), dtype="float32"), load_tokenizer(str(base))
    chat = "<|im_start|>user\nSort<|im_end|>\n<|im_start|>assistant\n"
    ids = tokenizer(chat, return_tensors="pt").input_ids
    prompt_length = ids.shape[1]
    with torch.no_grad():
        for _ in range(12):
            ids = torch.cat([ids, policy.model(ids).logits[:, -1:].argmax(-1)], dim=1)
    expected = tokenizer.decode(ids[0, prompt_length:]).split("<|im_end|>")[0]
    for special in ("<|endoftext|>", "<|im_start|>"):
        expected = expected.replace(special, "")
    assert answers(policy)[3] == expected


def test_a_seed_decides_what_is_sampled(base: Path) -> None:
    policy = load_policy(str(base))
    first, again, other = (answers(policy, temperature=1.0, seed=seed) for seed in (1, 1, 2))
    assert first == again != other
    assert first[0] != first[2]


def test_what_is_sampled_for_a_row_does_not_depend_on_the_batch(base: Path) -> None:
    together = load_policy(str(base), dtype="float32")
    alone = HFPolicy(together.model, together.tokenizer, batch_size=2)
    assert answers(together, temperature=1.0) == answers(alone, temperature=1.0)


def test_a_low_temperature_is_almost_greedy(base: Path) -> None:
    policy = load_policy(str(base), dtype="float32")
    assert answers(policy, temperature=1e-4) == answers(policy)


def test_max_new_tokens_bounds_an_answer(base: Path) -> None:
    policy = load_policy(str(base))
    assert all(len(answer) <= 3 for answer in answers(policy, tokens=3))
    assert any(len(answer) > 3 for answer in answers(policy, tokens=12))


def test_nothing_asked_nothing_answered(base: Path) -> None:
    policy = load_policy(str(base))
    assert policy.complete([], GREEDY) == []


@pytest.mark.slow
def test_an_adapter_is_loaded_without_a_word_of_the_libraries(adapter: Path) -> None:
    code = f"from kernelwright.rl.policies.hf import load_policy; load_policy({str(adapter)!r})"
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "bitsandbytes" not in said.stderr
    assert "Failed to load" not in said.stderr


def test_a_model_without_a_chat_template_is_refused(base: Path) -> None:
    tokenizer = load_tokenizer(str(base))
    tokenizer.chat_template = None
    with pytest.raises(ModelError, match="instruct"):
        HFPolicy(load_base(str(base)), tokenizer)


def test_a_completion_tells_its_tokens_their_log_probabilities_and_why_it_ends(base: Path) -> None:
    policy = load_policy(str(base), dtype="float32")
    found = policy.complete(PROMPTS, replace(GREEDY, max_new_tokens=12))
    for one in found:
        assert one.token_ids is not None
        assert one.logprobs is not None
        assert policy.tokenizer.decode(one.token_ids, skip_special_tokens=True) == one.text
        assert len(one.logprobs) == len(one.token_ids)
        assert all(logprob <= 0 for logprob in one.logprobs)
        assert one.ended == (one.token_ids[-1] == policy.tokenizer.eos_token_id)
        assert one.ended or (one.finish, len(one.token_ids)) == (Finish.LENGTH, 12)
        assert one.weights_step is None


def test_completions_are_told_as_they_finish_and_are_those_that_are_given(base: Path) -> None:
    told: dict[int, Completion] = {}
    found = load_policy(str(base)).complete(PROMPTS, GREEDY, told.__setitem__)
    assert [told[place] for place in range(len(PROMPTS))] == found


def test_a_text_is_a_chat_of_one_user_message(base: Path) -> None:
    policy = load_policy(str(base), dtype="float32")
    chat = (Message("system", "Be brief."), Message("user", "Sort"))
    text, one, more = policy.complete(["Sort", chat[1:], chat], GREEDY)
    assert one == text
    assert more.prompt_ids != text.prompt_ids


# What a name means


def is_nf4(policy: HFPolicy) -> bool:
    return any(hasattr(layer, "dequantized") for layer in policy.model.modules())


def test_a_run_and_its_adapter_folder_are_the_same_policy_held_as_in_training(
    adapter: Path,
) -> None:
    run = load_policy(str(adapter), dtype="float32")
    final = load_policy(str(adapter / "checkpoints" / "final"), dtype="float32")
    assert answers(run) == answers(final)
    assert is_nf4(run)
    assert is_nf4(final)


def test_quantization_can_be_overruled(adapter: Path, base: Path) -> None:
    assert not is_nf4(load_policy(str(adapter), quantization="none"))
    assert is_nf4(load_policy(str(base), quantization="nf4"))
    assert not is_nf4(load_policy(str(base)))


def test_an_adapter_changes_the_answers_of_its_base(adapter: Path, base: Path) -> None:
    tuned = load_policy(str(adapter), quantization="none", dtype="float32")
    plain = answers(load_policy(str(base), dtype="float32"))
    assert answers(tuned) != plain
    with tuned.model.disable_adapter():
        assert answers(tuned) == plain


def test_a_published_adapter_finds_the_embedded_base_by_its_hub_id(tmp_path: Path) -> None:
    for name, model in EMBEDDED.items():
        config = {"base_model_name_or_path": model.hub_id}
        (tmp_path / "adapter_config.json").write_text(json.dumps(config))
        found = find_adapter(str(tmp_path))
        assert found is not None
        assert found.base == name


def test_an_adapter_of_others_keeps_the_name_of_its_base_and_is_not_quantised(
    tmp_path: Path,
) -> None:
    (tmp_path / "adapter_config.json").write_text('{"base_model_name_or_path": "owner/model"}')
    found = find_adapter(str(tmp_path))
    assert found is not None
    assert (found.base, found.quantization) == ("owner/model", "none")


def test_an_unfinished_run_is_refused(tmp_path: Path) -> None:
    (tmp_path / "recipe.resolved.yaml").write_text("name: r\n")
    with pytest.raises(ModelError, match="not finished"):
        load_policy(str(tmp_path))


@pytest.mark.parametrize("name", ["smollm2-135m", "owner/model", "/nowhere"])
def test_a_whole_model_is_no_adapter(name: str) -> None:
    assert find_adapter(name) is None
