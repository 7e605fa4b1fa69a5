"""What splits have to know of a drawn graph, as tags of its problem."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

OPERATOR, STATEMENTS, RANK = "operator:", "statements:", "rank:"


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphFacts:
    """The names of its operators, how many statements it has, and the rank of its first input.

    >>> facts = GraphFacts(operators=frozenset({"relu"}), statements=1, rank=2)
    >>> facts.tags
    ('operator:relu', 'statements:1', 'rank:2')
    >>> GraphFacts.of(facts.tags) == facts
    True
    """

    operators: frozenset[str] = frozenset()
    statements: int = 1
    rank: int = 0
    """0 where nobody has written it down."""

    @classmethod
    def of(cls, tags: Iterable[str]) -> GraphFacts:
        """What these say, others aside. Raises ValueError for a number that is none."""
        tags = tuple(tags)
        return cls(
            operators=frozenset(_after(OPERATOR, tags)),
            statements=_number(STATEMENTS, tags, 1),
            rank=_number(RANK, tags, 0),
        )

    @property
    def tags(self) -> tuple[str, ...]:
        operators = (OPERATOR + one for one in sorted(self.operators))
        return (*operators, f"{STATEMENTS}{self.statements}", f"{RANK}{self.rank}")


def _after(name: str, tags: Iterable[str]) -> Iterator[str]:
    return (one.removeprefix(name) for one in tags if one.startswith(name))


def _number(name: str, tags: Iterable[str], default: int) -> int:
    said = next(_after(name, tags), str(default))
    if not (said.isascii() and said.isdigit()):
        raise ValueError(f"tags: {name}{said}: expects a number, as in {name}1")
    return int(said)
