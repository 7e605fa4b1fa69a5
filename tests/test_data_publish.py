"""`kernelwright data publish`: nothing unfit is uploaded, and what is comes back as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from kernelwright.data.exports.contents import read_contents
from kernelwright.data.exports.write import card, export
from kernelwright.data.graphs.signature import Twins, signature
from kernelwright.data.importers.exams import Exams
from kernelwright.data.suites.load import load_suite
from kernelwright.data.suites.row_folder import Done, RowFolder
from kernelwright.envs.reference.module_facts import learn_shapes
from kernelwright.envs.types import Verdict
from kernelwright.evals.hub.data_set import REPLACED, publish_data
from kernelwright.evals.hub.fit import Export, against
from kernelwright.evals.hub.upload import PublishError, Target, Tree, upload
from tests.command import ROOT
from tests.hub_server import TOKEN, Hub, a_hub
from tests.nouns import RELU_MODULE
from tests.test_data_diff import right

datasets = pytest.importorskip("datasets", reason="needs the extra data")

Cells = dict[str, Any]
REPO = "me/kernels"


@pytest.fixture(scope="module")
def clean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export of drawn rows of which none is a twin of the exam."""
    where, out = (tmp_path_factory.mktemp(name) for name in ("rows", "export"))
    rows = RowFolder(where)
    rows.open({"command": "data build", "seed": 0, "exclude": ["exam"]})
    twins = Twins.of(load_suite("exam").problems)
    found = [right(index) for index in range(8)]
    learn_shapes(row.problem for row in found)
    for index, row in enumerate(found):
        if signature(row.problem) not in twins.known:
            rows.add([Done(id=f"{index:05d}", rows=(row,))])
    export(read_contents(where), out)
    return out


@pytest.fixture
def hub() -> Iterator[Hub]:
    with a_hub() as found:
        yield found


