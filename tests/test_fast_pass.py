"""The fast training pass gives TRL's gradient, metrics and loss: through the real trainers."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kernelwright.rl.models.load import load_base, load_tokenizer
from kernelwright.rl.train import fast_pass
from kernelwright.rl.train.fast_pass import MOST_IMPORTANCE, Clip, backward_pass, credited_answers
from kernelwright.rl.train.lm_head import score_learned_positions
from kernelwright.rl.train.trimmed import trimmed
from kernelwright.rl.train.trl_adapter import is_rotary, kernel_trainer_class, weigh_as_vllms
from tests.tiny_model import save_tiny, tiny_config, with_adapter

pytestmark = pytest.mark.model

KINDS = ("llama", "qwen2")
LENGTH = 24
ROWS = 8


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp(request.param), request.param))


def loaded(folder: str, quantization: Any = "none", dtype: Any = "float32") -> Any:
    return with_adapter(load_base(folder, quantization=quantization, dtype=dtype, device="cpu"))


def trainer_of(kind: Any, model: Any, folder: str, **options: Any) -> Any:
    from datasets import Dataset
    from trl import GRPOConfig

    args = GRPOConfig(
        output_dir=str(Path(folder) / "out"),
        per_device_train_batch_size=ROWS,
        num_generations=4,
        max_completion_length=LENGTH,
        temperature=0.9,
        epsilon_high=0.28,
        use_cpu=True,
        bf16=False,
        report_to=[],
        activation_checkpointing=False,
        **{
            "loss_type": "dr_grpo",
            "beta": 0.0,
            "vllm_importance_sampling_mode": "token_truncate",
            "vllm_importance_sampling_clip_max": MOST_IMPORTANCE,
            **options,
        },
    )
    extra = {} if kind.__name__ == "GRPOTrainer" else {"fast_pass": True}
    trainer = kind(
        model=model,
        args=args,
        reward_funcs=lambda **_: [],
        train_dataset=Dataset.from_list([{"prompt": "a"}]),
        processing_class=load_tokenizer(folder),
        **extra,
    )
    for parameter in trainer.model.parameters():
        if parameter.requires_grad:
            parameter.data = parameter.data.float()
    trainer.current_gradient_accumulation_steps = 2
    return trainer


def batch(seed: int, *, old: bool = False) -> dict[str, Any]:
    """Two prompts with four answers each: an equal pair, a dead row, a truncated answer."""
    generator = torch.Generator().manual_seed(seed)

    def tokens(length: int) -> list[int]:
        return torch.randint(3, 250, (length,), generator=generator).tolist()

    prompts = [tokens(9), tokens(5)]
    answers = [tokens(int(torch.randint(1, LENGTH, (), generator=generator))) for _ in range(ROWS)]
    answers[2], answers[7] = answers[1], tokens(LENGTH)
    rows = [(prompts[row // 4], answers[row]) for row in range(ROWS)]
    advantages = torch.tensor([0.5, 0.25, 0.1, -0.85, 0.0, 0.7, -0.3, -0.4])
    inputs = padded(rows, advantages)
    if old:
        shape = inputs["completion_ids"].shape
        inputs["noise"] = torch.randn(shape, generator=generator) * 0.4
    return inputs


def padded(rows: list[tuple[list[int], list[int]]], advantages: torch.Tensor) -> dict[str, Any]:
    width, length = (max(len(row[side]) for row in rows) for side in (0, 1))
    found = {
        name: torch.zeros(len(rows), size, dtype=torch.long)
        for side, size in (("prompt", width), ("completion", length))
        for name in (f"{side}_ids", f"{side}_mask")
    }
    for row, (prompt, answer) in enumerate(rows):
        found["prompt_ids"][row, width - len(prompt) :] = torch.tensor(prompt)
        found["prompt_mask"][row, width - len(prompt) :] = 1
        found["completion_ids"][row, : len(answer)] = torch.tensor(answer)
        found["completion_mask"][row, : len(answer)] = 1
    return {**found, "advantages": advantages}


def learned(trainer: Any, inputs: dict[str, Any]) -> tuple[torch.Tensor, float]:
    """The gradient of all adapters in one vector, and the loss."""
    trainer.model.train()
    trainer.model.zero_grad()
    loss = trainer.compute_loss(trainer.model, dict(inputs))
    loss.backward()
    named = sorted((n, p) for n, p in trainer.model.named_parameters() if p.requires_grad)
    return torch.cat([p.grad.float().flatten() for _, p in named]), loss.item()


def distance(found: torch.Tensor, true: torch.Tensor) -> float:
    return float((found - true).norm() / true.norm())


def both_trainers(folder: str, **options: Any) -> tuple[Any, Any]:
    from trl import GRPOTrainer

    known = {name: options.pop(name) for name in ("quantization", "dtype") if name in options}
    return (
        trainer_of(GRPOTrainer, loaded(folder, **known), folder, **options),
        trainer_of(kernel_trainer_class(), loaded(folder, **known), folder, **options),
    )


@pytest.mark.parametrize("quantization", ["nf4", "none"])
def test_gradient_loss_and_metrics_are_those_of_trl(folder: str, quantization: Any) -> None:
    stock, ours = both_trainers(folder, quantization=quantization)
    assert ours.fast
    for old in (False, True):
        inputs = batch(1, old=old)
        if old:
            inputs["old_per_token_logps"] = logprobs(stock, inputs) + inputs.pop("noise")
        true, loss = learned(stock, inputs)
        found, same = learned(ours, inputs)
        assert distance(found, true) < 1e-5
        assert same == pytest.approx(loss, abs=1e-6)
        theirs, mine = (one._metrics["train"] for one in (stock, ours))
        names = [name for name in theirs if name.startswith("clip_ratio")]
        assert len(names) == 5
        assert all(mine[name][-1] == pytest.approx(theirs[name][-1]) for name in names)
    assert theirs["clip_ratio/region_mean"][-1] > 0


@pytest.mark.parametrize("loss", ["dr_grpo", "grpo", "bnpo"])
def test_trls_own_pass_learns_the_same_from_a_batch_without_its_common_padding(
    folder: str, loss: str
) -> None:
    """Also with numbers a token: old log-probabilities, weights of the mismatch, advantages, and a
    mask of tools."""
    stock, ours = both_trainers(folder, loss_type=loss)
    ours.fast = False
    for one in (stock, ours):
        weigh_as_vllms(one)
    inputs = batch(1, old=True)
    inputs["old_per_token_logps"] = logprobs(stock, inputs) + inputs.pop("noise")
    inputs["advantages"] = inputs["advantages"][:, None] * torch.linspace(
        0.5, 1.5, inputs["completion_ids"].shape[1]
    )
    inputs["importance_sampling_ratio"] = inputs["old_per_token_logps"].exp() + 0.5
    inputs["tool_mask"] = inputs["completion_mask"].clone()
    wide = {name: padded_further(name, one) for name, one in inputs.items()}
    widths: list[tuple[int, int]] = []
    asked = ours._get_per_token_logps_and_entropies

    def noted(model: Any, ids: Any, mask: Any, kept: int, *given: Any, **named: Any) -> Any:
        widths.append((ids.shape[1], kept))
        return asked(model, ids, mask, kept, *given, **named)

    ours._get_per_token_logps_and_entropies = noted
    true, loss_there = learned(stock, inputs)
    found, loss_here = learned(ours, wide)
    assert distance(found, true) < 1e-5
    assert loss_here == pytest.approx(loss_there, abs=1e-6)
    width = inputs["completion_ids"].shape[1]
    assert widths == [(inputs["prompt_ids"].shape[1] + width, width)]


def padded_further(name: str, one: torch.Tensor) -> torch.Tensor:
    """By five columns: of prompts on the left, of answers on the right."""
    return torch.nn.functional.pad(one, (5, 0) if name.startswith("prompt") else (0, 5))


def test_a_batch_of_answers_that_are_all_masked_keeps_two_columns() -> None:
    inputs = batch(1)
    inputs["completion_mask"] = torch.zeros_like(inputs["completion_mask"])
    assert trimmed(inputs, prompts=True)["completion_ids"].shape == (ROWS, 2)


def test_prompts_are_cut_where_only_differences_of_positions_count(folder: str) -> None:
    inputs = batch(1)
    wide = {name: padded_further(name, one) for name, one in inputs.items() if one.ndim == 2}
    assert trimmed(wide, prompts=False)["prompt_ids"].shape == wide["prompt_ids"].shape
    assert trimmed(wide, prompts=True)["prompt_ids"].shape == inputs["prompt_ids"].shape
    config = tiny_config()
    assert is_rotary(config)
    config.rope_parameters = {"rope_type": "dynamic", "factor": 2.0}
    assert not is_rotary(config)


def logprobs(trainer: Any, inputs: dict[str, Any]) -> torch.Tensor:
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
    mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
    width = inputs["completion_ids"].shape[1]
    with torch.no_grad():
        found: torch.Tensor = trainer._get_per_token_logps_and_entropies(
            trainer.model, ids, mask, width
        )[0]
    return found


def test_logprobs_of_the_head_on_learned_positions_are_those_of_trl(folder: str) -> None:
    stock, ours = both_trainers(folder)
    inputs = batch(2)
    mask = inputs["completion_mask"].bool()
    found, true = logprobs(ours, inputs)[mask], logprobs(stock, inputs)[mask]
    assert torch.allclose(found, true, atol=1e-4)


def test_in_bfloat16_it_is_no_farther_from_float32_than_trl(folder: str) -> None:
    exact, _ = both_trainers(folder)
    stock, ours = both_trainers(folder, dtype="bfloat16")
    for weights in (one.model.state_dict() for one in (stock, ours)):
        exact.model.load_state_dict({name: value.float() for name, value in weights.items()})
    far, near = 0.0, 0.0
    for seed in range(6):
        inputs = batch(seed)
        true, _ = learned(exact, inputs)
        far += distance(learned(stock, inputs)[0], true)
        near += distance(learned(ours, inputs)[0], true)
    assert 0 < near <= 1.05 * far


@settings(deadline=None, max_examples=8, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_any_groups_give_the_gradient_of_trl(folder: str, data: st.DataObject) -> None:
    """Of any lengths, with dead rows, equal answers, prompts of one token and small chunks."""
    stock, ours = cached_trainers(folder)
    word = st.integers(3, 20)
    prompts = data.draw(st.lists(st.lists(word, min_size=1, max_size=6), min_size=1, max_size=3))
    answer = st.lists(word, min_size=1, max_size=6)
    rows = data.draw(
        st.lists(st.tuples(st.sampled_from(prompts), answer), min_size=1, max_size=ROWS)
    )
    advantage = st.sampled_from([0.0, 0.5, -0.5, 1.0])
    advantages = data.draw(st.lists(advantage, min_size=len(rows), max_size=len(rows)))
    inputs = padded([(list(p), list(a)) for p, a in rows], torch.tensor(advantages))
    true, loss = learned(stock, inputs)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fast_pass, "CHUNK_TOKENS", data.draw(st.integers(1, 20)))
        found, same = learned(ours, inputs)
    assert same == pytest.approx(loss, abs=1e-6)
    assert float((found - true).norm()) <= 1e-5 * float(true.norm()) + 1e-7


def test_an_advantage_for_each_token_gives_the_gradient_of_trl(folder: str) -> None:
    """A plan and its code apart; one row is trained in its first tokens alone."""
    stock, ours = cached_trainers(folder)
    inputs = batch(5, old=True)
    whole_R, width = inputs["advantages"], inputs["completion_ids"].shape[1]
    inputs["advantages"] = whole_R[:, None].repeat(1, width)
    inputs["advantages"][:, 4:] *= -0.5
    inputs["advantages"][0, 1:] = 0.0
    inputs["old_per_token_logps"] = logprobs(stock, inputs) + inputs.pop("noise")
    true, loss = learned(stock, inputs)
    found, same = learned(ours, inputs)
    assert distance(found, true) < 1e-5
    assert same == pytest.approx(loss, abs=1e-6)
    apart, _ = learned(ours, {**inputs, "advantages": whole_R})
    assert distance(apart, true) > 0.1


@cache
def cached_trainers(folder: str) -> tuple[Any, Any]:
    return both_trainers(folder)


def test_rows_without_credit_are_left_out_and_equal_ones_are_one_answer() -> None:
    groups = list(credited_answers(batch(3)).values())
    assert [len(answers) for answers in groups] == [3, 3]
    copies = [len(one.copies) for answers in groups for one in answers]
    assert sorted(copies) == [1, 1, 1, 1, 1, 2]


def test_what_sampling_and_training_disagree_on_is_measured_and_corrected(folder: str) -> None:
    tuned = loaded(folder)
    inputs, clip = batch(4), Clip(low=0.2, high=0.28, normalizer=1.0, temperature=1.0)
    stock = trainer_of(kernel_trainer_class(), tuned, folder)
    stock.temperature = 1.0
    known = logprobs_at_one(tuned, inputs)
    same = backward_pass(tuned, {**inputs, "sampling_per_token_logps": known}, clip)
    assert same.mismatch / same.mismatch_tokens < 1e-4
    other = backward_pass(tuned, {**inputs, "sampling_per_token_logps": known - 0.1}, clip)
    assert other.mismatch / other.mismatch_tokens == pytest.approx(0.1, rel=1e-3)
    assert other.mismatch_kl / other.mismatch_tokens == pytest.approx(0.00517, rel=1e-2)
    assert other.loss == pytest.approx(same.loss * 1.10517, rel=1e-3)
    far = backward_pass(tuned, {**inputs, "sampling_per_token_logps": known - 9}, clip)
    assert far.loss == pytest.approx(2 * same.loss, rel=1e-3)


def logprobs_at_one(tuned: Any, inputs: dict[str, Any]) -> torch.Tensor:
    ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], dim=1)
    mask = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], dim=1)
    width = inputs["completion_ids"].shape[1]
    positions = (mask.cumsum(1) - 1).clamp(min=0)
    with torch.no_grad():
        logits = tuned(input_ids=ids, attention_mask=mask, position_ids=positions).logits
    aim = inputs["completion_ids"][..., None]
    return logits[:, -width - 1 : -1].log_softmax(-1).gather(2, aim)[..., 0]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"loss_type": "dapo"}, "dr_grpo"),
        ({"beta": 0.1}, "KL"),
        ({"top_entropy_quantile": 0.5}, "top_entropy_quantile"),
        ({"importance_sampling_level": "sequence"}, "sequence"),
        ({"entropy_coef": 0.1}, "entropy bonus"),
        ({"delta": 2.0}, "delta"),
        ({"vllm_importance_sampling_mode": "sequence_mask"}, "vllm_importance_sampling"),
        ({"vllm_importance_sampling_correction": False}, "vllm_importance_sampling"),
    ],
)
def test_what_it_does_not_do_is_left_to_trl_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, options: dict[str, Any], reason: str
) -> None:
    folder = str(save_tiny(tmp_path))
    trainer = trainer_of(kernel_trainer_class(), loaded(folder), folder, **options)
    assert not trainer.fast
    (line,) = [
        one.message for one in caplog.records if one.name == "kernelwright.rl.train.trl_adapter"
    ]
    assert reason in line


def test_sft_learns_the_same_from_the_labelled_positions_alone(folder: str) -> None:
    """Loss, gradient, entropy and accuracy of TRL's own trainer."""
    from datasets import Dataset
    from trl import SFTConfig, SFTTrainer

    def trainer() -> Any:
        rows = [{"prompt": "a", "completion": "b"}]
        made = SFTTrainer(
            model=loaded(folder),
            args=SFTConfig(
                output_dir=str(Path(folder) / "out"),
                use_cpu=True,
                bf16=False,
                report_to=[],
                activation_checkpointing=False,
            ),
            train_dataset=Dataset.from_list(rows),
            processing_class=load_tokenizer(folder),
        )
        made.model.train()
        return made

    stock, ours = trainer(), trainer()
    assert score_learned_positions(ours.model)
    torch.manual_seed(0)
    ids = torch.randint(3, 250, (3, 20))
    labels = ids.clone()
    labels[:, :8], labels[1, 15:] = -100, -100
    inputs = {"input_ids": ids, "labels": labels, "attention_mask": torch.ones_like(ids)}
    true, loss = learned(stock, inputs)
    found, same = learned(ours, inputs)
    assert same == pytest.approx(loss, abs=1e-5)
    assert distance(found, true) < 1e-5
    for name in ("entropy", "mean_token_accuracy"):
        theirs, mine = (one._metrics["train"][name][-1] for one in (stock, ours))
        assert mine == pytest.approx(theirs, abs=1e-5)
