"""The decoder draws from the model's own distribution, row by row, whatever shares the batch."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from kernelwright.rl.models.load import load_base
from kernelwright.rl.policies.decode import Sampled, _choose, sample
from kernelwright.rl.policies.kv_slots import Slots
from tests.tiny_model import save_tiny, with_adapter

pytestmark = pytest.mark.model

KINDS = ("llama", "qwen2")
ENDS = {2, 77}


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp(request.param), request.param))


def prompts() -> list[list[int]]:
    """Of five lengths, the shortest of one token; two come twice."""
    torch.manual_seed(1)
    five = [torch.randint(3, 250, (length,)).tolist() for length in (12, 5, 1, 30, 7)]
    return [five[0], five[0], *five[1:], five[3]]


def sampled(model: Any, temperature: float = 0.0, **options: Any) -> list[Sampled]:
    known: Any = {"max_new_tokens": 32, "end_token_ids": ENDS, "seed": 3, "rows": 3, **options}
    return sample(model, known.pop("asked", prompts()), temperature=temperature, **known)


def generated(model: Any, prompt: list[int], tokens: int) -> list[int]:
    """What transformers gives for this prompt alone."""
    ids = torch.tensor([prompt])
    found = model.generate(
        input_ids=ids,
        attention_mask=torch.ones_like(ids),
        max_new_tokens=tokens,
        do_sample=False,
        eos_token_id=sorted(ENDS),
        pad_token_id=0,
    )
    answer: list[int] = found[0, len(prompt) :].tolist()
    return answer


def logprobs(model: Any, prompt: list[int], answer: tuple[int, ...], temperature: float) -> Any:
    """Of an answer's tokens, by one plain forward pass."""
    with torch.no_grad():
        logits = model(torch.tensor([[*prompt, *answer]])).logits[0, len(prompt) - 1 : -1]
    return (logits / temperature).log_softmax(-1).gather(1, torch.tensor(answer)[:, None])[:, 0]


@pytest.mark.parametrize("quantization", ["nf4", "none"])
@pytest.mark.parametrize("tuned", [True, False], ids=["adapter", "base"])
def test_greedy_tokens_are_those_of_transformers(
    folder: str, quantization: Any, tuned: bool
) -> None:
    model = load_base(folder, quantization=quantization, dtype="float32", device="cpu")
    model = with_adapter(model).eval() if tuned else model
    found = sampled(model)
    assert [list(one.token_ids) for one in found] == [
        generated(model, prompt, 32) for prompt in prompts()
    ]
    assert {one.ended for one in found} == {one.token_ids[-1] in ENDS for one in found}


@pytest.mark.parametrize("temperature", [0.0, 0.7, 1.0])
def test_logprobs_are_those_of_a_plain_forward(folder: str, temperature: float) -> None:
    model = with_adapter(load_base(folder, dtype="float32", device="cpu")).eval()
    for prompt, one in zip(prompts(), sampled(model, temperature), strict=True):
        true = logprobs(model, prompt, one.token_ids, temperature or 1.0)
        assert torch.allclose(torch.tensor(one.logprobs), true, atol=1e-4)


def test_a_row_does_not_depend_on_what_shares_its_batch(folder: str) -> None:
    model = load_base(folder, dtype="float32", device="cpu")
    apart, together = sampled(model, 1.0, rows=1), sampled(model, 1.0, rows=9)
    assert [one.token_ids for one in apart] == [one.token_ids for one in together]
    assert apart == sampled(model, 1.0, rows=1)
    assert apart != sampled(model, 1.0, rows=1, seed=4)
    assert together[0] != together[1]
    part = sampled(model, 1.0, asked=prompts()[1::2], numbers=range(1, len(prompts()), 2))
    assert [one.token_ids for one in part] == [one.token_ids for one in together[1::2]]


@pytest.mark.parametrize("temperature", [0.0, 0.05, 1.0])
def test_answers_are_decoded_as_one_row_until_they_differ(folder: str, temperature: float) -> None:
    model = load_base(folder, dtype="float32", device="cpu")
    asked = [prompts()[0]] * 6 + [prompts()[4]] * 3
    widths: list[int] = []
    hook = model.register_forward_pre_hook(
        lambda _, __, named: widths.append(len(named["input_ids"])), with_kwargs=True
    )
    together = sampled(model, temperature, asked=asked, rows=9)
    hook.remove()
    apart = sampled(model, temperature, asked=asked, rows=1)
    assert [one.token_ids for one in together] == [one.token_ids for one in apart]
    read = {
        (len(prompt), one.token_ids[:known])
        for prompt, one in zip(asked, together, strict=True)
        for known in range(len(one.token_ids))
    }
    assert sum(widths) == len(read)


def test_every_row_is_told_once_when_it_ends_and_the_shorter_ones_first(folder: str) -> None:
    told: dict[int, Sampled] = {}
    model = load_base(folder, dtype="float32", device="cpu")
    found = sampled(model, 1.0, rows=9, on_finished=told.setdefault)
    assert [told[row] for row in range(len(found))] == found
    lengths = [len(one.token_ids) for one in told.values()]
    assert lengths == sorted(lengths)
    assert all(one.ended == (one.token_ids[-1] in ENDS) for one in found)


