"""Scripts of a page as one text, and the hash by which the page's content policy allows it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markupsafe import Markup


@dataclass(frozen=True, slots=True)
class Script:
    """The text of a page's one script."""

    text: str

    @classmethod
    def of(cls, *names: str) -> Script:
        """The files of these names in this folder, one after the other."""
        folder = Path(__file__).parent
        return cls("\n".join((folder / name).read_text(encoding="utf-8") for name in names))

    @property
    def sha256(self) -> str:
        """As `script-src` of a content policy has it, in base64."""
        return base64.b64encode(hashlib.sha256(self.text.encode()).digest()).decode()

    def for_page(self) -> dict[str, Any]:
        """What a template needs: `script` and `script_hash`."""
        return {"script": Markup(self.text), "script_hash": self.sha256}


def zipped(plain: Any) -> bytes:
    """JSON, compressed; without NaN, which a browser does not read. Raises ValueError."""
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return gzip.compress(text.encode(), mtime=0)


def embedded(plain: Any) -> str:
    """The same as base64: letters, digits, `+/=`."""
    return base64.b64encode(zipped(plain)).decode()
