"""A vLLM server. In training it gets the adapter alone, after each optimiser step, by a folder that
it loads while it runs; by a name (`vllm:MODEL@ADDRESS`) it serves a base model, an adapter or a
run."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from kernelwright.envs.policy import Policy
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.policies.adapter_versions import (
    drop_old_versions,
    version_name,
    write_version,
)
from kernelwright.rl.policies.endpoint import AbsentError, Endpoint, EndpointError
from kernelwright.rl.policies.providers import base
from kernelwright.rl.policies.vllm_server import SWITCH, VllmPolicy, VllmServer, start_command

FOLDER = "served"
"""Beside the checkpoints, which name the folder of the run."""
OTHER_BASE = (
    "warning: the server at {address} holds {held}, and is asked as {name}: are they the same?"
)


def _served(model: str) -> str:
    """What a server is told to serve: an embedded model's folder, where that is here."""
    from kernelwright.rl.models.load import is_here, resolve

    return resolve(model) if is_here(model) else model


class Provider(base.Provider):
    """Faster than `transformers` on a GPU. The server may be any that reads the run's folder, and
    it holds the base as it was started: in bfloat16, or in 4 bits by bitsandbytes."""

    asks_a_server = True

    def refusal(self, server: str | None, model: str, rank: int) -> str | None:
        command = start_command(_served(model), rank)
        if server is None:
            return f"set the address of a vLLM server, as http://127.0.0.1:8000, of: {command}"
        try:
            known = VllmServer(Endpoint.at(server))
            known.models()
            if not known.updates_adapters():
                return f"{server} loads no adapters: start it with {SWITCH}=1, as: {command}"
        except AbsentError as error:
            return f"{error}; start one with: {command}"
        except EndpointError as error:
            return str(error)
        return None

    def in_training(self, trainer: Any, tokenizer: Any, step: int) -> Policy:
        from kernelwright.rl.models.chat import end_token_ids

        model = trainer.accelerator.unwrap_model(trainer.model_wrapped)
        folder = Path(trainer.args.output_dir) / FOLDER
        server = VllmServer(Endpoint.at(self.server or ""))
        version = write_version(model, folder, step)
        server.load(version.name, version.folder)
        for name in drop_old_versions(folder, version):
            server.unload(name)
        return VllmPolicy(
            server=server,
            model=version.name,
            tokenizer=tokenizer,
            end_token_ids=end_token_ids(model.generation_config, tokenizer),
            weights_step=step,
        )

    def open(self, model: str) -> Policy:
        """MODEL@ADDRESS: the folder of an adapter or a run, whose base the server holds, or that
        base, by the name that this project has for it."""
        from kernelwright.rl.models.adapter_folder import find_adapter
        from kernelwright.rl.models.chat import end_token_ids
        from kernelwright.rl.models.load import load_generation_config, load_tokenizer

        name, _, address = model.rpartition("@")
        if not name or not address:
            raise ModelError("vllm:MODEL@ADDRESS names a model or a run, and the server's address")
        server, adapter = VllmServer(Endpoint.at(address)), find_adapter(name)
        base_name = adapter.base if adapter else name
        served, told = next(iter(server.models().items()))
        held = told.get("root") or base_name
        if not {served, held} & {base_name, _served(base_name)}:
            print(OTHER_BASE.format(address=address, held=held, name=base_name), file=sys.stderr)
        if adapter:
            served = version_name("adapter", adapter.folder)
            server.load(served, adapter.folder)
        tokenizer = load_tokenizer(base_name)
        ends = end_token_ids(load_generation_config(base_name), tokenizer)
        return VllmPolicy(server=server, model=served, tokenizer=tokenizer, end_token_ids=ends)
