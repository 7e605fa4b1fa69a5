"""Sampling by a vLLM server: over real HTTP, to a server that holds a real model and adapters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from types import SimpleNamespace
from typing import Any

import pytest

from kernelwright.commands.best_of_n import Habits, habits_of
from kernelwright.envs.policy import Policy, Sampling
from kernelwright.preflight.budget import Budget
from kernelwright.recipe.resolve import resolve
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.policies.adapter_versions import drop_old_versions, write_version
from kernelwright.rl.policies.decode import sample
from kernelwright.rl.policies.endpoint import AbsentError, Endpoint, EndpointError
from kernelwright.rl.policies.hf import open_policy, prompt_token_ids
from kernelwright.rl.policies.providers.find import provider
from kernelwright.rl.policies.vllm_server import VllmServer, start_command
from tests.loopback_vllm import BASE, LoopbackVllm, Refusal
from tests.rollouts import ScriptedJudge, ask, block, player, sampled
from tests.tiny_model import save_tiny, tiny_tokenizer, with_adapter

GREEDY = Sampling(max_new_tokens=12, temperature=0.0)
PROMPTS = ["Add.", "Sort the rows"]


@pytest.fixture
def server() -> Iterator[LoopbackVllm]:
    with LoopbackVllm().serving() as found:
        yield found


@pytest.fixture
def adapted(tmp_path: Path) -> Any:
    return base_with_adapter(tmp_path / "model", seed=1)


def base_with_adapter(folder: Path, seed: int) -> Any:
    """The server's base, with an adapter that changes what it says."""
    from kernelwright.rl.models.load import load_base

    base = load_base(str(save_tiny(folder)), dtype="float32", device="cpu")
    return with_adapter(base, seed)


def in_training(server: LoopbackVllm, model: Any, folder: Path, step: int) -> Policy:
    source = provider("vllm")
    source.server = server.url
    trainer = SimpleNamespace(
        accelerator=SimpleNamespace(unwrap_model=lambda one: one),
        model_wrapped=model,
        args=SimpleNamespace(output_dir=str(folder)),
    )
    return source.in_training(trainer, tiny_tokenizer(), step)


@pytest.mark.parametrize("temperature", [0.0, 0.7])
def test_the_server_samples_the_adapter_in_training(
    server: LoopbackVllm, adapted: Any, tmp_path: Path, temperature: float
) -> None:
    """Tokens, log-probabilities and ends are those of the model that is trained, drawn from the
    seed that each request names."""
    sampling = replace(GREEDY, temperature=temperature, seed=5)
    found = in_training(server, adapted, tmp_path, 3).complete(PROMPTS, sampling)
    requests = {tuple(one["prompt"]): one for path, one, _ in server.asked if "completions" in path}
    for one, ids in zip(found, prompt_token_ids(tiny_tokenizer(), PROMPTS), strict=True):
        asked = requests[tuple(ids)]
        (here,) = sample(
            adapted,
            [ids],
            max_new_tokens=12,
            temperature=temperature,
            end_token_ids=set(asked["stop_token_ids"]),
            seed=asked["seed"],
        )
        assert (one.token_ids, one.ended) == (here.token_ids, here.ended)
        assert one.logprobs == pytest.approx(here.logprobs, abs=1e-5)
        assert one.prompt_ids == tuple(ids)
        assert one.weights_step == 3
    assert len({one["seed"] for one in requests.values()}) == len(PROMPTS)


def test_each_version_is_served_under_its_own_name(
    server: LoopbackVllm, adapted: Any, tmp_path: Path
) -> None:
    """A step's weights replace those of the step before; equal weights are not loaded twice."""
    texts = []
    for step in range(3):
        with_change(adapted, step)
        texts.append(in_training(server, adapted, tmp_path, step).complete(PROMPTS, GREEDY))
    assert len({tuple(one.token_ids for one in found) for found in texts}) == 3
    assert [name.rsplit("-", 1)[0] for name in server.adapters] == ["step-1", "step-2"]
    folders = sorted(one.name for one in (tmp_path / "served").iterdir())
    assert folders == sorted(server.adapters)
    loads = [path for path, *_ in server.asked].count("/v1/load_lora_adapter")
    in_training(server, adapted, tmp_path, 2)
    assert [path for path, *_ in server.asked].count("/v1/load_lora_adapter") == loads == 3


