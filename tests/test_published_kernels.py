"""The kernels of a search are published, loaded back and judged again."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernelwright.cli import app
from kernelwright.commands.replay import find_problem
from kernelwright.commands.search_folder import Wanted, search_model
from kernelwright.data.runs.records import RecordStore, read_records
from kernelwright.data.runs.stages import SEARCH, SEARCH_START
from kernelwright.data.suites.load import load_problems
from kernelwright.envs.remote.open_judge import open_judge
from kernelwright.evals.hub.kernels import _names, publish_kernels, write_kernels
from kernelwright.evals.hub.upload import PublishError, Target
from kernelwright.evals.hub.verify_kernels import verify_kernels
from kernelwright.evals.numbers.public_name import public_name
from kernelwright.rl.search.settings import SearchSettings
from tests.given_kernels import Given
from tests.hub_server import Hub
from tests.nouns import RELU_KERNEL, RELU_MODULE

PRIVATE = Target(repo="me/kernels", private=True)
pytestmark = pytest.mark.sandbox
SETTINGS = SearchSettings(
    dialect="cpp", budget=2, batch=2, max_new_tokens=64, temperature=1.0, versions={}
)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A search of one module, whose answers are a right kernel, half of a surrogate pair in it, and
    a wrong one."""
    root = tmp_path_factory.mktemp("search")
    (root / "1_Relu |x|.py").write_text(RELU_MODULE.replace("4000", "400000"), encoding="utf-8")
    right = f"```cpp\n// \ud800{RELU_KERNEL}```"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Given, "__post_init__", lambda _: None)
        patch.setattr(Given, "one", lambda _, __, n: right.replace("> 0", "> 1") if n else right)
        wanted = Wanted(
            model=f"tests.given_kernels:{root}",
            suite=load_problems(str(root / "1_Relu |x|.py")),
            mode="best_of_n",
            settings=SETTINGS,
        )
        search_model(wanted, root / "run", judges=partial(open_judge, 1))
    return root / "run"


def test_kernels_are_uploaded_and_the_code_on_their_card_runs_them(
    found: Path, hub: Hub, capsys: pytest.CaptureFixture[str]
) -> None:
    url = publish_kernels(found, PRIVATE, "MIT", dry_run=False)
    assert url == f"{hub.url}/me/kernels"
    files = hub.repositories["me/kernels"].files
    name = "_1_Relu_x"
    kernels = {f"kernels/{name}.cpp", f"kernels/{name}.py", f"modules/{name}.py"}
    assert set(files) == {"README.md", *kernels}
    assert files[f"kernels/{name}.cpp"].decode().startswith("// ?\n")
    assert (found / "best" / "1_Relu%20%7Cx%7C.cpp").read_text().startswith("// ?\n")
    card = files["README.md"].decode()
    assert card.startswith("---\nlicense: mit\n")
    assert "| `_1_Relu_x` | 1_Relu x |" in card
    assert "1 of 2 |" in card
    assert "what was not correct: 1 wrong (mismatch)" in card
    assert "| cpu | " in card
    assert str(found.parent) not in "".join(one.decode() for one in files.values())
    code = re.search(r"^~~~~python\n(.*?)^~~~~$", card, re.DOTALL | re.MULTILINE)
    assert code is not None
    exec(compile(code[1], "card", "exec"), {})
    assert "tensor(" in capsys.readouterr().out
    files["adapter_config.json"] = b"{}"
    with pytest.raises(
        PublishError, match=r"has adapter_config\.json: give a repository of its own"
    ):
        publish_kernels(found, PRIVATE, "MIT", dry_run=False)


def test_a_published_kernel_is_judged_again_from_its_own_files(found: Path) -> None:
    tree = write_kernels(found, PRIVATE, "MIT")
    module, kernel = tree / "modules" / "_1_Relu_x.py", tree / "kernels" / "_1_Relu_x.cpp"
    ran = CliRunner().invoke(app, ["judge", str(module), str(kernel)])
    assert (ran.exit_code, ran.output[:12]) == (0, "correct (ok)")


def test_published_kernels_are_judged_again_from_what_was_downloaded(found: Path, hub: Hub) -> None:
    words = ["publish", str(found), "--to", "me/verified", "--licence", "MIT", "--verify"]
    for more in ([], ["--revision", "second"], ["--dry-run"]):
        done = CliRunner().invoke(app, [*words, *more])
        assert done.exit_code == 0, done.output
        assert "_1_Relu_x · correct (ok)" in done.output
    repository = hub.repositories["me/verified"]
    files = repository.branches["second"]
    module = files["modules/_1_Relu_x.py"]
    files["modules/_1_Relu_x.py"] = module.replace(b"torch.relu(x)", b"torch.tanh(x)")
    repository.commits.append("another module")
    where = "me/verified@second"
    (again,) = verify_kernels(found, where, partial(open_judge, 1))
    assert (again.evaluation.verdict, again.holds) == ("wrong", False)
    files["modules/_1_Relu_x.py"] = module
    files["kernels/_1_Relu_x.cpp"] += b"// another\n"
    repository.commits.append("another kernel")
    with pytest.raises(PublishError, match="another kernel for _1_Relu_x: publish it again"):
        verify_kernels(found, where, partial(open_judge, 1))
    del files["kernels/_1_Relu_x.cpp"]
    repository.commits.append("no kernel")
    with pytest.raises(PublishError, match=r"@second lacks kernels/_1_Relu_x\.cpp"):
        verify_kernels(found, where, partial(open_judge, 1))


