"""What C++ and Python both state about a process's end is the same."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from kernelwright.envs.referee.exit_codes import (
    DEVICE_LOST,
    EMULATED_EXITS,
    EXITS,
    NOT_LOADABLE,
    OUT_OF_MEMORY,
    REPLAY_EXITS,
    RESULT_REUSED,
)
from kernelwright.envs.sandbox import zygote
from kernelwright.envs.types import Verdict

ENVS = Path(__file__).parents[1] / "envs"


def jail_codes() -> dict[str, int]:
    header = (ENVS / "native/harden.h").read_text(encoding="utf-8")
    (body,) = re.findall(r"enum ExitCode \{(.*?)\}", header, re.DOTALL)
    return {name: int(code) for name, code in re.findall(r"(\w+) = (\d+)", body)}


def guest_codes() -> dict[str, int]:
    tree = ast.parse((ENVS / "guest/leave.py").read_text(encoding="utf-8"))
    found: dict[str, int] = {}
    for node in tree.body:
        if isinstance(node, ast.Assign):
            (target,) = node.targets
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for name, value in zip(names, values, strict=False):
                if isinstance(value, ast.Constant) and isinstance(value.value, int):
                    found[ast.unparse(name)] = value.value
    return {name: code for name, code in found.items() if code >= NOT_LOADABLE}


def emulated_codes() -> dict[str, int]:
    """Reason → code of the runtime of translated code."""
    header = (ENVS / "native/ptx/warp.h").read_text(encoding="utf-8")
    (body,) = re.findall(r"enum Fault \{(.*?)\}", header, re.DOTALL)
    (names,) = re.findall(r"kFaultNames\[\] = \{(.*?)\}", header, re.DOTALL)
    codes = [int(code) for code in re.findall(r"k\w+ = (\d+)", body)]
    return dict(zip(re.findall(r'"(\w+)"', names), codes, strict=True))


def test_every_code_of_the_guest_and_of_translated_code_says_its_own_name() -> None:
    for name, code in guest_codes().items():
        assert EXITS[code][1] == name.lower()
    for name, code in emulated_codes().items():
        assert EMULATED_EXITS[code][1] == name
    assert (len(guest_codes()), len(emulated_codes())) == (len(EXITS) - 3, len(EMULATED_EXITS))


def test_the_jail_and_the_judge_agree() -> None:
    plans = (ENVS / "native/plan/plan.h").read_text("utf-8")
    assert f"kNotLoadable = {NOT_LOADABLE}, kOutOfMemory = {OUT_OF_MEMORY}, " in plans
    assert f"kResultReused = {RESULT_REUSED};" in plans
    calls = (ENVS / "native/plan/call.h").read_text("utf-8")
    (other,) = re.findall(r"kOtherResult = (\d+);", calls)
    assert EXITS[int(other)][0] is Verdict.BUILD_FAILED
    assert jail_codes()["kNoKernel"] == NOT_LOADABLE
    assert jail_codes()["kOutOfMemory"] == OUT_OF_MEMORY == zygote.OUT_OF_MEMORY


def test_no_code_means_two_things() -> None:
    own_of_jail = set(jail_codes().values()) - {NOT_LOADABLE, OUT_OF_MEMORY}
    assert not own_of_jail & (EXITS.keys() | REPLAY_EXITS.keys())
    assert not own_of_jail & EMULATED_EXITS.keys()
    assert not EMULATED_EXITS.keys() & (EXITS.keys() | REPLAY_EXITS.keys() | {DEVICE_LOST})
    assert DEVICE_LOST not in EXITS.keys() | REPLAY_EXITS.keys()
    for code in EXITS.keys() & REPLAY_EXITS.keys():
        assert EXITS[code] == REPLAY_EXITS[code]
