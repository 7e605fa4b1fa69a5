"""Builds the recorded plans of all cases into a library that replays them, as any kernel is built.

Device code without a device is its PTX as C++ that checks every access.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache

from pydantic import ValidationError

from kernelwright.envs.abi import CaseSpec, smallest
from kernelwright.envs.dialects.base import LIBRARY, Built, failed, shared_library, unsupported
from kernelwright.envs.plan.assemble import NoCodeError, as_if_for
from kernelwright.envs.plan.calls import TooManyStepsError
from kernelwright.envs.plan.plan import Plan
from kernelwright.envs.plan.tables import program_of_calls
from kernelwright.envs.plan.without_kernels import could_do_without, replay_without, without_kernels
from kernelwright.envs.ptx.parse import NotEmulatedError
from kernelwright.envs.ptx.program import ARCHITECTURE, program
from kernelwright.envs.referee.reasons import BESIDE_TORCH
from kernelwright.envs.sandbox.runtimes import Sandboxes
from kernelwright.envs.sandbox.toolchain import NATIVE
from kernelwright.envs.system.hardware import gpus
from kernelwright.envs.types import Candidate, Evaluation, Verdict

Cases = Sequence[tuple[CaseSpec, Plan]]
Files = tuple[tuple[str, bytes], ...]
FLAGS = (
    *("-O1", "-std=gnu++17", "-shared", "-fPIC", "-fopenmp-simd", "-fno-exceptions", "-fno-rtti"),
    *("-fno-math-errno", "-fno-trapping-math", "-fno-strict-aliasing", "-ffp-contract=off", "-w"),
)
"""-O1: -O2 takes a third longer to build and runs a fifth faster. No contraction: an fma is one
where the PTX has one, and a product and a sum are two."""
CALLING = ("-O1", "-std=gnu++17", "-shared", "-fPIC", "-w", "-ldl")
"""Of what calls functions in C++; they have flags of their own."""
COUNTED = ("steps", "buffers")
"""Of a plan: as many as its calls launch and allocate."""
LIMIT_S = 60.0
WITHOUT_SPEED = "PyTorch computes a part of it, so it ran on a CPU and has no speed"


def plans_of(
    first: Plan, specs: Sequence[CaseSpec], traced: Callable[[CaseSpec], Plan | Evaluation]
) -> Cases | Evaluation:
    """Each case with its plan, of which the first is known."""
    cases = [(specs[0], first)]
    for spec in specs[1:]:
        plan = traced(spec)
        if isinstance(plan, Evaluation):
            return plan
        cases.append((spec, plan))
    return cases


def launched(
    built: Built,
    cases: Cases | Evaluation,
    sandboxes: Sandboxes,
    for_cpu: Callable[[], Cases | Evaluation] | None = None,
) -> Built | Evaluation:
    """The same answer, as this machine launches its kernels: on a GPU, of which a CPU checks the
    smallest case too, or else played here. One of which PyTorch computes a part is played here in
    any case: no GPU replays that. `for_cpu` gives plans for a CPU where these are for later
    GPUs alone."""
    if isinstance(cases, Evaluation):
        return cases
    beside_torch = asks_torch(cases)
    if beside_torch:
        built = replace(built, on_device=None)
    if beside_torch and gpus():
        calls = sum(not one.is_own for one in cases[0][1].calls)
        facts = (*built.facts, (BESIDE_TORCH, float(calls)))
        built = replace(built, log=f"{built.log}{WITHOUT_SPEED}\n", facts=facts)
    built = weighed(built, cases, sandboxes)
    if beside_torch or not gpus():
        return _on_cpu(built, cases, sandboxes)
    return with_a_look(built, cases, sandboxes, for_cpu)


def with_a_look(
    built: Built,
    cases: Cases,
    sandboxes: Sandboxes,
    for_cpu: Callable[[], Cases | Evaluation] | None = None,
) -> Built:
    """The same for a GPU, with what a CPU plays of it: the smallest case of these plans, or of
    those `for_cpu` where a CPU cannot play these."""
    here = replace(built, on_device=None, without=None, on_cpu=None)

    def on_cpu() -> Built | Evaluation:
        found = _smallest_on_cpu(here, cases, sandboxes)
        if not isinstance(found, Evaluation) or for_cpu is None:
            return found
        others = for_cpu()
        return (
            found if isinstance(others, Evaluation) else _smallest_on_cpu(here, others, sandboxes)
        )

    return replace(built, on_cpu=on_cpu)


def _smallest_on_cpu(built: Built, cases: Cases, sandboxes: Sandboxes) -> Built | Evaluation:
    spec, plan = cases[smallest([spec for spec, _ in cases])]
    try:
        kernels = as_if_for(plan.kernels, ARCHITECTURE)
    except NoCodeError as error:
        return failed("no_code", str(error))
    return _on_cpu(built, [(spec, plan.model_copy(update={"kernels": kernels}))], sandboxes)


def _on_cpu(built: Built, cases: Cases, sandboxes: Sandboxes) -> Built | Evaluation:
    files = player(cases, program, FLAGS, sandboxes)
    if isinstance(files, Evaluation):
        return files
    built = replace(built, remembers=remembering(cases), with_torch=asks_torch(cases))
    return replace(built, files=files, playable=True, timed=False, emulated=True)


def remembering(cases: Cases) -> frozenset[CaseSpec]:
    """The cases in which the first call does something else than later calls."""
    return frozenset(spec for spec, plan in cases if plan.first)


def asks_torch(cases: Cases) -> bool:
    """Whether PyTorch computes a part of any."""
    return any(plan.asks_torch for _, plan in cases)


def player(
    cases: Cases,
    written: Callable[[Cases], tuple[str, bytes]],
    flags: Sequence[str],
    sandboxes: Sandboxes,
) -> Files | Evaluation:
    """The library that plays these plans, of C++ as `written`, and its constants; or why there is
    none."""
    for _, plan in cases:
        if plan.left_out:
            return left_out(plan.left_out)
    try:
        source, constants = written(cases)
    except NotEmulatedError as error:
        name = str(error)
        return unsupported(name.replace(" ", "_"), f"{name} does not run on a CPU")
    except NoCodeError as error:
        return failed("no_code", str(error))
    except Exception as error:  # noqa: BLE001  the named boundary: an answer could write all of it
        return misused(error)
    words = [*flags, "-I/include", "-o", LIBRARY, "program.cpp"]
    made = shared_library(words, {"program.cpp": source, **headers()}, sandboxes, LIMIT_S)
    if made.failure == "compile_error":  # ours, and not for an answer to bring about
        return unsupported("translation", made.log)
    if made.failure:
        return failed(made.failure, made.log)
    kept = (("constants", constants),) if constants else ()
    return ((LIBRARY, made.artefact), *kept)


def weighed(built: Built, cases: Cases, sandboxes: Sandboxes) -> Built:
    """The same, with what is left of it without its own kernels where that could be right in some
    case: which of them is timed is not known here."""
    if not any(could_do_without(plan, spec) for spec, plan in cases):
        return built

    def without() -> Built | Evaluation:
        if built.on_device is not None and gpus():
            return replace(built, on_device=replay_without(built.on_device))
        rest = [(spec, without_kernels(plan)) for spec, plan in cases]
        return on_host(replace(built, files=()), rest, [], sandboxes)

    return replace(built, without=without)


def on_host(
    built: Built, cases: Cases, libraries: Sequence[str], sandboxes: Sandboxes
) -> Built | Evaluation:
    """The same answer, its calls for each case played here: of functions in these libraries, which
    are among its files, and of PyTorch's."""
    files = player(cases, lambda some: program_of_calls(some, libraries), CALLING, sandboxes)
    if isinstance(files, Evaluation):
        return files
    parts = (*files, *built.files)
    built = replace(built, remembers=remembering(cases), with_torch=asks_torch(cases))
    return replace(built, files=parts, playable=True)


