"""An archive of the repository that lost its links is built to the same wheel and sdist."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("data", "envs", "evals", "recipes", "rewards", "rl")
LEFT_OUT = shutil.ignore_patterns("exhibits", "answers", "__pycache__")
"""A thousand files of one kind, which would only take time here."""


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """The repository's sources, with its links."""
    for name in (*PACKAGES, "kernelwright", "src"):
        shutil.copytree(ROOT / name, tmp_path / name, symlinks=True, ignore=LEFT_OUT)
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, tmp_path)
    return tmp_path


def without_links(folder: Path) -> Path:
    """The folder, with its links turned into text files, as Python's zipfile unpacks them."""
    for path in [*(folder / "src").iterdir(), *(folder / "kernelwright").iterdir()]:
        if path.is_symlink():
            target = path.readlink()
            path.unlink()
            path.write_text(str(target))
    return folder


def contents(builder: type[WheelBuilder] | type[SdistBuilder], folder: Path) -> dict[str, bytes]:
    """Path inside the archive → content, of what the build backend packs."""
    files = builder(str(folder)).recurse_included_files()
    return {one.distribution_path: Path(one.path).read_bytes() for one in files}


@pytest.mark.parametrize("builder", [WheelBuilder, SdistBuilder])
def test_lost_links_change_neither_wheel_nor_sdist(
    builder: type[WheelBuilder] | type[SdistBuilder], checkout: Path
) -> None:
    whole = contents(builder, checkout)
    assert whole == contents(builder, without_links(checkout))


def test_the_wheel_has_every_module_once_below_kernelwright(checkout: Path) -> None:
    packed = contents(WheelBuilder, checkout)
    ours = {f"kernelwright/{path.relative_to(base)}": path for path, base in modules(checkout)}
    assert {name for name in packed if name.endswith(".py")} == ours.keys()
    assert all(packed[name] == path.read_bytes() for name, path in ours.items())


@pytest.mark.parametrize("builder", [WheelBuilder, SdistBuilder])
def test_answers_that_tests_judge_are_not_shipped(
    builder: type[WheelBuilder] | type[SdistBuilder], checkout: Path
) -> None:
    before = contents(builder, checkout)
    (checkout / "data" / "answers").mkdir()
    (checkout / "data" / "answers" / "one.py").touch()
    assert contents(builder, checkout) == before


def modules(checkout: Path) -> list[tuple[Path, Path]]:
    """Every module, and the folder that its path in the package is told from."""
    command = checkout / "kernelwright"
    own = [(path, command) for path in command.rglob("*.py")]  # not through links
    return own + [(path, checkout) for name in PACKAGES for path in (checkout / name).rglob("*.py")]


def test_an_editable_install_points_at_the_folder_with_the_link(checkout: Path) -> None:
    config = WheelBuilder(str(checkout)).config
    assert config.dev_mode_dirs == ["src"]
    assert (checkout / "src" / "kernelwright" / "rl" / "train" / "sft.py").is_file()
