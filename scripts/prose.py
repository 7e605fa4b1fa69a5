"""Measures the project's prose: sentence lengths, negations, and words that say too little.

    python -m scripts.prose             README, docs and docstrings
    python -m scripts.prose FILE.md …   these files, each by itself

Tables, code and headings are left out; below `# History` a page is a log and is left out too.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("envs", "data", "rewards", "rl", "evals", "kernelwright")
LONG_WORDS = 35
HISTORY = "\n# History"
NEGATION = re.compile(
    r"\b(?:not|no|nor|never|none|nothing|nobody|nowhere|neither|cannot|without|\w+n't)\b", re.I
)
VAGUE = re.compile(r"\bso (?:many|much|long|few)\b", re.I)
SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]*]*\s+(?=[\"'(\[`*]*[A-Z0-9`])")
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Prose:
    """Sentences of a text, as lists of words."""

    sentences: tuple[tuple[str, ...], ...]

    @property
    def words(self) -> int:
        return sum(map(len, self.sentences))

    def percentile(self, share: float) -> int:
        """Words of the sentence that this share of all sentences does not exceed."""
        lengths = sorted(map(len, self.sentences)) or [0]
        return lengths[min(int(share * len(lengths)), len(lengths) - 1)]

    @property
    def longest(self) -> tuple[str, ...]:
        return max(self.sentences, key=len, default=())

    @property
    def long_share(self) -> float:
        """Share of sentences above 35 words."""
        return sum(len(one) > LONG_WORDS for one in self.sentences) / max(len(self.sentences), 1)

    @property
    def negations_per_100(self) -> float:
        return 100 * self._count(NEGATION) / max(self.words, 1)

    @property
    def vague(self) -> int:
        """How often "so many", "so much", "so long", "so few" occur."""
        return self._count(VAGUE)

    def _count(self, pattern: re.Pattern[str]) -> int:
        return sum(len(pattern.findall(" ".join(sentence))) for sentence in self.sentences)


def prose(texts: Iterable[str]) -> Prose:
    """Plain paragraphs, split into sentences of words."""
    split = (sentence.split() for text in texts for sentence in SENTENCE_END.split(text))
    words = (tuple(word for word in one if re.search(r"\w", word)) for one in split)
    return Prose(sentences=tuple(one for one in words if one))


def paragraphs(markdown: str) -> Iterator[str]:
    """Paragraphs and list items; code in a line is one word, a link is its text."""
    text = markdown.partition(HISTORY)[0]
    text = re.sub(r"^ *(```|~~~).*?^ *\1 *$", "", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    text = re.sub(r"`+[^`]+`+", "`code`", text)
    block: list[str] = []
    for line in [*text.splitlines(), ""]:
        is_code = line.startswith("    ") and not block
        apart = is_code or not line.strip() or line.startswith(("|", "#"))
        if apart or ITEM.match(line):
            yield " ".join(block)
            block = []
        if not apart:
            block.append(ITEM.sub("", line).strip())


def docstrings(packages: Iterable[str] = PACKAGES) -> Iterator[str]:
    """Docstrings of modules, classes and functions, and strings that describe a constant."""
    nodes = (node for tree in _trees(packages) for node in ast.walk(tree))
    values = (node.value for node in nodes if isinstance(node, ast.Expr))
    for value in values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            text = re.sub(r"`[^`]+`", "`code`", value.value)
            yield from (part for part in text.split("\n\n") if ">>>" not in part)


def bound_names(names: Iterable[str], packages: Iterable[str] = PACKAGES) -> dict[str, float]:
    """Name → how often code binds it, for each thousand lines."""
    wanted = dict.fromkeys(names, 0)
    lines = 0
    for tree in _trees(packages):
        lines += max((getattr(node, "end_lineno", 0) or 0 for node in ast.walk(tree)), default=0)
        for node in ast.walk(tree):
            match node:
                case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) if name in wanted:
                    wanted[name] += 1
    return {name: 1000 * count / max(lines, 1) for name, count in wanted.items()}


def pages() -> list[Path]:
    """The README and every page of docs/."""
    return [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def of_files(files: Iterable[Path]) -> Prose:
    return prose(part for path in files for part in paragraphs(path.read_text(encoding="utf-8")))


def _trees(packages: Iterable[str]) -> Iterator[ast.Module]:
    for package in packages:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "exhibits" not in path.parts:
                yield ast.parse(path.read_text(encoding="utf-8"))


def _row(name: str, one: Prose) -> str:
    lengths = f"{one.percentile(0.5)}/{one.percentile(0.9)}/{len(one.longest)}"
    return (
        f"| {name} | {one.words} | {lengths} | {100 * one.long_share:.1f} % | "
        f"{one.negations_per_100:.2f} | {one.vague} |"
    )


def main(*names: str) -> None:
    print("| text | words | sentence p50/p90/max | over 35 | negations / 100 | so many/so long |")
    print("|---|---|---|---|---|---|")
    if names:
        for name in names:
            found = of_files([Path(name)])
            print(_row(name, found))
            if len(found.longest) > LONG_WORDS:
                print("  longest:", " ".join(found.longest))
        return
    readme, *docs = pages()
    print(_row("README.md", of_files([readme])))
    print(_row("docs/", of_files(docs)))
    print(_row("docstrings", prose(docstrings())))
    for name, rate in bound_names(("one", "found")).items():
        print(f"`{name}` is bound {rate:.1f} times in 1,000 lines of code")


if __name__ == "__main__":
    main(*sys.argv[1:])
