"""The text of a failed check among pytest's failures, for a terminal of some width.

Other plugins and the JUnit file get the whole text; the terminal leaves out causes and remedies that it has shown for
the same file already.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass, field
from typing import Protocol

OF_THE_FILE = ("cause: ", "remedy: ")
"""How lines begin that are about a file, and so the same for all its failed checks."""


class Writer(Protocol):
    """As much of pytest's terminal writer as is needed."""

    def line(self, s: str = "") -> None:
        """Write a line."""


@dataclass
class FailureText:
    """The text of a failed check, which pytest shows as it shows a traceback.

    It stands in for pytest's own ``longrepr``. It has no attribute ``reprcrash``, so that pytest's short summary does
    not repeat the text's beginning.
    """

    text: str
    path: str
    """What the check is about: causes and remedies are shown once for it."""
    width: int | None
    """Columns of a terminal; None for a file, where lines are not broken."""
    shown: set[tuple[str, str]] = field(default_factory=set)
    """Paths, and causes and remedies that were shown of them; shared by all checks of a run."""

    def __str__(self) -> str:
        return self.text

    def toterminal(self, writer: Writer) -> None:
        """Write the text, without causes and remedies that were written before."""
        repeated: list[str] = []
        for line in (*self.text.splitlines(), None):
            if line is not None and line.startswith(OF_THE_FILE):
                if (self.path, line) in self.shown:
                    repeated.append(line.partition(":")[0])
                    continue
                self.shown.add((self.path, line))
            if repeated:
                writer.line(f"{' and '.join(dict.fromkeys(repeated))}: as above")
                repeated = []
            for part in [] if line is None else wrapped(line, self.width):
                writer.line(part)


def wrapped(line: str, width: int | None, indent: str = "") -> list[str]:
    """Return a line broken between words into lines that fit a terminal; as it is, where there is no terminal."""
    if width is None:
        return [indent + line]
    inner = indent + "  "
    return textwrap.wrap(
        line, max(width - 1, 20), initial_indent=indent, subsequent_indent=inner, break_on_hyphens=False
    ) or [""]
