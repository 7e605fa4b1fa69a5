"""BytedTsinghua-SIA/CUDA-Agent-Ops-6K: modules of one or a few operators, without answers."""

from __future__ import annotations

from kernelwright.data.importers.item import Item
from kernelwright.data.importers.sets.public_set import Columns, PublicSet, text_of


def item(row: Columns, number: int) -> Item:
    return Item(
        id=str(number),
        name=f"ops_{number}",
        code=text_of(row, "code"),
        licence="CC-BY-4.0",
        origin=text_of(row, "data_source"),
    )


SET = PublicSet(
    hub="BytedTsinghua-SIA/CUDA-Agent-Ops-6K",
    columns=("ops", "data_source", "code"),
    item=item,
)
