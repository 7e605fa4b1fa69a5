"""A recorded decoding step does what the step does, or is not taken; how many rows it has."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.torch_version import TorchVersion

from kernelwright.rl.models.load import load_base
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.policies.decode_step import EagerStep, GraphedStep, recorded_by_cuda, step_of
from kernelwright.rl.policies.folded_adapters import copies_fit
from kernelwright.rl.policies.kv_slots import Slots, rows_at_once
from tests.test_decode import KINDS, sampled
from tests.tiny_model import save_tiny, tiny_config, with_adapter

pytestmark = pytest.mark.model


@pytest.fixture(scope="module", params=KINDS)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(save_tiny(tmp_path_factory.mktemp(request.param), request.param))


def with_graphs(monkeypatch: pytest.MonkeyPatch, record: Any) -> None:
    """Steps are recorded, and replayed from then on, as on a GPU."""
    monkeypatch.setattr(
        "kernelwright.rl.policies.decode.step_of",
        lambda model, kept: GraphedStep(model, kept, record),
    )


def on_fixed_tensors(step: Any) -> Any:
    """A recorded step, which reads and writes where it did when it was recorded."""
    kept, own = step.__self__.kept, step.__self__

    def places() -> list[int]:
        tensors = [*kept.keys, *kept.values, kept.rows, kept.positions]
        return [one.data_ptr() for one in (*tensors, own.tokens, own.positions, own.mask)]

    before = places()

    def replay() -> Any:
        assert places() == before
        return step()

    return replay


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("rows", [1, 3, 9])
def test_recorded_steps_give_the_tokens_of_eager_ones(
    folder: str, temperature: float, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows come and go, and the room grows thrice."""
    monkeypatch.setattr("kernelwright.rl.policies.kv_slots.ROOM", 16)
    model = load_base(folder, dtype="float32", device="cpu")
    eager = sampled(model, temperature, rows=rows)
    replayed = 0

    def record(step: Any) -> Any:
        replay = on_fixed_tensors(step)

        def counted() -> Any:
            nonlocal replayed
            replayed += 1
            return replay()

        return counted

    with_graphs(monkeypatch, record)
    found = sampled(model, temperature, rows=rows)
    assert [one.token_ids for one in found] == [one.token_ids for one in eager]
    for one, other in zip(found, eager, strict=True):
        assert torch.allclose(torch.tensor(one.logprobs), torch.tensor(other.logprobs), atol=1e-4)
    assert replayed > 20


def fails(step: Any) -> Any:
    raise RuntimeError("operation not permitted when stream is capturing\nand so on")


def once(step: Any) -> Any:
    """What is replayed gives the tensor that it has, and never writes it again."""
    found = step()
    return lambda: found


