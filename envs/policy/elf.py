"""Names in a shared library (ELF, 64 bits, little-endian), as the loader finds them.

Whatever is no such library raises one of `ERRORS`.
"""

from __future__ import annotations

import struct

ERRORS = (ValueError, KeyError, struct.error, StopIteration)
MAGIC = b"\x7fELF\x02\x01"
_LOADED, _DYNAMIC = 1, 2
"""Kinds of segments."""
_SYMBOLS_SECTION = 11
_STRINGS, _SYMBOLS = 5, 6
_RELOCATIONS = ((7, 8), (23, 2))
"""Tags of the two tables of relocations: (where it is, its bytes)."""
_SYMBOL_BYTES = 24


def wanted(library: bytes) -> set[str]:
    """What the loader has to find for it in other libraries."""
    if not library.startswith(MAGIC):
        raise ValueError("not a library of this kind")
    # By segments, as the loader goes: the sections of a library that is not trusted may lie.
    # 32 and 54 are where the header has e_phoff and e_phentsize, 40 and 58 e_shoff and e_shentsize.
    segments = _rows(library, "<IIQQQQQQ", *_table(library, 32, 54))
    start, length = next((one[2], one[5]) for one in segments if one[0] == _DYNAMIC)
    tags = {row[0]: row[1] for row in _rows(library, "<qQ", start, length)}

    def place(tag: int) -> int:
        for kind, _, offset, address, _, size, _, _ in segments:
            if kind == _LOADED and address <= tags[tag] < address + size:
                return tags[tag] - address + offset
        raise ValueError("an address in no segment")

    numbers = {
        info >> 32
        for where, length in _RELOCATIONS
        if where in tags
        for _, info, _ in _rows(library, "<QQQ", place(where), tags[length])
    }
    symbols = [_symbol(library, place(_SYMBOLS), number) for number in numbers]
    missing = [name for name, section in symbols if name and not section]
    return {_text(library, place(_STRINGS) + name) for name in missing}


def offered(library: bytes) -> set[str]:
    """What a library that is trusted defines for others."""
    sections = _rows(library, "<IIQQQQIIQQ", *_table(library, 40, 58))
    _, _, _, _, start, length, strings, *_ = next(
        one for one in sections if one[1] == _SYMBOLS_SECTION
    )
    found = [_symbol(library, start, number) for number in range(length // _SYMBOL_BYTES)]
    return {_text(library, sections[strings][4] + name) for name, section in found if section}


def _table(library: bytes, where: int, sizes: int) -> tuple[int, int]:
    """(start, bytes) of a table that the header speaks of: of segments, or of sections."""
    (start,) = struct.unpack_from("<Q", library, where)
    size, count = struct.unpack_from("<HH", library, sizes)
    return start, size * count


def _rows(library: bytes, form: str, start: int, length: int) -> list[tuple[int, ...]]:
    return list(struct.iter_unpack(form, library[start : start + length]))


def _symbol(library: bytes, table: int, number: int) -> tuple[int, int]:
    """(where its name is among the strings, its section: 0 where it is another library's)."""
    name, _, section = struct.unpack_from("<IHH", library, table + number * _SYMBOL_BYTES)
    return name, section


def _text(library: bytes, start: int) -> str:
    return library[start : library.index(b"\0", start)].decode("utf-8", "replace")
