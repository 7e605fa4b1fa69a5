"""Reasons that this machine cannot run a recipe, before weights are touched."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from kernelwright.data.runs.process import this_process
from kernelwright.data.runs.stages import training
from kernelwright.data.suites.load import brings_triples
from kernelwright.envs.dialects import DIALECTS
from kernelwright.envs.judge import NEEDS_A_GPU
from kernelwright.envs.remote.open_judge import open_judge
from kernelwright.envs.sandbox.levels import require_level
from kernelwright.envs.sandbox.toolchain import SandboxUnavailableError, compiler_path, nvcc_path
from kernelwright.envs.system.hardware import gpus, memory_bytes, visible_gpus
from kernelwright.envs.system.tools import TOOLKIT, Tool, tool_path
from kernelwright.envs.types import Dialect, Precision
from kernelwright.machine.facts import how_to_install
from kernelwright.preflight.consistency import contradictions
from kernelwright.preflight.estimate import judge_device_bytes, weight_bytes
from kernelwright.rl.models.load import check_name
from kernelwright.rl.models.weights import ModelError
from kernelwright.rl.policies.providers.find import provider
from kernelwright.rl.recipe.schema import Recipe
from kernelwright.rl.tracking.run_tracker import why_not

OPENS_THOUGHT = (
    "{} begins its answers with a thought, which examples and pairs have none of: take another "
    "model, or train it by stages=[grpo, eval] alone"
)
UNTIMED = "false rewards being right"


def preflight(recipe: Recipe) -> list[str]:
    """One sentence for each reason; empty where the run can start. Imports nothing heavy."""
    found = [_model(recipe), _dialect(recipe), _sandbox(recipe), _memory(recipe), _sharded()]
    found += [_precision(recipe), _profile(recipe), _server(recipe), *_packages(recipe)]
    found += [*contradictions(recipe, this_process().world)]
    return [reason for reason in found if reason]


def unprepared(recipe: Recipe) -> list[str]:
    """The same for checks that need the libraries: options, the model, the tracker's login.

    Runs before the first slow stage. All processes build the options, which joins them.
    """
    reasons = _unreached() or _options(recipe)
    if not reasons and this_process().leads:
        checks = (unloadable, without_pairs, why_not, _nodes_without_gpus)
        found = [check(recipe) for check in checks]
        reasons = [reason for reason in found if reason]
    return reasons


def _unreached() -> list[str]:
    """A GPU that only torch, or only the judge, can use; the plan assumes both or neither."""
    import torch

    from kernelwright.rl.models.load import unseen_gpu

    found = visible_gpus()
    if not found or torch.cuda.is_available():
        return [reason for reason in [unseen_gpu()] if reason]
    built = f"for CUDA {torch.version.cuda}" if torch.version.cuda else "without CUDA"
    return [
        f"{found[0].name} is here (driver {found[0].driver}), and torch {torch.__version__}, "
        f"built {built}, cannot use it: install one that fits the driver, or hide the GPU with "
        "CUDA_VISIBLE_DEVICES="
    ]


def _options(recipe: Recipe) -> list[str]:
    trained = training(recipe.stages)
    if not trained:
        return []
    from kernelwright.rl.models.load import hush_libraries

    hush_libraries()  # first: importing TRL has bitsandbytes speak already
    from trl import DPOConfig, GRPOConfig, SFTConfig

    from kernelwright.rl.train.dpo import dpo_options
    from kernelwright.rl.train.grpo import grpo_options
    from kernelwright.rl.train.rft import as_sft
    from kernelwright.rl.train.sft import sft_options

    makers: dict[str, tuple[Any, Callable[[Recipe], dict[str, Any]]]] = {
        "sft": (SFTConfig, sft_options),
        "rft": (SFTConfig, lambda one: sft_options(as_sft(one))),
        "dpo": (DPOConfig, dpo_options),
        "grpo": (GRPOConfig, grpo_options),
    }
    reasons = []
    for config, options in (makers[stage] for stage in trained if stage in makers):
        try:
            config(**options(recipe))
        except Exception as error:  # noqa: BLE001  whatever it dislikes, the options are the cause
            reasons.append(f"{config.__name__} of TRL refuses the options: {_first_line(error)}")
    return reasons


def unloadable(recipe: Recipe) -> str | None:
    """Why the model or the adapter cannot be loaded, without loading its weights."""
    from kernelwright.rl.models.adapter_folder import find_adapter
    from kernelwright.rl.models.chat import opens_thought
    from kernelwright.rl.models.checkpoints import ADAPTER, is_whole_safetensors
    from kernelwright.rl.models.load import check_loadable, load_tokenizer
    from kernelwright.rl.train.start_adapter import start_adapter

    try:
        start = start_adapter(recipe)
        if start and not is_whole_safetensors(start / ADAPTER):
            return f"model.adapter: {start / ADAPTER} is damaged"
    except ModelError as error:
        return f"model.adapter: {error}"
    try:
        adapter = find_adapter(recipe.model.name) if not training(recipe.stages) else None
        if adapter and not is_whole_safetensors(adapter.folder / ADAPTER):
            return f"model.name: {adapter.folder / ADAPTER} is damaged"
        check_loadable(name := adapter.base if adapter else recipe.model.name)
        if (recipe.learns_examples or "dpo" in recipe.stages) and opens_thought(
            load_tokenizer(name)
        ):
            return f"model.name: {OPENS_THOUGHT.format(name)}"
    except ModelError as error:
        return f"model.name: {error}"
    return None


def without_pairs(recipe: Recipe) -> str | None:
    """Why a folder gives DPO nothing to learn from, hours before that stage begins."""
    from kernelwright.rl.train.pairs import pairs_for

    if "dpo" in recipe.stages and recipe.dpo.pairs is not None:
        try:
            pairs_for(recipe, ())
        except ModelError as error:
            return str(error)
    return None


def _first_line(error: Exception) -> str:
    return str(error).strip().partition("\n")[0] or type(error).__name__


def _model(recipe: Recipe) -> str | None:
    name = recipe.model.name
    if not training(recipe.stages) and Path(name).is_dir():
        return None  # an adapter, or a run
    try:
        check_name(name)
    except ModelError as error:
        return f"model.name: {error}"
    return None


def _dialect(recipe: Recipe) -> str | None:
    data, elsewhere = recipe.data, recipe.judge.ray_address
    for dialect in data.dialects:
        key = "dialect" if dialect == data.dialect else "more_dialects"
        if not elsewhere and (why := not_judged_here(dialect)):
            return f"data.{key} {dialect}: {why}"
        has_triples = DIALECTS[dialect].has_triples or brings_triples(data.taught_suite)
        if not has_triples and "sft" in recipe.stages:
            return f"stages: there are no triples in {dialect}; leave out sft"
    if needs_gpus(recipe) and not gpus() and not elsewhere:
        old = next((f" ({one.too_old})" for one in visible_gpus()), "")
        named = " and ".join(data.dialects)
        return f"judge.timed: {named} answers have no speed without a GPU{old}; {UNTIMED}"
    return None


def needs_gpus(recipe: Recipe) -> bool:
    """Whether the recipe needs speeds that only a GPU can give."""
    return recipe.judge.timed and all(DIALECTS[one].is_device_code for one in recipe.data.dialects)


def _nodes_without_gpus(recipe: Recipe) -> str | None:
    """The same for a cluster, once its nodes have reported their GPUs."""
    address = recipe.judge.ray_address
    if address is None or not needs_gpus(recipe):
        return None
    with open_judge(1, recipe.judge.minimum_sandbox, ray_address=address) as judge:
        if judge.devices():
            return None
    return (
        f"judge.timed: {' and '.join(recipe.data.dialects)} answers have no speed on the nodes of "
        f"judge.ray_address {address}, of which none has a GPU to judge on; {UNTIMED}"
    )


def _precision(recipe: Recipe) -> str | None:
    section = recipe.judge
    if section.precision is Precision.IEEE or section.ray_address:
        return None
    whys = [no_tf32(one) for one in recipe.data.dialects]
    return None if None in whys else f"judge.precision: {whys[0]}"


def _profile(recipe: Recipe) -> str | None:
    if not recipe.judge.profile or recipe.judge.ray_address:
        return None
    why = no_tool(Tool.PROFILER, recipe.data.dialects)
    return why and f"judge.profile: {why}"


def no_tf32(dialect: Dialect | None) -> str | None:
    """Why TF32 changes nothing here for answers in this dialect, or in any."""
    if dialect and not DIALECTS[dialect].runs_on_gpu:
        return f"tf32 is how a GPU multiplies, and {dialect} answers run on a CPU: use ieee"
    return None if gpus() else NEEDS_A_GPU


def no_tool(tool: Tool, dialects: Collection[Dialect]) -> str | None:
    """Why this tool cannot look at answers in any of these dialects on this machine."""
    if not any(DIALECTS[one].runs_on_gpu for one in dialects):
        return f"{tool} looks at what runs on a GPU, and {' and '.join(dialects)} answers do not"
    if not gpus():
        return f"{tool} looks at what runs on a GPU, and there is none here"
    if tool_path(tool, nvcc_path()):
        return None
    return f"{tool} is neither on PATH, nor in {TOOLKIT}, nor beside nvcc: the CUDA toolkit has it"


def not_judged_here(dialect: Dialect) -> str | None:
    """Why answers in this dialect would all be `unjudged` on this machine."""
    lacks = DIALECTS[dialect].lacking()
    if lacks is None:
        return None
    here = ", ".join(name for name, one in DIALECTS.items() if one.lacking() is None)
    advice = how_to_install(lacks) or f"{lacks} is missing"
    return f"the judge cannot run {dialect} answers here, only {here}: {advice}"


def _sandbox(recipe: Recipe) -> str | None:
    if recipe.judge.ray_address:  # each node of the cluster sees to its own
        return None
    try:
        compiler_path()
        require_level(recipe.judge.minimum_sandbox)
    except SandboxUnavailableError as error:
        return str(error)
    return None


def fooled(recipe: Recipe) -> list[str]:
    """A reason not to train if an exploit passes the judge; takes a while the first time.

    A judge that can be fooled must not teach. Tried once per machine, version and dialect; other
    dialects are left out.
    """
    if not this_process().leads:
        return []
    from kernelwright.data.gallery.exhibits import GalleryError
    from kernelwright.data.gallery.judge_check import loose_exploits

    section = recipe.judge
    try:
        where = section.workers, section.minimum_sandbox
        loose = [
            name
            for one in recipe.data.dialects
            for name in loose_exploits(*where, one, section.ray_address)
        ]
    except GalleryError as error:
        return [str(error)]
    named = f"the judge does not stop {', '.join(loose)}; see `kernelwright gallery`"
    return [named] if loose else []


def _memory(recipe: Recipe) -> str | None:
    found = visible_gpus()
    on_gpu = bool(found)
    needed = weight_bytes(recipe, on_gpu=on_gpu)
    present = max((gpu.memory_bytes or memory_bytes() for gpu in found), default=memory_bytes())
    judge = judge_device_bytes(recipe)
    if needed is None or needed + judge < present:
        return None
    where = "the largest GPU" if on_gpu else "this machine, which has no GPU,"
    less = f", of which the judge takes {judge / 1e9:.1f}" if judge else ""
    return (
        f"model.name {recipe.model.name}: its weights need at least {needed / 1e9:.0f} GB, "
        f"{where} has {present / 1e9:.0f} GB{less}; take a smaller model or a larger machine"
    )


def _sharded() -> str | None:
    """Options of `accelerate launch`, from its command line or its configuration file."""
    for name in ("FSDP", "DEEPSPEED"):
        if os.environ.get(f"ACCELERATE_USE_{name}", "false").lower() in ("true", "1"):
            return (
                f"accelerate launch asks for {name}, which is not supported: sampling reads whole "
                "weights; launch with --multi_gpu, where every process holds the whole model"
            )
    return None


def _server(recipe: Recipe) -> str | None:
    """Why what samples cannot be asked."""
    section, model = recipe.grpo, recipe.model
    if "grpo" not in recipe.stages and section.server is None:
        return None
    why = provider(section.generation).refusal(section.server, model.name, model.lora.rank)
    return why and f"grpo.server: {why}"


def _packages(recipe: Recipe) -> list[str | None]:
    grpo = "grpo" in recipe.stages
    needed = {
        "stages": "trl" if grpo or recipe.learns_examples else "transformers",
        "report_to": None if recipe.report_to == "none" else recipe.report_to,
        "judge.ray_address": "ray" if recipe.judge.ray_address else None,
    }
    return [
        f"{key}: {how_to_install(module)}"
        for key, module in needed.items()
        if module and not find_spec(module)
    ]
