"""What is false in the reasoning of an example, or has no source: each number and claim of it is
found again in the code."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

from kernelwright.data.graphs.lint import claims, code, cuda, cuda_code, triton, triton_code
from kernelwright.data.graphs.lint.claims import Claim
from kernelwright.data.graphs.lint.code import Block
from kernelwright.data.graphs.lint.formulas import FormulaError, formula
from kernelwright.data.graphs.lint.labels import denied, meanings
from kernelwright.data.graphs.lint.part import Part
from kernelwright.data.graphs.phrases import plain
from kernelwright.envs.types import Dialect, Problem


@dataclass(frozen=True, slots=True)
class Language:
    """A dialect's code as statements, and what a reasoning may say of it."""

    blocks_of: Callable[[str], list[Block]]
    claims: tuple[tuple[str, Claim], ...]
    part: type[Part] = Part


LANGUAGES: dict[Dialect, Language] = {
    "cpp": Language(code.blocks_of, claims.CLAIMS),
    "cuda": Language(cuda_code.blocks_of, cuda.CLAIMS),
    "triton": Language(triton_code.blocks_of, triton.CLAIMS, triton.TritonPart),
}
"""By dialect, those whose code is understood."""
START = "Plan: "
STATEMENT = re.compile(
    r"(?:[A-Za-z_]\w*(?: \w+)?: )?"
    r"(?P<text>(?P<left>[\w\[\]]+) (?P<op>[-+*/]?=) (?P<right>[^;]+));"
)
NEXT_PART = re.compile(r"(\d+)\. ")
NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?(?:e-?\d+)?")
NAME = re.compile(r"`[^`]+`|\b\w*[_\d]\w*\b")
CLAIMED = re.compile(
    r"\b(passes|pass|rows?|columns?|transposed|in order|from the end|by itself|side by side"
    r"|summed|tiles?|stride|padding|mean|taps?|warps?|blocks?|threads?|lanes?|programs?|shared"
    r"|masks?|masked|coalesced|neighbou?r(?:s|ing)?|channels?|grid|bytes|barriers?|fused|elements?|values?|adds?|added|divided|products?"
    r"|multipl(?:y|ies|ied)"
    r"|outputs?|times|positions|registers?|whole|long|high|together"
    r"|tensor cores?|precision|doubles?|half|halves|round(?:s|ed|ing)?|exact(?:ly)?"
    r"|sort(?:s|ed|ing)?|welford|online|atomic(?:s|ally)?|cach(?:e|es|ed)|vectors?|vectori[sz]ed?"
    r"|simd|unrolled|parallel|asynchronous(?:ly)?|pipelined?|slow(?:er|est)?|fast(?:er|est)?"
    r"|writ(?:e|es|ten)|stor(?:e|es|ed)|not|never)\b"
    r"|[={}<>]",
    re.I,
)
"""What is said of a kernel in words: it has to be said in a form that can be followed."""
OPERATOR = re.compile(r"(\w+): ")
SENTENCE = re.compile(r"[^.;]*(?:\.\d[^.;]*)*[.;]?")


@cache
def patterns(dialect: Dialect) -> tuple[tuple[re.Pattern[str], Claim], ...]:
    """The forms in which claims are made."""
    return tuple((re.compile(text), claim) for text, claim in LANGUAGES[dialect].claims)


def findings(
    reasoning: str, source: str, problem: Problem, dialect: Dialect, *, is_free: bool = False
) -> list[str]:
    """What cannot be shown to be true; empty for a reasoning whose every claim stands in the code.

    Sentences may have any of their forms (data/graphs/phrases.py). One of no known form is refused,
    but in a free text: there it may have no word of CLAIMED, and each number and name of it has to
    stand in the code or in the module. What else it says is not searched.
    """
    try:
        blocks = LANGUAGES[dialect].blocks_of(source)
    except (ValueError, LookupError, SyntaxError, StopIteration) as error:
        return [f"the code is not understood: {error}"]
    text, part = plain(reasoning.strip().removeprefix(START)), LANGUAGES[dialect].part
    reader = Reader(dialect, source + problem.code, is_free)
    if len(blocks) == 1:
        return reader.read(part(blocks[0], 1), text)
    texts = _numbered(text)
    found = []
    if len(texts) != len(blocks):
        found.append(f"it has {len(texts)} parts, the code {len(blocks)}")
    for number, (its, block) in enumerate(zip(texts, blocks, strict=False), 1):
        found += reader.read(part(block, number), its)
        if "-> " not in its:
            found.append(f"part {number}: it does not say what it writes")
    return found


def _numbered(text: str) -> list[str]:
    """The texts of parts, each of which begins with its number."""
    found: list[str] = []
    rest = text
    while one := NEXT_PART.match(rest):
        if int(one[1]) != len(found) + 1:
            break
        ends = re.search(rf"(?<=\.) (?={len(found) + 2}\. )", rest)
        end = ends.end() if ends else len(rest)
        found.append(rest[one.end() : end].strip())
        rest = rest[end:]
    return [*found, rest] if rest.strip() else found


@dataclass(frozen=True, slots=True)
class Reader:
    """Goes through a text, claim after claim. `sources` have the numbers and names there are; a
    free text may have sentences of no known form."""

    dialect: Dialect
    sources: str
    is_free: bool

    def read(self, part: Part, text: str) -> list[str]:
        place = 0
        while place < len(text):
            if text[place] == " ":
                place += 1
                continue
            end = self._claim(part, text, place) or _statement(part, text, place)
            place = end or self._prose(part, text, place)
        for why in denied(text, self.dialect):
            part.deny(why)
        for one in sorted(part.unsaid):
            part.deny(f"{one}, and it does not say so")
        return part.findings

    def _claim(self, part: Part, text: str, place: int) -> int:
        """The end of a claim of a known form; 0 where there is none."""
        for pattern, claim in patterns(self.dialect):
            if said := pattern.match(text, place):
                try:
                    claim(part, said)
                except (FormulaError, LookupError) as error:
                    part.deny(f"`{said[0]}` cannot be followed: {error}")
                return said.end()
        return 0

    def _prose(self, part: Part, text: str, place: int) -> int:
        """A sentence of no known form."""
        said = SENTENCE.match(text, place)
        sentence = said[0] if said and said[0] else text[place:]
        if not self.is_free:
            part.deny(f"`{sentence.strip()}` has no form that can be followed")
            return place + len(sentence)
        if claimed := CLAIMED.search(sentence):
            part.deny(f"`{sentence.strip()}` says {claimed[0]} in no form that can be followed")
        head = OPERATOR.match(sentence)
        if head and head[1] in meanings(self.dialect):
            part.deny(f"`{sentence.strip()}` says {head[1]} in no form that can be followed")
        known = {float(one) for one in NUMBER.findall(self.sources)}
        for number in NUMBER.findall(sentence):
            part.expect(float(number) in known, f"{number} has no source")
        for name in NAME.findall(sentence):
            part.expect(name.strip("`") in self.sources, f"{name} is not in the code")
        return place + len(sentence)


def _statement(part: Part, text: str, place: int) -> int:
    said = STATEMENT.match(text, place)
    if said is None:
        return 0
    try:
        left, right = formula(said["left"]), formula(said["right"])
        part.quote(left, said["op"], right, said["text"])
    except FormulaError as error:
        part.deny(f"`{said['text']}` is no statement: {error}")
    return said.end()