def with_hub(hub: Hub, home: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """Runs Python where that Hub is the one that the client knows."""
    ours = {"HF_ENDPOINT": hub.url, "HF_TOKEN": TOKEN, "HF_HOME": str(home)}
    return subprocess.run(
        [sys.executable, *words],
        env={**os.environ, **ours},
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


SNAPSHOT = f"import huggingface_hub as h; print(h.snapshot_download({REPO!r}, repo_type='dataset'))"


@pytest.mark.slow
def test_an_export_comes_back_from_the_hub_as_it_was(clean: Path, hub: Hub, tmp_path: Path) -> None:
    done = with_hub(hub, tmp_path, "-m", "kernelwright", "data", "publish", str(clean), REPO)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"{hub.url}/datasets/{REPO}"
    repository = hub.repositories[REPO]
    assert repository.private
    assert repository.commits == ["Publish a data set"]
    ours = {one.name: one.read_bytes() for one in clean.iterdir()}
    assert {**repository.files, "README.md": ours["README.md"]} == ours
    card = repository.files["README.md"].decode()
    assert f'load_dataset("{REPO}", ' in card
    assert "REPOSITORY" not in card
    assert b'"REPOSITORY"' in ours["README.md"], "the export stays as it was"
    folder = with_hub(hub, tmp_path, "-c", SNAPSHOT).stdout.strip()
    for name, rows in Export.read(clean).tables.items():
        back = datasets.load_dataset(folder, name, split="train", cache_dir=str(tmp_path / "c"))
        assert back.to_list() == list(rows)


def test_a_repository_has_the_readers_and_files_that_were_asked_for(
    clean: Path, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", hub.url)
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    private, public = (Target(repo=REPO, kind="dataset", private=one) for one in (True, False))
    one, two, three, four = (
        Tree(folder=clean, message=name, replaced=REPLACED)
        for name in ("one", "two", "three", "four")
    )
    assert upload([(public, one)]) == [f"{hub.url}/datasets/{REPO}"]
    repository = hub.repositories[REPO]
    assert not repository.private
    repository.files["old.parquet"] = repository.files[".gitattributes"] = b""
    with pytest.raises(PublishError, match="me/kernels is public on the Hub"):
        upload([(private, two)])
    assert "old.parquet" in repository.files
    upload([(public, three)])
    assert set(repository.files) == {one.name for one in clean.iterdir()} | {".gitattributes"}
    assert repository.commits == ["one", "three"]
    repository.private = True
    with pytest.raises(PublishError, match="me/kernels is private on the Hub, and stays so"):
        upload([(public, four)])
    repository.private = False
    monkeypatch.setenv("HF_TOKEN", "hf_wrong")
    with pytest.raises(PublishError, match=r"^the Hub refused me/kernels: "):
        upload([(public, four)])
    assert repository.commits == ["one", "three"]


def changed(clean: Path, out: Path, table: str, change: Callable[[Cells], Cells]) -> Export:
    """The export with another first row in a table."""
    out.mkdir()
    for one in clean.iterdir():
        (out / one.name).write_bytes(one.read_bytes())
    first, *others = Export.read(clean).tables[table]
    rows = [change(dict(first)), *others]
    datasets.Dataset.from_list(rows).to_parquet(out / f"{table}.parquet")
    return Export.read(out)


@pytest.mark.parametrize(
    ("table", "change", "said"),
    [
        ("problems", {"licence": " None "}, "1 problems without a licence: 0000"),
        ("problems", {"licence": "GPL-3.0"}, "the card says license: apache-2.0, its rows other"),
        ("samples", {"licence": ""}, "1 answers without a licence: "),
        ("samples", {"licence": "GPL-3.0"}, "the card says license: apache-2.0, its rows other"),
        ("problems", {"source": "KernelBench level1"}, "1 problems of an exam: 0000"),
        ("problems", {"problem": "other"}, "rows whose problem, and so licence, is not in"),
        ("samples", {"verdict": None}, "1 answers that no judge has seen: "),
        ("samples", {"verdict": Verdict.UNJUDGED}, "1 answers that no judge has seen: "),
        ("sft", {"sample": "other"}, "1 examples whose answer was not judged correct: other"),
    ],
)
def test_each_thing_against_publishing_is_found(
    clean: Path, tmp_path: Path, table: str, change: Cells, said: str
) -> None:
    out = tmp_path / "out"
    found = changed(clean, out, table, lambda row: row | change)
    reasons = against(found, exams=Exams())
    assert any(said in line for line in reasons), reasons
    with pytest.raises(PublishError, match="is not published: "):
        publish_data(out, REPO, public=False, dry_run=True, exams=Exams())


def test_a_problem_of_the_exam_is_refused_whatever_its_names_are(
    clean: Path, tmp_path: Path
) -> None:
    code = load_suite("exam").problems[0].code + "\n# mine\n"
    found = changed(clean, tmp_path / "out", "problems", lambda row: row | {"code": code})
    assert [
        line
        for line in against(found, Exams.of(["exam"]))
        if line.startswith("1 problems of an exam")
    ]


@pytest.mark.sandbox
def test_a_problem_of_a_suite_too_large_for_this_machine_is_refused(
    clean: Path, tmp_path: Path
) -> None:
    (tmp_path / "suite").mkdir()
    large = RELU_MODULE.replace("4000", str(10**13))
    (tmp_path / "suite" / "relu.py").write_text(large, encoding="utf-8")
    exams = Exams.of([f"modules:{tmp_path / 'suite'}"])
    assert not exams.twins.said()
    code = RELU_MODULE.replace("torch.relu(x)", "x.relu()")
    sizes = json.dumps([{"name": "time", "sizes": [["N", 8]]}])
    twin = {"code": code, "cases": sizes}
    found = changed(clean, tmp_path / "out", "problems", lambda row: row | twin)
    assert [line for line in against(found, exams) if line.startswith("1 problems of an exam")]


def test_a_folder_that_is_no_whole_export_is_told(clean: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"has no README.md"):
        Export.read(tmp_path)
    out = tmp_path / "out"
    changed(clean, out, "sft", lambda row: row)
    (out / "notes.txt").write_text("mine", encoding="utf-8")
    assert against(Export.read(out), exams=Exams()) == [
        "1 files that the card does not name: notes.txt"
    ]
    (out / "prefs.parquet").unlink(missing_ok=True)
    (out / "sft.parquet").unlink()
    with pytest.raises(ValueError, match=r"lacks sft.parquet"):
        Export.read(out)


@pytest.mark.parametrize(
    ("head", "said"),
    [
        ("a: [b", "its front matter is not YAML (while parsing"),
        ("[" * 20_000, "its front matter is not YAML"),
        *(
            (f"configs: [{{config_name: a{files}}}]", "its configs name no files as those of")
            for files in ("", ", data_files: data/*.parquet", ", data_files: [{path: [a, b]}]")
        ),
        ("configs: 1", "its configs name no files as those of"),
    ],
)
def test_a_card_that_an_export_did_not_write_is_told_in_a_line(
    tmp_path: Path, head: str, said: str
) -> None:
    (tmp_path / "README.md").write_text(f"---\n{head}\n---\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"^README\.md: ") as told:
        Export.read(tmp_path)
    assert said in str(told.value)
    assert "\n" not in str(told.value)


def test_a_card_names_no_folder_of_this_machine(tmp_path: Path) -> None:
    rows = RowFolder(tmp_path)
    made = {
        "exclude": ["exam", "kernelbench:/home/me/bench"],
        "source": "kernelbook:/home/me/f.json",
    }
    rows.open(made)
    rows.add([Done(id="00000", rows=(right(0),))])
    page = card(read_contents(tmp_path), {"sft": 1})
    assert "/home/me" not in page
    assert '"kernelbench:bench"' in page
    assert '"kernelbook:f.json"' in page
    assert yaml.safe_load(page.split("---\n")[1])["license"] == "apache-2.0"
