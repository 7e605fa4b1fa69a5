"""Assigns families to splits (training, its two halves, held out) by the hash of their names.

Nothing depends on a family's position or on what other families there are, so a new operator or a
new family moves none of the others. That every part of a held-out family is trained on as well is
a property of the families there are; a test holds it, and the pinned list of held-out ones.
"""

from __future__ import annotations

from kernelwright.data.factory.blueprint import Blueprint
from kernelwright.envs.types import content_hash

HELD_OUT_SHARE = 0.25
KEPT_SALT, HELD_OUT_SALT, HALF_SALT = "0", "1296", "1276"
"""Chosen once, so that every part of a held-out family is trained on often enough, in both halves.

To change one is to change the exam: adapters trained before have seen what is then held out.
"""


def hash_fraction(*parts: str) -> float:
    """A number in [0, 1) that these texts alone decide."""
    return int(content_hash(*parts), 16) / 16**16


def is_kept(blueprint: Blueprint, share: float) -> bool:
    """Whether the family is one of this share of all that could be made."""
    return blueprint.plain or _fraction(blueprint, KEPT_SALT, "kept") < share


def is_held_out(blueprint: Blueprint) -> bool:
    """Whether the family is never trained on."""
    fraction = _fraction(blueprint, HELD_OUT_SALT, "held out")
    return not blueprint.plain and fraction < HELD_OUT_SHARE


def half_of(blueprint: Blueprint) -> str:
    """The half of training that a training family is in: `sft` or `rl`."""
    return "sft" if _fraction(blueprint, HALF_SALT, "half") < 0.5 else "rl"


def _fraction(blueprint: Blueprint, salt: str, what: str) -> float:
    """A number in [0, 1) that the family alone decides."""
    return hash_fraction(salt, what, blueprint.category, blueprint.family)
