"""Uploads a folder to a repository of the Hub, in one commit."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from huggingface_hub import HfApi

REPOSITORY = r"[\w-][\w.-]*/[\w-][\w.-]*"
"""A repository of the Hub: owner/name."""
Kind = Literal["model", "dataset"]


class PublishError(ValueError):
    """What keeps a folder from being published."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """A repository, made where there is none, and who may read it."""

    repo: str
    kind: Kind
    private: bool

    def __post_init__(self) -> None:
        if not re.fullmatch(REPOSITORY, self.repo):
            raise PublishError(f"{self.repo!r} is no Hub repository: give owner/name")

    def upload(self, tree: Path, message: str, replaced: tuple[str, ...] = ()) -> str:
        """Uploads every file of a folder; returns the repository's URL.

        The Hub looks at the card first, so that no empty repository is left where it refuses that.
        Files of the repository that fit a pattern of `replaced` and are not in the folder are
        deleted. Raises PublishError, in one line.
        """
        from huggingface_hub import HfApi, RepoCard

        api = HfApi()
        try:
            RepoCard.load(tree / "README.md").validate(repo_type=self.kind)
            url = api.create_repo(
                self.repo, repo_type=self.kind, exist_ok=True, private=self.private
            )
            self._refuse_readers(api)
            api.upload_folder(
                repo_id=self.repo,
                repo_type=self.kind,
                folder_path=tree,
                commit_message=message,
                delete_patterns=list(replaced) or None,
            )
        except PublishError:
            raise
        except Exception as error:  # the client's transport has errors of its own, by its version
            line = str(error).strip().partition("\n")[0] or type(error).__name__
            raise PublishError(f"the Hub refused {self.repo}: {line}") from error
        return str(url)

    def _refuse_readers(self, api: HfApi) -> None:
        """A repository that was there before keeps its readers: none may be new to its owner."""
        if self.private and not api.repo_info(self.repo, repo_type=self.kind).private:
            allowed = {"dataset": "with --public", "model": "without --private"}[self.kind]
            raise PublishError(f"{self.repo} is public on the Hub: allow that {allowed}")


def require_token() -> None:
    """Raises PublishError where nobody is logged in to the Hub."""
    from huggingface_hub import get_token

    if get_token() is None:
        raise PublishError("no Hub token: run `hf auth login` or set HF_TOKEN, or use --dry-run")
