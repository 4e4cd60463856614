"""Names that would act on a terminal, a log or a page: in goes a text, out comes whether it acts, and such names."""

from __future__ import annotations

import re

from hypothesis import strategies as st

PIECES = (
    *("##[group]", "##[add-mask]", "##[set-output name=x]", "##vso[task.complete]", "##teamcity[x]", "::error::", "::"),
    *("\n", "\r", "\x00", "\x1b[31m", "\x9b", "\x85", "\u2028", "\u202e", "\u2066", "\u200b", "\u3164", "\ufeff"),
    *("\ufe0f", "\U000e0101", "\udcff", "\ud800", "<script>", "</style>", "]]>", "&amp;", "`", "|", "](x)", "{0}"),
    *("'", '"', "\\", ":", "#", "a", " ", "é", "%0A", "-", "$(x)", "[b]", "=", "0", "n", "x3a", "*", ".", "<!--"),
)

NAMES = st.lists(st.sampled_from(PIECES), min_size=1, max_size=8).map("".join)


def is_harmless(text: str) -> bool:
    """Return whether nothing in a text acts on a terminal or on what reads a log: pytest's own colours may."""
    lines = text.split("\n")
    printable = all(c.isprintable() or c in "\n\t" for c in re.sub(r"\x1b\[[0-9;]*m", "", text))
    unseen = re.search("[\u3164\U000e0100-\U000e01ef]", text)
    commands = re.search("##[^# ]", text) or any(line.lstrip().startswith("::") for line in lines)
    return printable and not unseen and not commands
