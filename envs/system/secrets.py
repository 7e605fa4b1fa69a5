"""Keys and tokens that are sent in a header."""

from __future__ import annotations


def header_key(text: str | None, name: str) -> str | None:
    """A key as a header takes it, without the ends of lines that files leave; None where there is
    none. Raises ValueError, which names the variable and not the key.

    >>> header_key("abc\\r\\n", "TOKEN")
    'abc'
    """
    key = (text or "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ValueError(f"{name} holds characters that no header takes: write it anew")
    return key or None