@pytest.mark.parametrize(
    ("record", "why"),
    [
        (fails, "operation not permitted when stream is capturing"),
        (lambda step: lambda: step() + 1, "its logits differ"),
        (once, "its logits differ"),
    ],
)
def test_a_step_that_cannot_be_recorded_or_does_something_else_is_taken_eagerly(
    record: Any,
    why: str,
    folder: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    model = load_base(folder, dtype="float32", device="cpu")
    eager = sampled(model, 1.0)
    with_graphs(monkeypatch, record)
    assert sampled(model, 1.0) == eager
    assert [one.getMessage() for one in caplog.records] == [f"decoding without CUDA graphs: {why}"]


def test_a_passing_lack_of_memory_keeps_one_sampling_eager(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model, tried = load_base(folder, dtype="float32", device="cpu"), []

    def full_at_first(step: Any) -> Any:
        tried.append(step)
        if len(tried) == 1:
            raise RuntimeError("CUDA out of memory. Tried to allocate 2 GB")
        return on_fixed_tensors(step)

    eager = sampled(model, 1.0)
    with_graphs(monkeypatch, full_at_first)
    assert sampled(model, 1.0) == eager
    assert len(tried) == 1
    again = sampled(model, 1.0)
    assert len(tried) > 1
    assert [one.token_ids for one in again] == [one.token_ids for one in eager]


@pytest.mark.gpu
def test_on_a_gpu_recorded_steps_give_the_tokens_of_eager_ones(
    folder: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    model = load_base(folder, dtype="float32", device="cuda")
    found = sampled(model)
    assert not caplog.records
    monkeypatch.setattr("kernelwright.rl.policies.decode.step_of", EagerStep)
    assert [one.token_ids for one in found] == [one.token_ids for one in sampled(model)]


def test_a_gpu_folds_adapters_where_it_has_room_for_the_copies(
    folder: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = with_adapter(load_base(folder, dtype="float32", device="cpu")).get_base_model()
    layers = [one for one in model.modules() if hasattr(one, "lora_A")]
    needed = 4 * sum(one.in_features * one.out_features for one in layers)

    class OnGpu:
        device, dtype, modules = torch.device("cuda"), model.dtype, model.modules

    for size, fits in ((8 * needed, True), (8 * needed - 1, False)):
        monkeypatch.setattr(
            "kernelwright.rl.policies.folded_adapters.all_bytes", lambda _, size=size: size
        )
        assert copies_fit(OnGpu()) is fits
    assert copies_fit(model)


@pytest.mark.parametrize(
    ("gigabytes", "layers", "longest", "rows"),
    [
        (8, 28, 1500, 11),
        (24, 28, 1500, 33),
        (80, 28, 1500, 111),
        (80, 2, 600, 256),
        (8, 80, 10**5, 1),
    ],
)
def test_on_a_gpu_its_memory_says_how_many_answers_are_in_work(
    gigabytes: int, layers: int, longest: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Four heads of 128 numbers for keys and as many for values, as in models of 7 billion."""
    config = tiny_config("qwen2")
    config.update(
        {"num_hidden_layers": layers, "num_key_value_heads": 4, "head_dim": 128}
        | {"vocab_size": 152064}
    )

    class OnGpu:
        device, dtype = torch.device("cuda"), torch.bfloat16

    OnGpu.config = config  # type: ignore[attr-defined]
    monkeypatch.setattr("kernelwright.rl.policies.kv_slots.all_bytes", lambda _: gigabytes * 10**9)
    assert rows_at_once(OnGpu(), longest) == rows
    OnGpu.device = torch.device("cpu")
    assert rows_at_once(OnGpu(), longest) == 48


class FailsToRecord:
    """In place of `torch.cuda`: a recording that is begun fails."""

    def __init__(self) -> None:
        self.stream = "own"

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: None

    def current_stream(self) -> str:
        return self.stream

    def set_stream(self, stream: str) -> None:
        self.stream = stream

    @contextmanager
    def graph(self, *_: Any, **__: Any) -> Iterator[None]:
        self.stream = "of the recording"
        yield
        raise RuntimeError("operation failed due to a previous error\nand so on")


@pytest.mark.parametrize(
    ("version", "error", "why"),
    [
        ("2.13.0", RuntimeError, "operation failed"),
        ("2.12.1", ModelError, "set KERNELWRIGHT_NO_CUDA_GRAPHS=1, and --resume"),
    ],
)
def test_after_a_recording_that_failed_a_process_goes_on_or_says_how_to(
    version: str, error: type[Exception], why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    gpu = FailsToRecord()
    monkeypatch.setattr(torch, "cuda", gpu)
    monkeypatch.setattr(torch, "__version__", TorchVersion(version))
    with pytest.raises(error, match=why):
        recorded_by_cuda(lambda: torch.zeros(1))
    assert gpu.stream == "own"


def test_steps_stay_eager_where_graphs_are_switched_off(monkeypatch: pytest.MonkeyPatch) -> None:
    class OnGpu:
        device = torch.device("cpu")
        config = tiny_config()

    model = OnGpu()
    kept = Slots(2, model.device, 64)
    model.device = torch.device("cuda")
    monkeypatch.setenv("KERNELWRIGHT_NO_CUDA_GRAPHS", "1")
    assert isinstance(step_of(model, kept), EagerStep)
