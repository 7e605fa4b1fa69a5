"""Why a recipe cannot run here, said before any weights are touched."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from kernelwright.envs.system.hardware import Gpu, GpuError
from kernelwright.launch import start
from kernelwright.machine.facts import EXTRAS
from kernelwright.preflight.check import preflight, unprepared
from kernelwright.recipe.resolve import resolve
from kernelwright.rl.models.load import load_base, on_gpu

ROOT = Path(__file__).parents[1]
FIXTURES = Path(__file__).with_name("fixtures") / "recipes"


@pytest.mark.parametrize(
    ("overrides", "words"),
    [
        (["data.dialect=cuda"], "cuda"),
        (["data.dialect=triton"], "judge.timed: triton answers have no speed without a GPU"),
        (["data.dialect=inline"], "there are no triples in inline"),
        (["model.name=some/giant-900b"], "its weights need at least"),
        (["model.name=smollm2-135n"], "model.name: no model 'smollm2-135n'"),
        (["data.train_suite=nonsense"], "data.train_suite: no suite 'nonsense'"),
        (["judge.precision=tf32"], "judge.precision: tf32 is how a GPU multiplies, and cpp"),
    ],
)
def test_preflight_gives_one_sentence_for_each_reason(overrides: list[str], words: str) -> None:
    (reason,) = preflight(resolve(FIXTURES / "base.yaml", overrides).recipe)
    assert words in reason
    assert "\n" not in reason


@pytest.mark.parametrize(
    ("dialect", "tool", "program"),
    [("triton", "triton.triton_tools", "triton"), ("cuda", "cuda.nvcc_path", "nvcc")],
)
def test_a_language_without_its_compiler_is_refused_with_the_extra_that_has_it(
    dialect: str, tool: str, program: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"kernelwright.envs.dialects.{tool}", lambda: None)
    words = [f"data.dialect={dialect}", "judge.timed=false"]
    (reason,) = preflight(resolve(FIXTURES / "base.yaml", words).recipe)
    said, advice = reason.split(": ", 2)[1:]
    assert said.startswith(f"the judge cannot run {dialect} answers here, only cpp, inline")
    assert dialect not in said.partition("only")[2]
    assert advice == f"{program} is not installed; run `pip install -e '.[{dialect}]'`"


def test_a_gpu_that_torch_cannot_use_is_told_before_all_is_done_without_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    recipe = resolve(FIXTURES / "base.yaml", ["stages=[eval]"]).recipe
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    seen = Gpu(uuid="GPU-0", name="H100", driver="1.0", architecture=90, memory_bytes=80 << 30)
    monkeypatch.setattr("kernelwright.preflight.check.visible_gpus", lambda: (seen,))
    (reason,) = unprepared(recipe)
    assert reason.startswith("H100 is here (driver 1.0), and torch")
    assert reason.endswith("hide the GPU with CUDA_VISIBLE_DEVICES=")


def test_a_gpu_that_torch_sees_and_the_judge_does_not_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch

    recipe = resolve(FIXTURES / "base.yaml", ["stages=[eval]"]).recipe
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda _: "H100")
    monkeypatch.setattr(torch.version, "cuda", "13.0")
    (reason,) = unprepared(recipe)
    assert reason.startswith("torch uses H100, and nvidia-smi lists no GPU for the judge: ")
    with pytest.raises(GpuError, match="torch uses H100"):
        load_base("smollm2-135m")
    monkeypatch.setattr(torch.version, "cuda", None)  # as on an AMD GPU, which no answer is for
    assert on_gpu()


@pytest.mark.parametrize("kind", ["FSDP", "DEEPSPEED"])
def test_shards_that_accelerate_was_asked_for_are_refused(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(f"ACCELERATE_USE_{kind}", "true")
    (reason,) = preflight(resolve(FIXTURES / "base.yaml").recipe)
    assert reason.startswith(f"accelerate launch asks for {kind}, which is not supported")


def test_a_run_that_cannot_start_fails_before_any_weights(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert start(FIXTURES / "base.yaml", ["model.name=some/giant-900b"]) == 1
    assert "base.yaml cannot run here: model.name some/giant-900b" in capsys.readouterr().err


def test_every_extra_named_in_advice_asks_for_that_package() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    for module, extra in EXTRAS.items():
        wanted = " ".join(project["optional-dependencies"][extra])
        assert module.replace("_", "-") in wanted