def test_the_longest_row_makes_room_for_itself(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kernelwright.rl.policies.kv_slots.ROOM", 16)
    model = load_base(folder, dtype="float32", device="cpu")
    found = sample(
        model, prompts()[:1], max_new_tokens=300, temperature=0, end_token_ids=(), seed=0
    )
    assert list(found[0].token_ids[:200]) == generated_without_end(model, prompts()[0], 200)
    assert len(found[0].token_ids) == 300


def generated_without_end(model: Any, prompt: list[int], tokens: int) -> list[int]:
    ids = torch.tensor([prompt])
    options = {"do_sample": False, "eos_token_id": None, "pad_token_id": 0}
    found = model.generate(
        input_ids=ids, attention_mask=torch.ones_like(ids), max_new_tokens=tokens, **options
    )
    answer: list[int] = found[0, len(prompt) :].tolist()
    return answer


def test_on_a_gpu_room_grows_by_doubling_up_to_the_longest_answer(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And the tokens are the same. Only what a GPU changes is taken from it here: no memory."""
    rooms: list[int] = []

    class GpuSlots(Slots):
        def __init__(self, count: int, _: Any, most: int) -> None:
            super().__init__(count, torch.device("cuda"), most)

        def _grow(self, width: int) -> None:
            super()._grow(width)
            rooms.append(self.room)

    monkeypatch.setattr("kernelwright.rl.policies.kv_slots.ROOM", 16)
    monkeypatch.setattr("kernelwright.rl.policies.decode.Slots", GpuSlots)
    model = load_base(folder, dtype="float32", device="cpu")
    asked: Any = {"max_new_tokens": 150, "temperature": 0, "end_token_ids": (), "seed": 0}
    found = sample(model, prompts()[:1], **asked)
    assert list(dict.fromkeys(rooms)) == [16, 32, 64, 128, 176]
    monkeypatch.undo()
    assert found[0].token_ids == sample(model, prompts()[:1], **asked)[0].token_ids


def test_the_adapter_is_used_as_it_is_now(folder: str) -> None:
    tuned = with_adapter(load_base(folder, dtype="float32", device="cpu")).eval()
    first = sampled(tuned)
    with torch.no_grad():
        for name, parameter in tuned.named_parameters():
            if "lora_B" in name:
                parameter.neg_()
    second = sampled(tuned)
    assert first != second
    assert list(second[0].token_ids) == generated(tuned, prompts()[0], 32)


def test_the_model_is_left_as_it_was_even_after_an_error(folder: str) -> None:
    tuned = with_adapter(load_base(folder, quantization="nf4", device="cpu")).train()
    ids = torch.tensor(prompts()[:1])
    state = {name: value.clone() for name, value in tuned.state_dict().items()}
    before, own = tuned(ids).logits, {id(m): set(vars(m)) for m in tuned.modules()}

    def interrupt(row: int, one: Sampled) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sampled(tuned, on_finished=interrupt)
    assert all(module.training for module in tuned.modules())
    assert torch.equal(tuned(ids).logits, before)
    assert {id(m): set(vars(m)) for m in tuned.modules()} == own
    assert tuned.config._attn_implementation == "sdpa"
    assert all(torch.equal(value, state[name]) for name, value in tuned.state_dict().items())


def test_an_empty_prompt_is_refused_and_none_asked_is_none_answered(folder: str) -> None:
    model = load_base(folder, device="cpu")
    options: Any = {"max_new_tokens": 1, "temperature": 0, "end_token_ids": (), "seed": 0}
    with pytest.raises(ValueError, match="at least one token"):
        sample(model, [[]], **options)
    assert sample(model, [], **options) == []


@settings(deadline=None)
@given(st.integers(1, 700), st.floats(0, 1, exclude_max=True), st.integers(0, 99))
def test_a_token_is_the_inverse_of_the_distribution_function(
    words: int, uniform: float, seed: int
) -> None:
    torch.manual_seed(seed)
    logits = torch.randn(1, words) * 3
    (token,), (logprob,) = _choose(logits, torch.tensor([uniform], dtype=torch.float64), 0.7)
    reached = (logits[0].double() / 0.7).softmax(0).cumsum(0)
    assert reached[token] >= uniform - 1e-6
    assert token == 0 or reached[token - 1] <= uniform + 1e-6
    assert abs(logprob - (logits[0] / 0.7).log_softmax(0)[token]) < 1e-5


def test_tokens_come_as_often_as_their_probability_says() -> None:
    logits = torch.tensor([[0.0, 2.0, -1.0, 1.0]]).expand(20_000, 4).contiguous()
    torch.manual_seed(0)
    tokens, _ = _choose(logits, torch.rand(20_000, dtype=torch.float64), 1.0)
    share = torch.bincount(torch.tensor(tokens), minlength=4) / 20_000
    assert torch.allclose(share, logits[0].softmax(0), atol=0.012)