def test_the_record_of_a_search_of_one_module_finds_its_problem(found: Path) -> None:
    (record, *_) = read_records(found)
    assert find_problem(found, record).key == record.problem_key


def test_what_is_missing_or_for_runs_alone_is_one_line(found: Path, tmp_path: Path) -> None:
    with pytest.raises(PublishError, match=r"1_Relu \|x\| names no licence: give --licence"):
        write_kernels(found, PRIVATE)
    with pytest.raises(PublishError, match="is no search"):
        write_kernels(tmp_path, PRIVATE, "MIT")
    words = ["publish", str(found), "--to", "me/kernels", "--dry-run", "--licence", "MIT"]
    refused = CliRunner().invoke(app, [*words, "--merged"])
    assert (refused.exit_code, refused.output.count("\n")) == (2, 1)
    assert "are for a run's adapter" in refused.output
    done = CliRunner().invoke(app, words)
    assert (done.exit_code, done.output) == (0, f"{found / 'publish'}\n")
    done = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "mine")])
    assert (done.exit_code, done.output) == (0, f"{tmp_path / 'mine'}\n")
    refused = CliRunner().invoke(app, [*words, "--out", str(tmp_path / "mine")])
    assert "is not empty: name a new folder" in refused.output


def test_a_search_without_a_correct_kernel_or_of_another_module_is_not_published(
    found: Path, tmp_path: Path
) -> None:
    question = json.loads((found / "search.json").read_text())
    (tmp_path / "search.json").write_text(json.dumps(question))
    with pytest.raises(PublishError, match="has not ended: --resume goes on"):
        write_kernels(tmp_path, PRIVATE, "MIT")
    (tmp_path / "results.json").write_text("{}")
    wrong = [one for one in read_records(found) if one.evaluation.verdict == "wrong"]
    RecordStore(tmp_path).append(wrong)
    with pytest.raises(PublishError, match="found no correct kernel"):
        write_kernels(tmp_path, PRIVATE, "MIT")
    right = [one for one in read_records(found) if one.evaluation.verdict == "correct"]
    RecordStore(tmp_path).append(replace(one, problem_key="0123") for one in right)
    with pytest.raises(PublishError, match="is not what it was"):
        write_kernels(tmp_path, PRIVATE, "MIT")


def test_a_kernel_that_a_search_was_given_is_not_published_as_found(
    found: Path, tmp_path: Path
) -> None:
    for name in ("search.json", "results.json"):
        (tmp_path / name).write_bytes((found / name).read_bytes())
    given = [replace(one, stage=SEARCH_START) for one in read_records(found)]
    RecordStore(tmp_path).append(given)
    with pytest.raises(PublishError, match="but for those that it was given"):
        write_kernels(tmp_path, PRIVATE, "MIT")


def test_a_card_says_for_what_no_kernel_was_found_and_for_what_none_better_than_the_given_one(
    found: Path, tmp_path: Path
) -> None:
    for name in ("search.json", "results.json"):
        (tmp_path / name).write_bytes((found / name).read_bytes())
    records = read_records(found)
    (right, wrong) = sorted(
        (one for one in records if one.stage == SEARCH), key=lambda one: one.evaluation.verdict
    )
    others = [
        replace(right, stage=SEARCH_START, row=8, problem="kept", problem_key="8"),
        replace(wrong, row=9, problem="kept", problem_key="8"),
        replace(wrong, row=10, problem="unsolved", problem_key="9"),
    ]
    RecordStore(tmp_path).append([*records, *others])
    card = (write_kernels(tmp_path, PRIVATE, "MIT") / "README.md").read_text(encoding="utf-8")
    assert "No kernel was found for unsolved.\n" in card
    assert "None better than the kernel that the search was given was found for kept.\n" in card


def test_a_question_of_another_version_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "search.json").write_text('{"question": {"model": "m"}}')
    with pytest.raises(PublishError, match="is no search of this version"):
        write_kernels(tmp_path, PRIVATE, "MIT")


def test_names_of_files_differ_on_any_disk_and_are_names_in_python() -> None:
    names = _names(iter(["a b", "a-b", "a_b_", "A.B", "lambda", "math", "1/x", "ß"]))
    assert names == ["a_b", "a_b_", "a_b__", "A_B___", "lambda_", "math_", "_1_x", "kernel"]


def test_no_path_and_no_address_is_published_as_a_models_name(tmp_path: Path) -> None:
    assert public_name("openai:gpt@http://me:pw@10.0.0.5:8000/v1") == "gpt"
    assert public_name("/home/me/secret/model") == "model"
    assert public_name("runs/mine") == "mine"
    assert public_name("transformers:/home/me/secret/model") == "model"
    assert public_name("smollm2-135m") == "HuggingFaceTB/SmolLM2-135M-Instruct"
    assert public_name("me/model") == "me/model"
