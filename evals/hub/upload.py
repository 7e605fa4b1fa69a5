"""Uploads folders to repositories of the Hub."""

from __future__ import annotations

import hashlib
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from kernelwright.evals.numbers.public_name import REPOSITORY

if TYPE_CHECKING:
    from huggingface_hub import HfApi

MAIN, BRANCH = "main", r"\w[\w.-]*"
WEIGHTS = ("*.safetensors", "*.bin", "*.gguf")
"""Files of weights, in whatever form."""
Kind = Literal["model", "dataset"]


class PublishError(ValueError):
    """What keeps a folder from being published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A folder to upload, with its card, and what it may take the place of.

    Files of the repository that fit a pattern of `replaced` and are not in the folder are deleted.
    A repository that has a file like those of `unlike` holds something of another kind. Where the
    folder has `weights`, one that has others holds another model.
    """

    folder: Path
    message: str
    replaced: tuple[str, ...] = ()
    unlike: tuple[str, ...] = ()
    weights: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A repository, made where there is none, its branch, and who may read it.

    `replace` lets a model take the place of another one.
    """

    repo: str
    kind: Kind = "model"
    private: bool = False
    revision: str = MAIN
    replace: bool = False

    def __post_init__(self) -> None:
        if not re.fullmatch(REPOSITORY, self.repo):
            raise PublishError(f"{self.repo!r} is no Hub repository: give owner/name")
        if not re.fullmatch(BRANCH, self.revision):
            raise PublishError(f"{self.revision!r} is no branch: give a name such as second")

    @property
    def name(self) -> str:
        """What loads it: owner/name, and the branch where it has one of its own."""
        return self.repo if self.revision == MAIN else f"{self.repo}@{self.revision}"

    def check(self, api: HfApi, tree: Tree) -> bool:
        """Whether the repository is there. Raises PublishError where the Hub refuses the card, or
        the repository is not this one's to fill."""
        from huggingface_hub import RepoCard

        RepoCard.load(tree.folder / "README.md").validate(repo_type=self.kind)
        there: bool = api.repo_exists(self.repo, repo_type=self.kind)
        if there:
            self._refuse_readers(api)
            self._refuse_others(api, tree)
        return there

    def upload(self, api: HfApi, tree: Tree, *, there: bool) -> str:
        """Uploads every file of the folder; returns the repository's address.

        A new repository whose upload fails is deleted, so that no empty one is left.
        """
        where: dict[str, str] = {"repo_id": self.repo, "repo_type": self.kind}
        url = api.create_repo(**where, exist_ok=there, private=self.private)
        try:
            if self.revision != MAIN:
                api.create_branch(**where, branch=self.revision, exist_ok=True)
            api.upload_folder(
                **where,
                revision=self.revision,
                folder_path=tree.folder,
                commit_message=tree.message,
                delete_patterns=list(tree.replaced) or None,
            )
        except Exception:
            if not there:  # nothing is in it
                with suppress(Exception):
                    api.delete_repo(**where, missing_ok=True)
            raise
        return str(url) if self.revision == MAIN else f"{url}/tree/{self.revision}"

    def _refuse_readers(self, api: HfApi) -> None:
        """A repository that was there before keeps its readers: none may be new to its owner."""
        private = api.repo_info(self.repo, repo_type=self.kind).private
        if self.private and not private:
            allowed = {"dataset": "with --public", "model": "without --private"}[self.kind]
            raise PublishError(f"{self.repo} is public on the Hub: allow that {allowed}")
        if self.kind == "dataset" and private and not self.private:
            raise PublishError(
                f"{self.repo} is private on the Hub, and stays so: open it there first, or leave "
                "--public out"
            )

    def _refuse_others(self, api: HfApi, tree: Tree) -> None:
        """What is there may be of another kind, or another model."""
        branches = {one.name for one in api.list_repo_refs(self.repo, repo_type=self.kind).branches}
        known = self.revision in branches
        revision = self.revision if known else MAIN  # from which a new branch begins
        files = api.list_repo_files(self.repo, repo_type=self.kind, revision=revision)
        if other := [one for one in files if any(fnmatch(one, like) for like in tree.unlike)]:
            raise PublishError(f"{self.repo} has {other[0]}: give a repository of its own")
        if tree.weights and known and not self.replace and (file := self._alien(tree, files)):
            raise PublishError(
                f"{self.repo} has another {file}: --replace puts this one in its place, and "
                "--revision NAME in a branch beside it"
            )

    def _alien(self, tree: Tree, files: Sequence[str]) -> str | None:
        """A file of weights that this model does not have; None where the repository is its own.

        Other forms of the same weights, as GGUF, lie beside a file that is the same.
        """
        top = [one for one in files if "/" not in one]
        there = [one for one in top if any(fnmatch(one, like) for like in WEIGHTS)]
        same = {one for one in there if self._sha256(one) == sha256_of(tree.folder / one)}
        others = [one for one in there if one.endswith(".safetensors") and one not in same]
        return next(iter(others or (() if same else there)), None)

    def _sha256(self, file: str) -> str | None:
        """Of a file that is there: the Hub's tag of a large one."""
        from huggingface_hub import get_hf_file_metadata, hf_hub_url

        url = hf_hub_url(self.repo, file, repo_type=self.kind, revision=self.revision)
        found: str | None = get_hf_file_metadata(url).etag
        return found


def upload(pairs: Sequence[tuple[Target, Tree]]) -> list[str]:
    """Uploads each folder to its repository, after all of them were looked at; their addresses.

    Raises PublishError, in one line, which says what was uploaded before.
    """
    from huggingface_hub import HfApi

    api, done = HfApi(), list[str]()
    there = []
    for target, tree in pairs:
        with _in_one_line(target, done):
            there.append(target.check(api, tree))
    for (target, tree), known in zip(pairs, there, strict=True):
        with _in_one_line(target, done):
            done.append(target.upload(api, tree, there=known))
    return done


@contextmanager
def _in_one_line(target: Target, done: Sequence[str]) -> Iterator[None]:
    try:
        yield
    except PublishError:
        raise
    except Exception as error:  # the client's transport has errors of its own, by its version
        line = str(error).strip().partition("\n")[0] or type(error).__name__
        before = f" (uploaded before: {', '.join(done)})" if done else ""
        raise PublishError(f"the Hub refused {target.repo}: {line}{before}") from error


def sha256_of(file: Path) -> str | None:
    """None where the file is not there."""
    if not file.is_file():
        return None
    with file.open("rb") as opened:
        return hashlib.file_digest(opened, "sha256").hexdigest()


def fresh(out: Path | None, usual: Path) -> Path:
    """An empty folder to publish from: `out`, which is new or empty, else the usual one.

    Raises PublishError.
    """
    if out is None:
        shutil.rmtree(usual, ignore_errors=True)
    elif out.is_file() or (out.is_dir() and any(out.iterdir())):
        raise PublishError(f"{out} is not empty: name a new folder")
    tree = usual if out is None else out
    tree.mkdir(parents=True, exist_ok=True)
    return tree


def write_card(tree: Path, card: str) -> None:
    """Writes what the Hub shows."""
    (tree / "README.md").write_text(card, encoding="utf-8", errors="replace")


def require_token() -> None:
    """Raises PublishError where nobody is logged in to the Hub."""
    from huggingface_hub import get_token

    if get_token() is None:
        raise PublishError("no Hub token: run `hf auth login` or set HF_TOKEN, or use --dry-run")
