"""An answer that writes its plan itself, or asks for too much, has a verdict all the same."""

from __future__ import annotations

import pytest

from kernelwright.envs.judge import Judge
from kernelwright.envs.types import Candidate, Evaluation, Verdict
from tests.test_calls import ONE, PROBLEM, TURNED, answer

pytestmark = pytest.mark.sandbox

FORGED = """
import json, os
if os.path.exists("/scratch/layouts.json"):
    key = list(json.load(open("/scratch/libraries.json")))[0]
    view = {"storage": "x", "dtype": "float32", "shape": [64, 48], "strides": [48, 1], "offset": 0}
    made = {**view, "storage": "new.0"}
    given = [{"tensor": view}, {"tensor": view}, {"real": "0x1p1"}]
    call = {"library": key, "function": "one", "arguments": given,
            "results": [{"view": made, "made": 0}]}
    before = {"steps": 0, "buffers": 0, "outputs": [], "left_out": None}
    last = {**before, "buffers": 1, "outputs": [{"tensor": "new.0", "offset": 0}] * 2}
    plan = {"steps": [call], "buffers": {"new.0": 12288}, "constants": {}, "addresses": {},
            "record": {"inputs": {}, "calls": [before, before, last], "tuned": False}}
    %s
    last["steps"] = len(plan["steps"])
    count = len(json.load(open("/scratch/layouts.json")))
    os.write(3, json.dumps([plan] * count).encode())
    os._exit(0)
"""
HONEST = answer(ONE, ["one"], TURNED, "return ext.one(x, y, 2.0), second")
TIMES = 'call["arguments"][2]["real"] = '
CHANGES = {
    "a number that is too large": f'{TIMES}"0x1p99999"',
    "a number that is none": f'{TIMES}"); abort("',
    "a reason of ten megabytes": 'last["left_out"] = "A" * (10 << 20)',
    "a reason with lines in it": 'last["left_out"] = "a\\nb"',
    "a name of megabytes": 'last["outputs"][0]["tensor"] = "\\u20ac" * 4500000',
    "a name that is code": 'plan["buffers"] = {"}; int main() {": 8}',
    "steps that are none": 'plan["steps"] = [{"arguments": [1] * 4096}] * 500',
    "no strides": 'view["strides"] = []',
    "a step back": 'view["strides"] = [-1, 1]',
    "a place outside": 'view["offset"] = 1 << 40',
    "an operator of PyTorch's": 'call |= {"library": "torch", "function": "mul.Tensor"}; '
    'call["arguments"].pop()',
    "a library that is not there": 'call["library"] = "0" * 16',
    "a function that is not there": 'call["function"] = "two"',
    "more results": 'call["results"] *= 60',
    "constants that grow": 'plan["constants"] = {"new.0": "eJztwQENAAAAwqD3T20ON6AAAAAAAAAA"}',
    "another shape": 'made["shape"] = [48, 64]',
    "a reading of floats as whole numbers": 'plan["steps"].append({"shape": [1], "source": {'
    '"at": {"tensor": "x", "offset": 0}, "dtype": "float32", "strides": [1]}, "to": {'
    '"at": {"tensor": "new.0", "offset": 0}, "dtype": "int32", "strides": [1]}})',
    "no step at all": 'plan["steps"] = []',
    "a plan in a plan": 'plan["steps"] = [[[]]] * 9000',
}
EMPTY = """
import json, os
if os.path.exists("/scratch/layouts.json"):
    launch = {"kernel": "k", "grid": [0] * 3, "block": [1] * 3, "shared_bytes": 0, "arguments": []}
    ended = {"steps": 0, "buffers": 0, "outputs": [], "left_out": None}
    last = {**ended, "steps": 1, "outputs": [{"tensor": "x", "offset": 0}] * 2}
    plan = {"steps": [launch], "buffers": {}, "constants": {}, "addresses": {},
            "record": {"inputs": {}, "calls": [ended, ended, last]}}
    count = len(json.load(open("/scratch/layouts.json")))
    os.write(3, json.dumps([plan] * count).encode())
    os._exit(0)
"""
LARGE = ONE + r'__asm__(".data\\n.fill 17500000,1,7\\n.previous");'
ANSWERS = {
    **{name: (FORGED % change) + HONEST for name, change in CHANGES.items()},
    "launches of no block": EMPTY + HONEST,
    "a large library": answer(LARGE, ["one"], TURNED, "return ext.one(x, y, 2.0), second"),
    "more libraries than are built": HONEST.replace(
        "ext = load_inline(",
        "for n in range(40):\n"
        "    load_inline(name='a', cpp_sources=[SOURCE + str(n)], functions=[])\n"
        "ext = load_inline(",
    ),
}


@pytest.fixture(scope="module")
def evaluations() -> dict[str, Evaluation]:
    jobs = [
        (PROBLEM, Candidate(problem_key=PROBLEM.key, dialect="inline", source=source))
        for source in [*ANSWERS.values(), FORGED % "pass" + HONEST, HONEST]
    ]
    with Judge() as judge:
        found = judge.evaluate_many(jobs, timed=False)
    return dict(zip([*ANSWERS, "forged", "honest"], found, strict=True))


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_writes_down_decides_nothing_but_its_own_verdict(
    name: str, evaluations: dict[str, Evaluation]
) -> None:
    found = evaluations[name]
    assert found.verdict not in (Verdict.UNJUDGED, Verdict.CORRECT), found.log
    assert len(found.reason) <= 200
    assert found.reason.isprintable()


def test_no_plan_has_pytorch_compute_where_it_may_not(evaluations: dict[str, Evaluation]) -> None:
    assert evaluations["an operator of PyTorch's"].reason == "torch_compute"


def test_a_plan_that_is_written_so_is_read(evaluations: dict[str, Evaluation]) -> None:
    """Else the others would be refused for a reason of their own."""
    assert evaluations["forged"].reason == "mismatch", evaluations["forged"].log


def test_who_is_judged_beside_them_is_right(evaluations: dict[str, Evaluation]) -> None:
    assert evaluations["honest"].verdict is Verdict.CORRECT, evaluations["honest"].log
