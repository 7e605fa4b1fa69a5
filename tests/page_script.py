"""A page's script, run by node."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from typing import Any

import pytest

from tests.command import ROOT

MARKUP = (
    *("innerHTML", "outerHTML", "insertAdjacentHTML", "eval(", "document.write"),
    *("Function(", "srcdoc", "DOMParser", "setHTML"),
)
"""What would make markup, or a program, of a text."""
STUB = ROOT / "tests" / "fixtures" / "page_stub.js"


def by_node(script: str) -> Any:
    """What a script prints, which is JSON; skips the test where there is no node."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    done = subprocess.run(
        [node, "-"], input=script, capture_output=True, text=True, check=True, timeout=60
    )
    return json.loads(done.stdout)


def value_of(call: str, script: str) -> Any:
    """What a call of a page's script gives."""
    return by_node(f"{script}\nconsole.log(JSON.stringify({call}))")


def on_a_page(script: str, *, before: str, ready: str, gives: str) -> Any:
    """What an expression gives once another is true, of a script on a stand-in for a document."""
    end = f"console.log(JSON.stringify({gives})); process.exit(0)"
    wait = f"(function wait() {{ if ({ready}) {{ {end} }} else later(wait, 2) }})();"
    return by_node("\n".join([STUB.read_text(encoding="utf-8"), before, script, wait]))


def assert_one_script_may_run_and_makes_no_markup(page: str) -> None:
    """And it is the one whose hash the page's content policy has; the other element holds data."""
    assert page.count("<script") == page.count("</script>") == 2
    (script,) = re.findall(r"<script>(.*?)</script>", page, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    assert f'content="{policy}"' in page
    assert not [one for one in MARKUP if one in script]
