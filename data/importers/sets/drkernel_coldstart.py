"""hkust-nlp/drkernel-coldstart-8k: conversations of several turns; each turn answers in Triton."""

from __future__ import annotations

from collections.abc import Iterator

from kernelwright.data.importers.item import Answer, Item, reasoning_before
from kernelwright.data.importers.sets.public_set import Columns, PublicSet, part_of, text_of
from kernelwright.envs.answer import extract


def item(row: Columns, number: int) -> Item:
    uuid, entry = str(row["uuid"]), text_of(row, "entry_point")
    return Item(
        id=uuid,
        name=f"{entry}_{uuid}",
        code=text_of(row, "original_python_code"),
        entry=entry,
        licence="MIT",
        origin=str(row["repo_name"] or ""),
        answers=tuple(_answers(row["messages"])),
    )


def _answers(messages: object) -> Iterator[Answer]:
    """The kernel of each turn, with the text before it as its reasoning."""
    if not isinstance(messages, list):
        raise ValueError(f"messages is {type(messages).__name__}, expects a list")
    for one in messages:
        turn = part_of({"messages": one}, "messages")
        if text_of(turn, "role") != "assistant":
            continue
        said = text_of(turn, "content").replace("\r\n", "\n")
        kernel = extract(said, "triton")
        if kernel is not None:
            why = reasoning_before(said, kernel)
            yield Answer(dialect="triton", kernel=kernel, reasoning=why)


SET = PublicSet(
    hub="hkust-nlp/drkernel-coldstart-8k",
    columns=(
        *("messages", "uuid", "entry_point", "repo_name", "module_name", "final_speedup"),
        *("num_rounds", "original_python_code", "best_round", "timestamp", "conversion_mode"),
        "enable_thinking",
    ),
    item=item,
)