def with_change(model: Any, step: int) -> None:
    import torch

    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "lora_B" in name:
                parameter.add_(0.05 * step)


def test_two_processes_may_drop_the_same_adapter(
    server: LoopbackVllm, adapted: Any, tmp_path: Path
) -> None:
    in_training(server, adapted, tmp_path, 1)
    (name,), drop = server.adapters, server.adapter
    vllm = VllmServer(Endpoint.at(server.url))

    def dropped_by_another(path: str, body: dict[str, Any] | None) -> str:
        drop(path, body)
        raise Refusal(404, f"The lora adapter '{name}' cannot be found.")

    server.adapter = dropped_by_another  # type: ignore[method-assign]
    vllm.unload(name)
    assert name not in vllm.models()


def test_an_adapter_that_the_server_keeps_is_an_error(
    server: LoopbackVllm, adapted: Any, tmp_path: Path
) -> None:
    in_training(server, adapted, tmp_path, 1)
    (name,) = server.adapters
    server.failing = [(400, "no")]
    with pytest.raises(EndpointError, match="unload_lora_adapter: 400 no"):
        VllmServer(Endpoint.at(server.url)).unload(name)


def test_a_version_is_a_whole_folder_that_two_processes_agree_on(
    adapted: Any, tmp_path: Path
) -> None:
    first, second = (write_version(adapted, tmp_path, 1) for _ in range(2))
    assert first == second
    assert [one.name for one in tmp_path.glob("*step*")] == [first.name]
    assert not list(tmp_path.glob(".writing-*"))
    with_change(adapted, 1)
    other = write_version(adapted, tmp_path, 1)
    assert other.name != first.name
    assert drop_old_versions(tmp_path, other) == []
    with_change(adapted, 1)
    assert drop_old_versions(tmp_path, write_version(adapted, tmp_path, 2)) == [first.name]


