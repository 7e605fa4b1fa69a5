"""Finds a provider by its name."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

from kernelwright.rl.policies.providers.base import Provider

NOT_PROVIDERS = ("__init__", "base", "find")
NAMED = re.compile(r"([A-Za-z_][\w.]*):(.+)")


def provider_names() -> list[str]:
    """Every provider that comes with this project."""
    files = Path(__file__).parent.glob("*.py")
    return sorted(file.stem for file in files if file.stem not in NOT_PROVIDERS)


def provider(name: str) -> Provider:
    """The provider of a module of `rl/policies/providers`, or of the dotted name of one of your
    own.

    Raises ValueError where there is none.
    """
    if "." not in name and name not in provider_names():
        raise ValueError(
            f"no provider {name!r}; there are: {', '.join(provider_names())}, "
            "or the dotted name of a module of your own"
        )
    try:
        module = import_module(
            name if "." in name else f"kernelwright.rl.policies.providers.{name}"
        )
    except ModuleNotFoundError as error:
        raise ValueError(f"provider {name!r}: {error}") from None
    if not hasattr(module, "Provider"):
        raise ValueError(f"provider {name!r}: the module has no `Provider`")
    found: Provider = module.Provider()
    return found


def known_provider(name: str) -> str:
    """The name, where it is a provider's. Raises ValueError."""
    provider(name)
    return name


def own_name(model: str) -> str:
    """A model's name without the provider's, and without the address of a server."""
    named = provider_and_model(model)
    return model if named is None else named[1].partition("@")[0]


def provider_and_model(name: str) -> tuple[Provider, str] | None:
    """(provider, what it calls the model) of a model's name `NAME:…`; None for any other name.

    >>> [provider_and_model(one) for one in ("smollm2-135m", "me/mine")]
    [None, None]
    """
    said = NAMED.fullmatch(name)
    if said is None or Path(name).exists():
        return None
    if "." not in said[1] and said[1] not in provider_names():
        return None
    return provider(said[1]), said[2]
