"""However it is installed, there is one name for our packages, and a user's own keep theirs."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.sandbox

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("data", "envs", "evals", "rewards", "rl")
WAYS = ("wheel", "sdist", "editable", "checkout")
HONEST = ROOT / "data" / "exhibits" / "honest" / "dot_product"
SOURCES = (*NAMES, "kernelwright", "recipes", "src", "pyproject.toml", "README.md", "LICENSE")
BOTH = """
import data, envs, evals, rewards, rl
import kernelwright.data.suites.load, kernelwright.rl.recipe.schema
import kernelwright.evals.numbers.metrics
assert {one.__name__: one.OWNER for one in (data, envs, evals, rewards, rl)} == dict.fromkeys(
    ("data", "envs", "evals", "rewards", "rl"), "the user")
assert not [name for name in sys.modules if name.startswith(("kernelwright.src", "src"))]
print(kernelwright.rl.recipe.schema.__file__)
"""


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository's sources, with its links, where nothing has been built."""
    copy = tmp_path_factory.mktemp("checkout")
    for name in SOURCES:
        here = ROOT / name
        if here.is_dir():
            shutil.copytree(here, copy / name, symlinks=True)
        else:
            shutil.copy(here, copy)
    return copy


def hatchling(checkout: Path, target: str, out: Path) -> Path:
    """What the build backend makes of it: `wheel`, `sdist`, or `editable`."""
    program = f"import sys, hatchling.build as b; print(b.build_{target}(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", program, str(out)],
        cwd=checkout,
        capture_output=True,
        text=True,
        check=True,
    )
    return out / done.stdout.split()[-1]


@pytest.fixture(scope="module", params=WAYS)
def python(
    request: pytest.FixtureRequest, checkout: Path, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """An environment's interpreter that finds this project as it was installed in one way.

    What it depends on is found where it is, behind it on the path.
    """
    folder = tmp_path_factory.mktemp(request.param)
    venv.create(folder / "venv", with_pip=True, symlinks=True)
    (site,) = (folder / "venv").glob("lib/*/site-packages")
    interpreter = folder / "venv" / "bin" / "python"
    if request.param == "checkout":
        (site / "checkout.pth").write_text(f"{checkout / 'src'}\n")
    else:
        built = made(request.param, checkout, folder)
        install = [str(interpreter), "-m", "pip", "install", "--quiet", "--no-deps", str(built)]
        subprocess.run([*install, "--no-index"], check=True, capture_output=True)
    (site / "zz_dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n")
    return interpreter


def made(way: str, checkout: Path, folder: Path) -> Path:
    """The wheel that pip installs: of the checkout, of its sdist, or one that points at it."""
    if way != "sdist":
        return hatchling(checkout, way, folder)
    with tarfile.open(hatchling(checkout, "sdist", folder)) as archive:
        archive.extractall(folder, filter="data")
    (unpacked,) = folder.glob("kernelwright-*/")
    return hatchling(unpacked, "wheel", folder)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A user's project, which has packages of the same names as our folders."""
    for name in NAMES:
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").write_text("OWNER = 'the user'\n")
    return tmp_path


def run(python: Path, *words: str, cwd: Path, **said: str) -> str:
    kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment = {**kept, **said}
    done = subprocess.run(
        [str(python), *words], cwd=cwd, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


def test_our_packages_and_a_users_of_the_same_names_live_side_by_side(
    python: Path, project: Path, checkout: Path
) -> None:
    place = run(python, "-c", f"import sys\n{BOTH}", cwd=project)
    inside = python.parents[1] if "site-packages" in place else checkout
    assert Path(place.strip()).is_relative_to(inside)


def test_a_kernel_is_judged_and_a_recipe_is_started_by_its_name_from_the_users_project(
    python: Path, project: Path
) -> None:
    """The judge's processes, its sandbox, the suite and the recipes are all found."""
    dry = ("-m", "kernelwright", "train", "quickstart", "--dry-run")
    told = run(python, *dry, cwd=project, KERNELWRIGHT_CACHE=str(project / "no model is here"))
    assert "runs/quickstart" in told
    kernel = sorted(HONEST.glob("*.cpp"))[0]
    judge = ("judge", str(HONEST / "problem.py"), str(kernel), "--json")
    assert (
        json.loads(run(python, "-m", "kernelwright", *judge, cwd=project))["verdict"] == "correct"
    )


def test_no_folder_of_ours_is_a_package_of_its_own_once_installed(
    python: Path, project: Path
) -> None:
    bare = project / "elsewhere"
    bare.mkdir()
    program = (
        "from importlib.util import find_spec\n"
        f"print([name for name in {NAMES!r} + ('recipes', 'tests', 'scripts') if find_spec(name)])"
    )
    assert run(python, "-c", program, cwd=bare) == "[]\n"
