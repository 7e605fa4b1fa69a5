"""A vLLM server: adapters that it loads while it runs, and completions as tokens."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kernelwright.envs.policy import Completion, OnFinished, Prompt, Sampling
from kernelwright.envs.types import content_hash
from kernelwright.rl.policies.decode import Sampled
from kernelwright.rl.policies.endpoint import Endpoint, EndpointError, all_of, as_expected

AT_ONCE = 512
"""Requests in work at the same time; vLLM itself decides how many it batches."""
SWITCH = "VLLM_ALLOW_RUNTIME_LORA_UPDATING"
LOAD, UNLOAD = "/v1/load_lora_adapter", "/v1/unload_lora_adapter"
RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
"""What `--max-lora-rank` may be."""


def server_options(rank: int) -> list[str]:
    """What a server is started with, besides its model: log-probabilities are those of the
    distribution that is drawn from, whatever the temperature."""
    most = next((one for one in RANKS if one >= rank), RANKS[-1])
    words = ["--enable-lora", "--max-lora-rank", str(most)]
    return [*words, "--logprobs-mode", "processed_logprobs"]


def start_command(model: str, rank: int) -> str:
    """What starts a server for a model, in a shell."""
    return shlex.join(["env", f"{SWITCH}=1", "vllm", "serve", model, *server_options(rank)])


@dataclass(frozen=True, slots=True)
class VllmServer:
    """A server at an address; every call raises EndpointError where it fails."""

    endpoint: Endpoint

    def models(self) -> dict[str, dict[str, Any]]:
        """What it serves, by name: first its base model, then the adapters that are loaded."""
        with as_expected(f"{self.endpoint.url}/v1/models"):
            return {one["id"]: one for one in self.endpoint.get("/v1/models")["data"]}

    def updates_adapters(self) -> bool:
        """Whether it was started so that adapters may come and go."""
        try:
            self.endpoint.get(LOAD)
        except EndpointError as error:
            return ": 404 " not in str(error)
        return True

    def load(self, name: str, folder: Path) -> None:
        """Has it load an adapter; nothing happens where one of this name is loaded."""
        if name not in self.models():
            body = {"lora_name": name, "lora_path": str(folder.resolve())}
            try:
                self.endpoint.post(LOAD, body)
            except EndpointError:
                if name not in self.models():  # another process may have been first
                    raise

    def unload(self, name: str) -> None:
        """Has it drop an adapter; nothing happens where none of this name is loaded."""
        if name in self.models():
            try:
                self.endpoint.post(UNLOAD, {"lora_name": name})
            except EndpointError:
                if name in self.models():  # another process may have been first
                    raise


@dataclass(frozen=True, slots=True, kw_only=True)
class VllmPolicy:
    """A base model or an adapter on a server, asked in tokens; it tells tokens and their
    log-probabilities. `weights_step` is the optimiser step of its weights, None outside of
    training."""

    server: VllmServer
    model: str
    tokenizer: Any
    end_token_ids: Collection[int]
    weights_step: int | None = None

    def complete(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_finished: OnFinished | None = None
    ) -> list[Completion]:
        """All at once; from the model's own distribution: no top-k, no top-p, no penalties."""
        from kernelwright.rl.policies.hf import as_completion, prompt_token_ids

        asked = prompt_token_ids(self.tokenizer, prompts)

        def ask(number: int) -> Completion:
            sampled = self._sampled(asked[number], sampling, sampling.number(number))
            return as_completion(self.tokenizer, asked[number], sampled, self.weights_step)

        return all_of(len(prompts), ask, AT_ONCE, on_finished)

    def _sampled(self, prompt: list[int], sampling: Sampling, number: int) -> Sampled:
        told = self.server.endpoint.post("/v1/completions", self._body(prompt, sampling, number))
        with as_expected(f"{self.server.endpoint.url}/v1/completions"):
            said, choice = told["model"], told["choices"][0]
            ids, logprobs = choice.get("token_ids"), choice.get("logprobs") or {}
            known = logprobs.get("token_logprobs")
        if said != self.model:
            raise EndpointError(f"{self.model} was asked, and the server says {said}")
        if not ids or not known or len(ids) != len(known):
            raise EndpointError(
                f"{self.server.endpoint.url} tells no token ids with their log-probabilities: "
                "vLLM does from 0.10.2 on"
            )
        return Sampled(
            token_ids=tuple(ids), logprobs=tuple(known), ended=ids[-1] in self.end_token_ids
        )

    def _body(self, prompt: list[int], sampling: Sampling, number: int) -> dict[str, Any]:
        """The request; what the model's own folder says of sampling is overruled."""
        return {
            "model": self.model,
            "prompt": prompt,
            "max_tokens": sampling.max_new_tokens,
            "temperature": sampling.temperature,
            "seed": int(content_hash(str(sampling.seed), str(number)), 16) % (1 << 62),
            "stop_token_ids": sorted(self.end_token_ids),
            "logprobs": 0,
            "return_token_ids": True,
            "top_p": 1.0,
            "top_k": 0,
            "min_p": 0.0,
            "repetition_penalty": 1.0,
            "presence_penalty": 0.0,
            "frequency_penalty": 0.0,
        }
