"""hkust-nlp/drkernel-rl-data: modules without answers, in the layout that verl reads."""

from __future__ import annotations

from kernelwright.data.importers.item import Item
from kernelwright.data.importers.sets.public_set import Columns, PublicSet, part_of, text_of


def item(row: Columns, number: int) -> Item:
    more = part_of(row, "extra_info")
    uuid, entry = str(more.get("uuid") or number), text_of(more, "entry_point")
    return Item(
        id=uuid,
        name=f"{entry}_{uuid}",
        code=text_of(part_of(row, "reward_model"), "ground_truth"),
        entry=entry,
        licence="MIT",
        origin=f"{row['data_source']} {more.get('repo_name') or ''}",
    )


SET = PublicSet(
    hub="hkust-nlp/drkernel-rl-data",
    columns=("data_source", "prompt", "ability", "reward_model", "extra_info"),
    item=item,
)