def test_a_run_is_evaluated_on_a_server_by_its_adapter(
    server: LoopbackVllm, adapted: Any, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    adapted.save_pretrained(str(run))
    expected = in_training(server, adapted, tmp_path, 0).complete(PROMPTS, GREEDY)
    found = open_policy(f"vllm:{run}@{server.url}").complete(PROMPTS, GREEDY)
    assert [one.token_ids for one in found] == [one.token_ids for one in expected]
    assert {one.weights_step for one in found} == {None}
    base = open_policy(f"vllm:{tmp_path / 'model'}@{server.url}").complete(PROMPTS, GREEDY)
    assert [one.token_ids for one in base] != [one.token_ids for one in expected]
    with pytest.raises(ModelError, match="vllm:MODEL@ADDRESS"):
        open_policy("vllm:some/model")


def test_a_server_of_another_base_is_told(
    server: LoopbackVllm, adapted: Any, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run, base = tmp_path / "run", tmp_path / "model"
    adapted.save_pretrained(str(run))
    for root, warned in (None, False), (str(base), False), ("other/model", True):
        server.root = root
        for name in (run, base):
            open_policy(f"vllm:{name}@{server.url}")
            assert (
                f"holds other/model, and is asked as {base}" in capsys.readouterr().err
            ) == warned


def test_answers_of_other_weights_are_not_trained_on() -> None:
    late = replace(sampled(block("right")), weights_step=2)
    assert [row.weights_step for row in player(ScriptedJudge(), [late], step=2).play([ask()])] == [
        2
    ]
    with pytest.raises(ValueError, match=r"answer of step 3 .* weights of step 2"):
        player(ScriptedJudge(), [late], step=3).play([ask()])


def test_a_server_that_dies_or_tells_too_little_is_one_line(
    server: LoopbackVllm, adapted: Any, tmp_path: Path
) -> None:
    policy = in_training(server, adapted, tmp_path, 0)
    del server.adapters[next(iter(server.adapters))]
    with pytest.raises(EndpointError, match=r"404 The model `step-0-.*` does not exist\.$"):
        policy.complete(PROMPTS, GREEDY)
    plain = replace(policy, model="other")  # type: ignore[type-var]
    server.answer = lambda *_: {"model": BASE, "choices": [{}]}  # type: ignore[method-assign]
    with pytest.raises(EndpointError, match="other was asked, and the server says tiny"):
        plain.complete(PROMPTS, GREEDY)
    with pytest.raises(EndpointError, match="tells no token ids"):
        replace(policy, model=BASE).complete(PROMPTS, GREEDY)  # type: ignore[type-var]
    server.stop()
    with pytest.raises(AbsentError, match="no server answers at"):
        policy.complete(PROMPTS, GREEDY)


def refusal(*words: str) -> str | None:
    from kernelwright.preflight.check import preflight

    found = preflight(resolve(Path("quickstart"), ["grpo.generation=vllm", *words]).recipe)
    return next((one for one in found if one.startswith("grpo.server")), None)


@pytest.mark.parametrize("body", [b"{}", b"[]", b'"hello"', b'{"data": [{}]}'])
def test_a_server_of_another_kind_is_one_line(body: bytes) -> None:
    class Other(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Other) as other:
        Thread(target=other.serve_forever, daemon=True).start()
        asked = VllmServer(Endpoint.at(f"http://127.0.0.1:{other.server_port}"))
        with pytest.raises(EndpointError, match=r"/v1/models: the answer has not what OpenAI's"):
            asked.models()
        other.shutdown()


def test_a_run_says_how_to_start_the_server_before_anything_slow(server: LoopbackVllm) -> None:
    command = "VLLM_ALLOW_RUNTIME_LORA_UPDATING=1 vllm serve"
    assert command in str(refusal())
    assert command in str(refusal("grpo.server=http://127.0.0.1:9"))
    assert "no server answers at http://127.0.0.1:9 (" in str(
        refusal("grpo.server=http://127.0.0.1:9/v1")
    )
    assert refusal(f"grpo.server={server.url}") is None
    assert refusal("stages=[sft, eval]") is None
    server.updates = False
    assert "loads no adapters" in str(refusal(f"grpo.server={server.url}"))
    assert "--max-lora-rank 32" in start_command("m", 20)


def test_a_run_on_a_server_writes_as_it_was_trained_to(tmp_path: Path) -> None:
    (tmp_path / "recipe.resolved.yaml").write_text("data: {dialect: triton}\n")
    assert habits_of(f"vllm:{tmp_path}@http://127.0.0.1:9").dialect == "triton"
    assert habits_of("openai:gpt") == habits_of("openai:gpt@http://127.0.0.1:9") == Habits()


def test_a_recipes_measurements_ask_the_server_that_samples_for_grpo(
    server: LoopbackVllm, adapted: Any, tmp_path: Path
) -> None:
    from kernelwright.data.runs.process import Process
    from kernelwright.run.run_folder import RunFolder
    from kernelwright.run.train import Run

    adapted.save_pretrained(str(tmp_path / "adapter"))
    words = [f"model.name={tmp_path / 'model'}", "model.quantization=none", "model.dtype=float32"]
    found = []
    for generation in ("transformers", "vllm"):
        asked = [*words, f"grpo.generation={generation}", f"grpo.server={server.url}"]
        recipe = resolve(Path("quickstart"), asked).recipe
        judge: Any = None  # nothing is judged
        process = Process(rank=0, world=1)
        run = Run(recipe, RunFolder(tmp_path), judge, process, lambda: None, resume=False)
        answers = run.policy(tmp_path / "adapter").complete(PROMPTS, GREEDY)
        found.append([one.token_ids for one in answers])
        assert bool(server.asked) == (generation == "vllm")
    assert found[0] == found[1]


def test_a_server_that_dies_in_a_run_is_told_with_the_command_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from kernelwright import launch

    def dies(*_: Any, **__: Any) -> None:
        raise AbsentError("no server answers at http://127.0.0.1:9 (refused)")

    monkeypatch.setattr("kernelwright.run.train.train", dies)
    monkeypatch.setattr("kernelwright.preflight.check.unprepared", lambda _: [])
    monkeypatch.setattr("kernelwright.preflight.check.fooled", lambda _: [])
    monkeypatch.setattr(launch, "_fitted", lambda recipe: Budget(recipe=recipe))
    recipe = resolve(Path("quickstart"), [f"run_dir={tmp_path / 'run'}"]).recipe
    assert launch._train(Path("quickstart"), recipe, False, "AGAIN --resume") == launch.FAILED
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("no server answers at http://127.0.0.1:9 (refused); once it answers, ")
    assert line.endswith("go on with: AGAIN --resume")
