"""What C++ and Python both state is the same: wire, first addresses, the pretended GPU.

Neither side can read the other's: one is compiled, and the other runs where nothing of ours is.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import pytest

from kernelwright.envs.dialects.cuda import FIRST_TENSOR
from kernelwright.envs.guest.fake_cuda import Properties
from kernelwright.envs.plan import tables
from kernelwright.envs.plan.device_code import occupancy
from kernelwright.envs.plan.plan import Kernel, Plan
from kernelwright.envs.plan.steps import MOST_ARGUMENTS, MOST_DIMS, Launch
from kernelwright.envs.referee.layout import LAYOUT_AT, NONCE_BYTES
from kernelwright.envs.system.architectures import (
    AMPERE,
    ARCHITECTURES,
    ATTRIBUTES,
    EMULATED,
    HOPPER,
    Architecture,
    Device,
    device_word,
    header,
    pretended,
    properties,
)
from kernelwright.envs.system.memfd import HUGE_BYTES

ENVS = Path(__file__).parents[1] / "envs"


def in_cpp(file: str) -> dict[str, int]:
    """Every `constexpr … name = number` of a header."""
    return constants((ENVS / "native" / file).read_text("utf-8"))


def constants(text: str) -> dict[str, int]:
    found = {}
    for line in re.findall(r"constexpr [\w ]+? (k[^;]+);", text):
        for name, value in re.findall(r"(k\w+) = ([0-9a-fx]+(?: << \d+)?)", line):
            found[name] = eval(value)
    return found


def in_python(file: str) -> dict[str, Any]:
    """Every constant that a module of the guest sets, at its top or in a class, by name."""
    found: dict[str, Any] = {}
    for node in ast.walk(ast.parse((ENVS / "guest" / file).read_text("utf-8"))):
        if isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = node.value.elts if isinstance(node.value, ast.Tuple) else [node.value]
            for name, value in zip(names, values, strict=False):
                text = ast.unparse(value)
                if re.fullmatch(r"-?\d+( << \d+)?|'[^']*'", text):
                    found[ast.unparse(name)] = eval(text)
    return found


def in_enum(file: str, name: str) -> dict[str, int]:
    """The members of an enum of a header, by name."""
    text = (ENVS / "native" / file).read_text("utf-8")
    (body,) = re.findall(rf"enum {name} : int64_t \{{(.*?)\}}", text, re.DOTALL)
    found: dict[str, int] = {}
    for number, one in enumerate(body.split(",")):
        member, _, value = one.partition("=")
        found[member.strip()] = int(value) if value else number
    return found


def test_a_message_of_a_round_has_the_same_parts_on_both_sides() -> None:
    player = in_cpp("player.h")
    assert player["kNonceBytes"] == NONCE_BYTES
    assert player["kLayoutAt"] == LAYOUT_AT
    assert player["kHugeBytes"] == HUGE_BYTES
    assert LAYOUT_AT % 8 == 0, "its words are read in place"


def test_a_value_of_a_function_in_cpp_is_the_same_on_all_three_sides() -> None:
    guest = ast.parse((ENVS / "guest/library.py").read_text("utf-8"))
    kinds = list(in_enum("include/kernelwright/value.h", "Kind").values())
    assert kinds == list(range(len(kinds))) == [*range(tables.REALS + 1)]
    (counted,) = (ast.unparse(one) for one in guest.body if "LEFT_OUT" in ast.unparse(one)[:90])
    assert f"range({len(kinds)})" in counted
    types = in_enum("include/kernelwright/move.h", "Type")
    assert sorted(types.values()) == sorted(tables.TYPES.values())
    (known,) = (ast.unparse(one) for one in guest.body if ast.unparse(one).startswith("TYPES"))
    assert all(f"torch.{name}: {number}" in known for name, number in tables.TYPES.items())
    wrong, library = in_enum("include/kernelwright/value.h", "Wrong"), in_python("library.py")
    assert wrong["kNoMemory"] == library["NO_MEMORY"]
    assert in_cpp("include/kernelwright/value.h")["kSequence"] == library["SEQUENCE"]
    assert in_cpp("include/kernelwright/move.h")["kMostDim"] == library["MOST_DIMS"] == MOST_DIMS
    calls = in_cpp("plan/call.h")
    assert calls["kMostArguments"] == MOST_ARGUMENTS
    assert calls["kMostResults"] == library["MOST_RESULTS"]
    assert (calls["kMostViews"], calls["kMostLent"]) == (tables.MOST_VIEWS, tables.MOST_LENT)


def test_traced_host_code_finds_tensors_at_the_addresses_that_are_looked_up() -> None:
    recorder = in_cpp("recorder.h")
    assert recorder["kFirstTensor"] == FIRST_TENSOR
    assert recorder["kFirstNew"] == in_python("inline_trace.py")["FIRST_NEW"]


@pytest.mark.parametrize("architecture", [AMPERE, HOPPER], ids=lambda one: one.name)
def test_a_gpu_that_there_is_not_is_the_same_in_cpp_and_in_python(
    architecture: Architecture,
) -> None:
    python = properties(architecture)
    cpp = constants(header(python))
    assert {own: cpp[own] for _, own in ATTRIBUTES.values()} == {
        own: python[name] for name, (_, own) in ATTRIBUTES.items()
    }
    assert (cpp["kMajor"], cpp["kMinor"]) == (python["major"], python["minor"])
    for number, own in ATTRIBUTES.values():
        assert f"{{{number}, {own}}}" in header(python)
    assert f'kName[] = "{python["name"]}"' in header(python)
    assert set(json.loads(device_word(python))) == set(Properties._fields)


def test_every_number_of_the_gpu_that_headers_read_is_there() -> None:
    read = "".join(one.read_text("utf-8") for one in (ENVS / "native").glob("*.h"))
    named = set(re.findall(r"gpu::(k\w+)", read))
    filled = (ENVS / "native" / "properties.h").read_text("utf-8")
    named |= set(re.findall(r"\bk[A-Z]\w+", filled))
    assert named <= set(re.findall(r"k[A-Z]\w+", header(properties(AMPERE))))


def test_translated_code_has_the_shared_memory_of_the_gpu_that_answers_find() -> None:
    launched = (ENVS / "native" / "ptx" / "launch.h").read_text("utf-8")
    assert f"kMostShared = {EMULATED.shared_optin_bytes >> 10} << 10" in launched
    assert EMULATED.shared_optin_bytes % 1024 == 0


@pytest.mark.parametrize(
    ("wanted", "found"), [(80, 80), (86, 80), (89, 80), (90, 90), (100, 90), (121, 90)]
)
def test_what_is_pretended_is_no_newer_than_what_is_wanted(wanted: int, found: int) -> None:
    assert pretended(wanted).number == found


def test_what_is_pretended_does_not_depend_on_the_order_of_rows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = dict(reversed(ARCHITECTURES.items()))
    monkeypatch.setattr("kernelwright.envs.system.architectures.ARCHITECTURES", rows)
    assert pretended(120).number == 90


def test_a_new_generation_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is described, pretended, told to Python and to C++, and its occupancy is known."""
    device = Device(
        name="NVIDIA R100",
        processors=200,
        l2_bytes=1 << 27,
        memory_bytes=1 << 38,
        clock_khz=2_000_000,
        memory_clock_khz=3_000_000,
        bus_bits=8192,
    )
    rubin = Architecture(number=121, name="Rubin", shared_bytes=256 << 10, device=device)
    monkeypatch.setitem(ARCHITECTURES, 121, rubin)
    assert pretended(121) == rubin
    assert json.loads(device_word(properties(rubin)))["name"] == "NVIDIA R100"
    assert constants(header(properties(rubin)))["kMinor"] == 1
    info = "Compiling entry function 'k' for 'sm_121'\nUsed 32 registers"
    assert occupancy(info, [("k", 1024, 200 << 10)], 121) == 0.5
    plan = Plan(
        steps=[
            Launch(
                kernel="k", code="c", grid=(1, 1, 1), block=(64, 1, 1), shared_bytes=0, arguments=[]
            )
        ],
        kernels=[Kernel(name="k", code="c", target="sm_121", ptx="", info=info)],
        buffers={},
    )
    assert ("sm_121.registers", 32.0) in plan.facts()