def left_out(what: str) -> Evaluation:
    """The evaluation of an answer that did something which a plan has no words for."""
    return unsupported(what.replace(" ", "_"), f"{what} cannot be replayed")


def idle(plan: Plan) -> Evaluation:
    """The verdict on a plan that computes nothing."""
    if plan.left_out:
        return left_out(plan.left_out)
    if plan.refused:
        return failed("launch_failed", plan.refused, Verdict.CRASHED)
    return failed("no_custom_kernel", "no kernel was launched", Verdict.CHEATED)


def refused(candidate: Candidate, plans: Sequence[Plan]) -> Evaluation | None:
    """The verdict on a plan in which PyTorch computes although it may not: the answer shared a
    process with what writes plans down. None where there is none."""
    if candidate.torch_allowed or not any(plan.asks_torch for plan in plans):
        return None
    return failed("torch_compute", "the plan asks PyTorch to compute", Verdict.CHEATED)


def misused(error: Exception) -> Evaluation:
    """What is said of an answer whose plan is too long, or makes no sense. Where we do not know
    why, the limit is ours; but it is none by which a losing answer has no verdict."""
    if isinstance(error, TooManyStepsError) or _too_long(error):
        return failed("too_many_launches", str(TooManyStepsError()), Verdict.TIMED_OUT)
    if isinstance(error, ValueError | TypeError | KeyError | RecursionError):
        return failed("launch_misused", str(error), Verdict.CHEATED)
    return unsupported("plan", repr(error))


def _too_long(error: Exception) -> bool:
    """Whether a plan was not read for the number of its steps or buffers."""
    if not isinstance(error, ValidationError):
        return False
    found = error.errors(include_url=False, include_context=False, include_input=False)
    return any(one["type"] == "too_long" and one["loc"][-1] in COUNTED for one in found)


@cache
def headers() -> dict[str, str]:
    """The runtime's files, by name."""
    paths = sorted((*(NATIVE / "plan").glob("*.h"), *(NATIVE / "ptx").glob("*.h")))
    return {path.name: path.read_text(encoding="utf-8") for path in paths}
