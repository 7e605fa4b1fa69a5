"""GPUMODE/KernelBook: modules of public repositories, each with its own licence.

Its Triton answers are what PyTorch's compiler writes and need its inner parts, so the modules alone
are taken. From June 2026 on the set has another licence, which covers later revisions.
"""

from __future__ import annotations

from kernelwright.data.importers.item import Item
from kernelwright.data.importers.sets.public_set import Columns, PublicSet, text_of


def item(row: Columns, number: int) -> Item:
    entry, uuid = text_of(row, "entry_point"), str(row["uuid"])
    return Item(
        id=uuid,
        name=f"{entry}_{uuid}",
        code=text_of(row, "python_code"),
        entry=entry,
        licence=_licence(row["licenses"]),
        origin=text_of(row, "repo_name"),
    )


def _licence(found: object) -> str:
    """A row has a list of licences; the first stands for it."""
    names = found if isinstance(found, list) else [found]
    return next((one for one in names if isinstance(one, str) and one.strip()), "")


SET = PublicSet(
    hub="GPUMODE/KernelBook",
    columns=(
        *("python_code", "triton_code", "original_triton_code", "entry_point", "uuid"),
        *("module_name", "repo_name", "repo_link", "sha", "stars", "licenses", "synthetic"),
    ),
    item=item,
    revision="1576375b",
)
