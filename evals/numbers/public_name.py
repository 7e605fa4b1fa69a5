"""Names models for who reads a page elsewhere."""

from __future__ import annotations

import re
from pathlib import Path

from kernelwright.rl.models.load import hub_id
from kernelwright.rl.models.weights import EMBEDDED
from kernelwright.rl.policies.providers.find import own_name

REPOSITORY = r"[\w-][\w.-]*/[\w-][\w.-]*"
"""A repository of the Hub: owner/name."""


def public_name(model: str) -> str:
    """A model's name without this machine's paths and without the address of a server.

    >>> public_name("/home/me/model"), public_name("me/model")
    ('model', 'me/model')
    """
    name = own_name(model)
    known = name in EMBEDDED or re.fullmatch(REPOSITORY, name.partition("@")[0])
    here = Path(name).exists() or name.startswith("runs/")
    return hub_id(name) if known and not here else Path(name).name
