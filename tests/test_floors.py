"""The house: imports only go down, start light, come from this checkout; nothing grows too long."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from graphlib import TopologicalSorter
from importlib import import_module
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
BELOW: dict[str, set[str]] = {
    "envs": set(),
    "data": {"envs"},
    "rewards": {"envs"},
    "rl": {"envs", "data", "rewards"},
    "evals": {"envs", "data", "rewards", "rl"},
    "kernelwright": {"envs", "data", "rewards", "rl", "evals"},
}
EVALS_MAY_TAKE = {
    "rl.models.adapter_folder",
    "rl.policies.hf",
    "rl.policies.providers.find",
    "rl.search.given",
    "rl.recipe.schema",
    "rl.models.load",
    "rl.models.weights",
    "rl.models.gguf_file",
    "rl.models.merge",
}
"""Policies, what names a model, what asks it to improve on a kernel, and what writes one whole:
nothing that trains."""

HEAVY = ("torch", "transformers", "trl", "peft", "datasets", "accelerate", "bitsandbytes", "wandb")
REFERENCE_PROCESS = (
    "envs.reference.admission",
    "envs.reference.mutant_search",
    "envs.reference.expectations",
    "envs.reference.precision",
    "envs.reference.process",
    "envs.reference.tf32",
    "envs.reference.torch_compile",
    "envs.reference.torch_peaks",
    "envs.device.there",
    "envs.device.torch_clock",
    "envs.reference.large_cases",
    "envs.reference.least_work",
    "envs.reference.products",
)
COPIED = "evals.hub.kernel_runtime"
"""Its text stands in published files."""
RUN_TORCH_BY_THEMSELVES = (*REFERENCE_PROCESS, "envs.guest", COPIED)
"""Never imported by another module of ours: they are there to run PyTorch."""
OF_OTHER_LIBRARIES = (
    "kernelwright.environments.for_openenv",
    "kernelwright.environments.for_verifiers",
)
"""Classes of another library, which they import; only that library's users import them."""

ROOMS: dict[str, tuple[tuple[str, ...], ...]] = {
    "kernelwright": (
        ("envs",),
        ("data", "machine", "rewards"),
        ("rl", "supervise"),
        ("environments",),
        ("evals", "recipe", "service", "trl_reward"),
        ("preflight",),
        ("run",),
        ("launch",),
        ("commands",),
        ("cli",),
        ("__main__",),
    ),
    "envs": (
        ("abi", "codec", "guest", "policy", "stats"),
        ("types",),
        ("system",),
        ("referee", "sandbox"),
        ("plan",),
        ("device", "ptx"),
        ("dialects", "reference"),
        ("answer", "candidate", "prompt"),
        ("workers",),
        ("judge",),
        ("judged", "remote"),
    ),
    "data": (
        ("factory", "runs", "triple"),
        ("suites",),
        ("graphs", "triples"),
        ("exports", "gallery", "importers"),
    ),
    "rl": (
        ("models", "section"),
        ("methods", "policies"),
        ("recipe", "rollout", "search"),
        ("tracking",),
        ("train",),
    ),
    "evals": (
        ("numbers",),
        ("page",),
        ("evaluate",),
        ("hub",),
    ),
}
"""The rooms of packages, ground floor first; one imports only from floors below its own."""
MOST_ARROWS = {"kernelwright": 61, "envs": 70, "data": 16, "rl": 20, "evals": 8}

FILE_LINES, FUNCTION_LINES, ARGUMENTS = 400, 60, 7


def sources(package: str) -> list[Path]:
    """The modules of a folder, less exhibits, answers and the exam's problems, which are data."""
    files = sorted((ROOT / package).rglob("*.py"))
    written = tuple(ROOT / "data" / name for name in ("exhibits", "answers", "exam"))
    return [path for path in files if not any(map(path.is_relative_to, written))]


