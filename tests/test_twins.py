"""Twins: what computes the same as an excluded problem, whatever its size and its text."""

from __future__ import annotations

from pathlib import Path

import pytest

from kernelwright.data.graphs.build import Build, Recipe, Wanted
from kernelwright.data.graphs.signature import Twins, signature
from kernelwright.data.importers.exams import Exams
from kernelwright.data.importers.import_rows import Import
from kernelwright.data.importers.item import NotTakenError
from kernelwright.data.suites.load import SuiteError, load_suite, load_whole
from kernelwright.data.suites.rows import Row
from kernelwright.envs.judge import Judge
from tests.command import kernelwright
from tests.nouns import RELU_MODULE
from tests.test_import_data import imported, item

LARGE = RELU_MODULE.replace("4000", str(10**13))
UNKNOWN = RELU_MODULE.replace("torch.relu(x)", "self.act(x)")
RAISES = RELU_MODULE.replace("return torch.relu(x)", "raise ValueError(x)")


def suite(folder: Path, **modules: str) -> str:
    """The spec of a folder of modules."""
    for name, text in modules.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return f"modules:{folder}"


@pytest.mark.sandbox
@pytest.mark.parametrize(
    ("kind", "name", "options"),
    [("kernelbench", "level1/1_Relu", "?levels=1"), ("modules", "relu", "?scale=0.5")],
)
def test_problems_too_large_for_this_machine_are_known_in_every_layout(
    tmp_path: Path, kind: str, name: str, options: str
) -> None:
    suite(
        tmp_path, **{name: LARGE, name.replace("1_Relu", "2_Relu").replace("relu", "tanh"): LARGE}
    )
    spec = f"{kind}:{tmp_path}{options}"
    with pytest.raises(SuiteError, match="would take more than"):
        load_suite(spec)
    with pytest.raises(SuiteError, match="would take more than 2 GB"):
        load_whole(f"{spec}&memory=2GB")
    whole = load_whole(spec)
    assert whole.spec == spec
    assert len(whole.problems) == 2
    assert Twins.of(whole.problems) == Twins(known=frozenset({"1d:relu"}), problems=2)
    with pytest.raises(NotTakenError, match=f"of {kind}:"):
        Exams.of([spec]).refuse_code(RELU_MODULE)


def test_a_module_that_is_not_understood_has_no_signature(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kernelwright.data.graphs.signature._ranks", lambda problems: [1])
    problem = Row(name="unknown", code=UNKNOWN).problem
    assert Twins.of([problem]) == Twins(problems=1, unread=("unknown",))


class JudgesNothing(Judge):
    """A judge that nothing is asked of."""

    def __init__(self) -> None:
        pass


@pytest.mark.sandbox
def test_a_build_knows_large_problems_and_says_which_have_no_signature(tmp_path: Path) -> None:
    spec = suite(tmp_path / "suite", large=LARGE, unknown=UNKNOWN, raises=RAISES)
    build = Build.begin(tmp_path / "rows", Recipe(seed=0, exclude=(spec,)))
    build.run(Wanted(count=0), JudgesNothing())
    assert "1d:relu" in build.twins.known
    (said,) = build.twins.said()
    assert said.startswith("2 of 3 excluded problems do not run or are not understood")
    assert said.endswith("(raises, unknown)")
    assert said in (tmp_path / "rows" / "build.log").read_text(encoding="utf-8")


@pytest.mark.sandbox
def test_an_import_refuses_what_computes_the_same_as_an_excluded_problem(tmp_path: Path) -> None:
    layer = RELU_MODULE.replace("torch.relu(x)", "self.act(x)").replace(
        "    def forward",
        "    def __init__(self):\n        super().__init__()\n"
        "        self.act: torch.nn.Module = torch.nn.ReLU()\n\n    def forward",
    )
    twin = RELU_MODULE.replace("torch.relu(x)", "x.relu()")
    spec = suite(tmp_path / "suite", layer=layer)
    asked = [item("twin", twin), item("rank", twin.replace("randn(N)", "randn(N, 3)"))]
    exams = Exams.of([spec])
    exams.refuse_code(twin)
    _, results = imported(tmp_path / "out", asked, Import(source="test", exams=exams))
    assert results == {"twin": "exam", "rank": "kept"}


@pytest.mark.sandbox
@pytest.mark.parametrize("precision", ["fp16", pytest.param("bf16", marks=pytest.mark.slow)])
def test_a_precision_of_an_excluded_suite_leaves_its_problems_known(
    tmp_path: Path, precision: str
) -> None:
    spec = suite(tmp_path / "suite", relu=RELU_MODULE)
    exams = Exams.of([f"{spec}?precision={precision}"])
    (cast,) = load_suite(f"{spec}?precision={precision}").problems
    for code in (RELU_MODULE, RELU_MODULE.replace("4000", "17"), cast.code):
        with pytest.raises(NotTakenError, match=f"is relu of modules:.*precision={precision}"):
            exams.refuse_code(code)
    with pytest.raises(NotTakenError, match="is relu of modules:"):
        Exams.of([spec]).refuse_code(cast.code)
    assert exams.twins.known == {signature(cast)} == {"1d:relu"}


@pytest.mark.sandbox
def test_the_import_command_says_which_excluded_problems_have_no_signature(tmp_path: Path) -> None:
    spec = suite(tmp_path / "suite", relu=RELU_MODULE, unknown=UNKNOWN)
    suite(tmp_path / "mine", twin=RELU_MODULE.replace("torch.relu(x)", "x.relu()"))
    words = (str(tmp_path / "mine"), str(tmp_path / "out"), "--licence", "MIT", "--exclude", spec)
    done = kernelwright("data", "import", *words)
    assert "1 of 2 excluded problems do not run or are not understood" in done.stderr
    assert "left out, exam: 1 (twin: computes the same as an excluded problem" in done.stdout
