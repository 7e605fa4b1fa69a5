"""A Hub that refuses leaves nothing half done, and no model is taken for another."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kernelwright.evals.hub.publish import publish
from kernelwright.evals.hub.upload import PublishError, Target, Tree, upload
from kernelwright.rl.models.adapter_folder import find_adapter
from kernelwright.rl.models.weights import ModelError
from tests.hub_server import TOKEN, Hub, Repository
from tests.test_publish import THERE, new_folder, run_folder


def test_an_upload_that_the_hub_refuses_leaves_no_empty_repository(
    hub: Hub, tmp_path: Path
) -> None:
    hub.refused_commit = "no space"
    with pytest.raises(PublishError, match=r"the Hub refused me/adapter: "):
        publish(run_folder(new_folder(tmp_path)), THERE, dry_run=False)
    assert not hub.repositories


def test_a_card_that_the_hub_refuses_leaves_no_repository(hub: Hub, tmp_path: Path) -> None:
    hub.refused_card = "license is unknown"
    with pytest.raises(PublishError, match=r"the Hub refused me/adapter: .*license is unknown"):
        publish(run_folder(new_folder(tmp_path)), THERE, dry_run=False)
    assert not hub.repositories


def test_without_a_network_publishing_ends_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    with pytest.raises(PublishError, match=r"^the Hub refused me/adapter: [^\n]*$"):
        publish(run_folder(new_folder(tmp_path)), THERE, dry_run=False)


def test_a_hub_whose_storage_fails_is_one_line(hub: Hub, tmp_path: Path) -> None:
    hub.refused_commit, hub.refused_code = "storage is away", 500
    with pytest.raises(PublishError, match=r"^the Hub refused me/adapter: [^\n]*$"):
        publish(run_folder(new_folder(tmp_path)), THERE, dry_run=False)
    assert not hub.repositories


def test_a_public_repository_is_not_taken_for_a_private_one(hub: Hub, tmp_path: Path) -> None:
    run = run_folder(new_folder(tmp_path))
    publish(run, THERE, dry_run=False)
    with pytest.raises(PublishError, match="public on the Hub: allow that without --private"):
        publish(run, replace(THERE, private=True), dry_run=False)


def test_another_runs_adapter_is_not_overwritten_but_where_that_is_asked_for(
    hub: Hub, tmp_path: Path
) -> None:
    run = run_folder(new_folder(tmp_path))
    publish(run, THERE, dry_run=False)
    publish(run, THERE, dry_run=False)
    weights = run / "checkpoints" / "final" / "adapter_model.safetensors"
    weights.write_bytes(b"others")
    with pytest.raises(PublishError, match=r"has another adapter_model\.safetensors: --replace"):
        publish(run, THERE, dry_run=False)
    files, branches = hub.repositories["me/adapter"].files, hub.repositories["me/adapter"].branches
    publish(run, replace(THERE, revision="second"), dry_run=False)
    publish(run, replace(THERE, revision="second"), dry_run=False)
    assert files[weights.name] == b"weights"
    assert branches["second"][weights.name] == b"others"
    assert "revision=" in branches["second"]["README.md"].decode()
    first, second = find_adapter("me/adapter"), find_adapter("me/adapter@second")
    assert first is not None
    assert second is not None
    assert first.weights_sha256 != second.weights_sha256
    publish(run, replace(THERE, replace=True), dry_run=False)
    assert files[weights.name] == b"others"


@pytest.mark.parametrize("there", ["config.json", "modules/relu.py"])
def test_a_repository_of_another_kind_is_left_alone(hub: Hub, tmp_path: Path, there: str) -> None:
    hub.repositories["me/adapter"] = Repository(private=False, files={there: b""})
    for target in (THERE, replace(THERE, replace=True, revision="second")):
        with pytest.raises(PublishError, match=f"has {there}: give a repository of its own"):
            publish(run_folder(new_folder(tmp_path)), target, dry_run=False)
        shutil.rmtree(tmp_path / "run")
    assert hub.repositories["me/adapter"].files == {there: b""}


@pytest.mark.parametrize("there", ["q8.gguf", "adapter_model.bin"])
def test_weights_in_another_form_are_not_overwritten(hub: Hub, tmp_path: Path, there: str) -> None:
    hub.repositories["me/adapter"] = Repository(private=False, files={there: b"1", "notes": b"2"})
    run = run_folder(new_folder(tmp_path))
    with pytest.raises(PublishError, match=f"has another {there}"):
        publish(run, THERE, dry_run=False)
    publish(run, replace(THERE, replace=True), dry_run=False)
    hub.repositories["me/adapter"].files["own.gguf"] = b"of the same weights"
    publish(run, THERE, dry_run=False)


def test_nothing_is_uploaded_where_one_of_two_repositories_is_refused(
    hub: Hub, tmp_path: Path
) -> None:
    card = tmp_path / "README.md"
    card.write_text("---\nlicense: mit\n---\n")
    hub.repositories["me/taken"] = Repository(private=False, files={"model-1.safetensors": b"1"})
    tree = Tree(folder=tmp_path, message="new", weights=True)
    taken = Target(repo="me/taken")
    with pytest.raises(PublishError, match=r"me/taken has another model-1\.safetensors"):
        upload([(THERE, tree), (taken, tree)])
    assert set(hub.repositories) == {"me/taken"}
    taken = replace(taken, replace=True)
    assert upload([(THERE, tree), (taken, tree)]) == [
        f"{hub.url}/me/adapter",
        f"{hub.url}/me/taken",
    ]


@pytest.mark.parametrize("name", ["refs/pr/1", "", "a b", "../x"])
def test_what_is_no_branch_is_refused(name: str) -> None:
    with pytest.raises(PublishError, match="is no branch"):
        replace(THERE, revision=name)


def test_where_the_hub_does_not_say_whether_it_has_an_adapter_nothing_is_loaded(hub: Hub) -> None:
    """The base alone would be measured under the adapter's name."""
    hub.repositories["me/adapter"] = Repository(private=False)
    assert find_adapter("me/adapter") is None
    hub.forbidden = "come back later"
    with pytest.raises(ModelError, match="me/adapter could not be loaded"):
        find_adapter("me/adapter")