def module_name(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(path: Path) -> set[str]:
    """Every module that a file imports, at its top or inside a function; ours by their files."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.relative_to(ROOT)}:{node.lineno} imports relatively"
            found.add(node.module or "")
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    for name in found:
        assert top(name) not in BELOW.keys() - {"kernelwright"}, f"{path}: {name} is ours by a link"
    return {by_file(name) for name in found}


def imported_as(name: str) -> str:
    return name if top(name) == "kernelwright" else f"kernelwright.{name}"


def by_file(name: str) -> str:
    """`kernelwright.rl.train.sft` is rl/train/sft.py; kernelwright/ itself holds the command."""
    inner = name.removeprefix("kernelwright.")
    return inner if top(inner) in BELOW else name


def all_modules() -> list[str]:
    return [module_name(path) for package in BELOW for path in sources(package)]


def top(name: str) -> str:
    return name.partition(".")[0]


@pytest.mark.parametrize("package", BELOW)
def test_imports_only_go_down(package: str) -> None:
    assert sources(package)
    for path in sources(package):
        climbed = {name for name in imported(path) if top(name) in BELOW.keys() - {package}}
        climbed = {name for name in climbed if top(name) not in BELOW[package]}
        assert not climbed, f"{path.relative_to(ROOT)} imports upward: {sorted(climbed)}"


def test_no_modules_import_each_other_in_a_circle_however_late() -> None:
    """Imports inside functions count: a circle that is entered late is one all the same."""
    modules = set(all_modules())
    arrows = {
        module_name(path): (imported(path) & modules) - {module_name(path)}
        for package in BELOW
        for path in sources(package)
    }
    TopologicalSorter(arrows).prepare()


def test_a_page_names_every_file() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    table = page.partition("## Every file in five words")[2].partition("\n## ")[0]
    named: set[Path] = set()
    packages: list[str] = []
    for line in table.splitlines():
        packages = re.findall(r"\*\*(\w+)/\*\*", line) or packages
        for name in re.findall(r"`([^`]+)`", line.rpartition("| ")[0]):
            found = [path for path in (ROOT / p / name for p in packages) if path.exists()]
            found = found or [path for path in [ROOT / name] if path.exists()]
            assert found, f"the page names {name}, which {packages} have not"
            named |= set(found)
    for package in (*BELOW, "scripts"):
        for path in (ROOT / package).iterdir():
            if path.suffix == ".py" or (path / "__init__.py").exists():
                assert path in named or path.name.startswith("__"), (
                    f"docs/architecture.md does not name {path}"
                )


def room(name: str, package: str) -> str:
    """The direct child of a package that a module lies in; folders at the top are children of
    `kernelwright`. Empty for what lies elsewhere."""
    first, _, rest = name.partition(".")
    if package == "kernelwright" and first in BELOW.keys() - {package}:
        return first
    return rest.partition(".")[0] if first == package else ""


def arrows_of(package: str) -> tuple[set[str], set[tuple[str, str]]]:
    """The rooms of a package, and which of them imports which; lazy imports count."""
    paths = [path for top_one in BELOW for path in sources(top_one)]
    rooms = {room(module_name(path), package) for path in paths} - {""}
    arrows = set()
    for path in paths:
        here = room(module_name(path), package)
        there = {room(name, package) for name in imported(path)}
        arrows |= {(here, one) for one in there & rooms - {here} if here}
    return rooms, arrows


@pytest.mark.parametrize("package", ROOMS)
def test_rooms_import_only_from_floors_below(package: str) -> None:
    floor = {one: number for number, row in enumerate(ROOMS[package]) for one in row}
    rooms, arrows = arrows_of(package)
    assert rooms == floor.keys()
    assert not {(a, b) for a, b in arrows if floor[a] <= floor[b]}
    assert len(arrows) <= MOST_ARROWS[package]


def test_no_module_of_the_house_imports_tests_or_scripts() -> None:
    for package in BELOW:
        for path in sources(package):
            outside = {name for name in imported(path) if top(name) in ("tests", "scripts")}
            assert not outside, f"{path.relative_to(ROOT)} imports {sorted(outside)}"


def test_evals_takes_policies_and_model_names_from_rl_and_nothing_that_trains() -> None:
    modules = {module_name(path) for path in sources("rl")}
    for path in sources("evals"):
        taken = {name for name in imported(path) if name in modules} - {"rl"}
        assert taken <= EVALS_MAY_TAKE, f"{path.relative_to(ROOT)} takes {sorted(taken)}"


def test_nobody_imports_a_process_that_runs_torch() -> None:
    for package in BELOW:
        for path in sources(package):
            if not module_name(path).startswith(RUN_TORCH_BY_THEMSELVES):
                taken = imported(path)
                assert not [one for one in taken if one.startswith(RUN_TORCH_BY_THEMSELVES)], path


def test_what_the_sandbox_contains_imports_nothing_else_of_the_house() -> None:
    for path in sources("envs/guest"):
        ours = {name for name in imported(path) if top(name) in BELOW}
        assert all(name.startswith("envs.guest") for name in ours), path.relative_to(ROOT)


@pytest.fixture(scope="module")
def pulled_in() -> dict[str, list[str]]:
    """Module → the heavy packages that were in memory once it had been imported."""
    apart = (*RUN_TORCH_BY_THEMSELVES, *OF_OTHER_LIBRARIES)
    names = [name for name in all_modules() if not name.startswith(apart)]
    names = [imported_as(name) for name in names]
    script = (
        "import importlib, json, sys\n"
        f"seen = {{}}\nfor name in {names!r}:\n"
        "    importlib.import_module(name)\n"
        f"    seen[name] = [one for one in {HEAVY!r} if one in sys.modules]\n"
        "print(json.dumps(seen))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return dict(json.loads(done.stdout))


def test_importing_any_module_loads_none_of_the_training_stack(
    pulled_in: dict[str, list[str]],
) -> None:
    first = next(((name, heavy) for name, heavy in pulled_in.items() if heavy), None)
    assert first is None, f"{first} is the first module that pulls something heavy in"


@pytest.mark.parametrize("package", BELOW)
def test_the_package_that_is_imported_is_the_one_of_this_checkout(package: str) -> None:
    (folder,) = import_module(imported_as(package)).__path__
    assert Path(folder).resolve() == ROOT / package


@pytest.mark.parametrize("package", [one for one in BELOW if one != "kernelwright"])
def test_a_folder_at_the_top_is_no_package_of_its_own(package: str) -> None:
    """With an `__init__.py` it would hide a user's own package of that name, in this folder."""
    assert not (ROOT / package / "__init__.py").exists()
    assert (ROOT / "kernelwright" / package).is_symlink()


def test_there_is_no_python_in_recipes() -> None:
    assert not list((ROOT / "recipes").rglob("*.py"))


def every_file() -> list[Path]:
    return [path for package in (*BELOW, "scripts", "tests") for path in sources(package)]


def _is_command(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether the parameters are the options of a command: those are counted by its users."""
    names = (ast.unparse(one) for one in node.decorator_list)
    return any(".command" in name for name in names)


@pytest.mark.parametrize("path", every_file(), ids=lambda path: str(path.relative_to(ROOT)))
def test_files_and_functions_are_short(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    length = len(text.splitlines())
    assert length <= FILE_LINES
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            given = node.args
            count = len(given.posonlyargs) + len(given.args) + len(given.kwonlyargs)
            count -= bool(given.args) and given.args[0].arg in ("self", "cls")
            assert lines <= FUNCTION_LINES, f"{node.name} has {lines} lines"
            if not _is_command(node):
                assert count <= ARGUMENTS, f"{node.name} has {count} parameters"
