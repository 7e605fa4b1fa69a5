"""Publishes the export of a folder of rows as a data set of the Hub."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from kernelwright.evals.hub.fit import Export, against
from kernelwright.evals.hub.upload import PublishError, Target, require_token

REPLACED = ("*.parquet",)
"""Tables of an earlier upload that are no longer there are deleted."""


def publish_data(
    folder: Path, repo: str, *, public: bool, dry_run: bool, exams: Sequence[str]
) -> str:
    """Checks an export, and uploads it in one commit unless `dry_run`; returns the page's URL.

    Raises PublishError with every reason against it, before anything is uploaded; ValueError and
    OSError where the folder is no export.
    """
    target = Target(repo=repo, kind="dataset", private=not public)
    if not dry_run:
        require_token()
    if reasons := against(Export.read(folder), exams):
        raise PublishError(f"{folder} is not published: {'; '.join(reasons)}")
    return "" if dry_run else target.upload(folder, "Publish a data set", REPLACED)
