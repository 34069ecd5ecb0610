"""Find phrases that must not return to texts for readers, and long sentences, in what a reader sees of a text.

Fenced code, code in backticks, placeholders, link targets, and the column "Old" of tables are not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_PHRASES = {
    # relative clauses as nouns
    "who": r"(?:^|[.:;|] )Who(?:ever)? (?!publishes)\w+s\b|\b(?:for|gives|by|tell) who(?:ever)? \w+s\b"
    r"|\bwhoever\b|\bwhom to\b",
    "nobody": r"\b(?:nobody|somebody)\b",
    "of which": r"\bof (?:which|whom)\b",
    # machines that speak
    "told": r"\b(?:is|are|be|being|was|were|only) told\b|\btold (?:from|as|later|by)\b",
    "says": r"\b(?:tells|says) (?:how|what|which|when|where|whose|why|so|of|nothing|the same|both|it)\b",
    "asks": r"\bask(?:s|ed|ing)?\b",
    "answer": r"\banswer(?:s|ed|ing)?\b",
    # negation by "no" and "none"
    "is no": r"(?<!\bthere )\b(?:is|are) no (?!longer\b)\w",
    "none": r"\bnone of (?:ours|its)\b|\bnone (?:is|are) (?:held|known|there|looked)\b",
    "ours": r"\b(?:we|our|ours)\b",
    "had": r"\b(?:can|could|cannot) be had\b|\bhas not an?\b",
    # places and postures
    "lies": r"\b(?:lie|lies|lay) (?:in|at|between|below|beside|outside|beyond|elsewhere|before)\b",
    "stands": r"\b(?:stand|stands|stood) (?:in|at|as|nowhere|above|below|beside|behind|under|apart|still)\b",
    "held": r"\b(?:is|are|be) held\b|\bheld (?:already|before|are|in)\b|\bholds? (?:no|rows of|a warehouse|of)\b",
    "aside": r"\bset aside\b|\bput back\b",
    "away": r"\b(?:is|are|was|were) away\b",
    "goes on": r"\b(?:go|goes|going) on\b",
    "opens": r"\b(?:key|one|spelling|address|addresses) opens?\b",
    # home-made terms
    "kept bytes": r"\bkept (?:bytes|bod(?:y|ies)|answers?)\b",
    "again": r"\b(?:make|makes|made) (?:\w+ ){0,6}(?:again|anew)\b",
    "holes": r"\bholes?\b",
    "figures": r"\bfigures?\b",
    "dear": r"\bdear(?:er|est)\b",
    "meet": r"\b(?:first meeting|meets? (?:the )?publishers)\b",
    "pass on": r"\bpass(?:ed|ing|es)? (?:figures |it |them )?on\b",
    "mend": r"\bmend(?:s|ed)?\b",
    "believed": r"\bbelieved?\b",
    "foresee": r"\bfores(?:ee|aw|een)\b",
    "oftener": r"\boftener\b|\bunder way\b",
    "owes": r"\bowes?\b",
    # word order, prepositions, articles
    "a per": r"\b(?:calls?|answers?|rows?|files?|lines?|columns?|USD|CPU|samples|sign-ups|entry|asset|process|once)"
    r" an? (?:call|zone|key|feed|source|run|worker|answer|layer|publisher|metric|market day|minute|second)\b",
    "by the call": r"\bby the (?:call|month)\b|\bby itself\b|\bby themselves\b",
    "alone": r"\balone\b",
    "in place of": r"\bin place of\b",
    "but for": r"\bbut for\b|\ball but the\b",
    "where if": r"\bwhere (?:nothing|none|there (?:is|are) no\w*)\b",
    "so many": r"\b(?:for|of|at least|at most|published) so (?:many|long|much)\b",
    "from on": r"\bfrom (?:then|there|which|days|the auction|its next call|ten seconds later) on\b",
    "percent": r"\d %",
    "come": r"\bha(?:d|s|ve) not come\b|\bcame (?:twice|again|late)\b",
}  # fmt: skip
_PATTERNS = {name: re.compile(phrase, re.IGNORECASE | re.MULTILINE) for name, phrase in _PHRASES.items()}
_SENTENCE = re.compile(r"(?<=[.!?:;])\s+|\n\s*\n|\n[-|#]")
LONGEST = 30
"""The maximum number of words in a sentence."""


def readable(text: str) -> str:
    """Return what a reader sees of a Markdown text."""
    text = re.sub(r"```.*?```", lambda fence: "\n" * fence[0].count("\n"), text, flags=re.DOTALL)
    lines, old = [], None
    for line in text.split("\n"):
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] if line.startswith("|") else []
        if not cells:
            old = None
        elif "Old" in cells:
            old = cells.index("Old")
        lines.append(line if not cells or old is None else " | ".join(cells[:old] + cells[old + 1 :]))
    text = re.sub(r"`[^`\n]*`|\]\([^)]*\)|https?://\S+|\{[^{}\n]*\}", " ", "\n".join(lines))
    return re.sub(r"(?<![|.:;])\n(?=[a-z(])", " ", text)


def find_phrases(text: str) -> Iterator[str]:
    """Yield each phrase of the list that a text contains, with its surroundings."""
    text = readable(text)
    for name, pattern in _PATTERNS.items():
        for match in pattern.finditer(text):
            yield f"{name}: ...{text[max(0, match.start() - 40) : match.end() + 40]}...".replace("\n", " ")


def long_sentences(text: str) -> list[str]:
    """Return the sentences of a text that have more than LONGEST words; the words of lists count too."""
    return [sentence for sentence in _SENTENCE.split(readable(text)) if len(sentence.split()) > LONGEST]
