"""Publishes the export of a folder of rows as a data set of the Hub."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from kernelwright.data.exports.write import CARD
from kernelwright.data.importers.exams import Exams
from kernelwright.evals.hub.fit import Export, against
from kernelwright.evals.hub.upload import (
    PublishError,
    Target,
    Tree,
    require_token,
    upload,
    write_card,
)

PLACE = "REPOSITORY"
"""What stands for the repository on an export's card."""
REPLACED = ("*.parquet",)
"""Tables of an earlier upload that are no longer there are deleted."""


def publish_data(folder: Path, repo: str, *, public: bool, dry_run: bool, exams: Exams) -> str:
    """Checks an export and uploads it, the repository named on its card, unless `dry_run`; returns
    the page's URL.

    Raises PublishError with every reason against it, before anything is uploaded; ValueError and
    OSError where the folder is no export.
    """
    target = Target(repo=repo, kind="dataset", private=not public)
    if not dry_run:
        require_token()
    if reasons := against(Export.read(folder), exams):
        raise PublishError(f"{folder} is not published: {'; '.join(reasons)}")
    if dry_run:
        return ""
    with TemporaryDirectory() as beside:
        named = Path(shutil.copytree(folder, Path(beside) / "export"))
        card = (folder / CARD).read_text(encoding="utf-8")
        write_card(named, card.replace(f'"{PLACE}"', f'"{repo}"'))
        tree = Tree(folder=named, message="Publish a data set", replaced=REPLACED)
        return upload([(target, tree)])[0]
