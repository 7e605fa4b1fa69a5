"""`kernelwright recipes`: what it lists, writes and accepts is what training starts from."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.recipe.resolve import SHIPPED, resolve

SHIPPED_FILES = sorted(SHIPPED.glob("*.yaml"))


def recipes(*words: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["recipes", *words])
    return done.exit_code, done.output


def test_every_recipe_is_listed_with_a_sentence_and_passes_the_check() -> None:
    code, told = recipes("list", "--json")
    listed = json.loads(told)
    assert code == 0
    assert listed.keys() == {one.stem for one in SHIPPED_FILES}
    assert all(10 < len(one) < 160 and "line above" not in one for one in listed.values())
    code, told = recipes("check", *map(str, SHIPPED_FILES))
    assert (code, told.count(": ok\n")) == (0, len(SHIPPED_FILES))


def test_all_mistakes_of_all_files_are_told_with_their_lines(tmp_path: Path) -> None:
    one, other = tmp_path / "a.yaml", tmp_path / "b.yaml"
    one.write_text("extends: quickstart\ngrpo:\n  stepz: 3\n  group_size: x\n")
    other.write_text("out: rows\ncounts: 3\n")
    code, told = recipes("check", str(one), str(other))
    assert code == 2
    for place in ("a.yaml:3:3: grpo.stepz: unknown key", "a.yaml:4:3", "b.yaml:2:1: counts"):
        assert place in told


def test_a_new_recipe_has_its_values_and_starts_as_the_shipped_ones_do(tmp_path: Path) -> None:
    file = tmp_path / "mine.yaml"
    code, told = recipes("new", str(file), "--from", "kevin", "grpo.steps=4")
    assert (code, told) == (0, f"accelerate launch {file}\n")
    assert file.read_text().splitlines()[0] == (SHIPPED / "kevin.yaml").read_text().splitlines()[0]
    compile(file.read_text(), str(file), "exec")
    found = resolve(file)
    assert (found.recipe.name, found.recipe.grpo.steps) == ("mine", 4)
    assert found.origins["grpo", "steps"].startswith(str(file))
    assert recipes("new", str(file)) == (2, f"{file}: there is one already\n")


@pytest.mark.parametrize("stem", ["my recipe", "größe", "核", "_", "3"])
def test_a_new_recipe_has_a_name_that_it_may_have_whatever_its_file_is_called(
    tmp_path: Path, stem: str
) -> None:
    file = tmp_path / f"{stem}.yaml"
    assert recipes("new", str(file))[0] == 0
    assert recipes("check", str(file)) == (0, f"{file}: ok\n")


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--from", "quickstrat"], "cannot read quickstrat"),
        (["grpo.stepz=3"], "grpo.stepz: unknown key; did you mean 'steps'?"),
    ],
)
def test_a_new_recipe_that_would_not_start_is_not_written(
    words: list[str], told: str, tmp_path: Path
) -> None:
    code, said = recipes("new", str(tmp_path / "x.yaml"), *words)
    assert code == 2
    assert told in said
    assert not (tmp_path / "x.yaml").exists()


def test_the_values_of_a_recipe_are_shown_with_where_they_come_from() -> None:
    code, told = recipes("show", "kevin", "seed=4")
    lines = told.splitlines()
    assert code == 0
    assert any(one.startswith("seed: 4 ") and one.endswith("# command line") for one in lines)
    assert any("kevin.yaml" in one and one.startswith("name: kevin") for one in lines)


def test_a_recipe_of_a_data_set_is_shown_too_whatever_folder_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    code, told = recipes("show", "data", "seed=4")
    assert code == 0
    assert re.search(r"^seed: 4 +# command line$", told, re.MULTILINE)
    assert re.search(r"^count: .*data\.yaml", told, re.MULTILINE)
    assert recipes("check", "data") == (0, "data: ok\n")


def test_the_schema_knows_every_key_and_the_first_line() -> None:
    found = json.loads(recipes("schema")[1])
    shown = resolve(Path("quickstart")).recipe.model_dump(mode="json")
    assert shown.keys() <= found["properties"].keys()
    assert found["additionalProperties"] is False
    assert {"extends"} <= found["properties"].keys()
    assert list(found["patternProperties"]) == ["^if __name__"]
