"""Text that is not ours, made harmless: names, sentences and plain values that cannot act where they are shown.

Names in a model file, a table, a policy or a folder can hold line breaks, terminal codes, characters that turn the
direction of a line or that nobody sees, bytes that are no text, and commands to the program that reads a build's log:
``::error::`` at the start of a line, and ``##[group]`` or ``##vso[...]`` anywhere in it (GitHub's runner still reads
that older form, see ``ActionCommand.TryParse`` there; those of Azure and TeamCity read their own). All outputs take
what they show from here. What is harmless already comes out as it was, so that two of these in a row are one.
"""

from __future__ import annotations

import argparse
import re
import shlex
from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import PurePath
from typing import Any, NoReturn

MOST_CHARACTERS = 2_000
"""Of a name or sentence that people read: what a file holds could be of any length."""

_UNSEEN = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\U000e0100-\U000e01ef"
_ACTIVE = re.compile(f"[{_UNSEEN}]|(?<=:):|(?<=#)#")
"""What ``str.isprintable`` lets through: characters that leave no mark (Default_Ignorable_Code_Point of Unicode, and
the empty Braille pattern), and the second of two colons and of two number signs."""


def harmless(text: object, limit: int | None = MOST_CHARACTERS) -> str:
    """Return a text as one printable line that commands nothing.

    Parameters
    ----------
    text : object
        Its ``str`` is taken.
    limit : int or None
        The longest result, in characters; a longer one is cut and ends in ``...``. None for no limit.

    Returns
    -------
    str
        What cannot be printed or seen is escaped as in Python, and so are the second of two colons and of two number
        signs (by ``x3a`` and ``x23``).
    """
    line = str(text)
    if limit is not None and len(line) > limit:
        line = line[: limit + 1]  # escapes only make it longer
    if not line.isprintable():
        line = "".join(c if c.isprintable() else _escape(c) for c in line)
    line = _inactive(line)
    return line if limit is None or len(line) <= limit else line[: limit - 3] + "..."


def one_line(text: object, limit: int | None = 300) -> str:
    """Return a text as `harmless` does, in ASCII: for errors and logs.

    Parameters
    ----------
    text : object
        What to show; its ``str`` is taken.
    limit : int or None
        The longest result, in characters; a longer one is cut and ends in ``...``. None for no limit.

    Returns
    -------
    str
        Printable ASCII without line breaks, and without ``::`` and ``##``.
    """
    line = harmless(text, limit).encode("ascii", "backslashreplace").decode("ascii")
    return line if limit is None or len(line) <= limit else line[: limit - 3] + "..."


def distinct(text: object) -> str:
    """Return a name as `harmless` does, uncut, so that different names stay different: for addresses and keys.

    Backslashes are escaped too, and so is a colon at either end, beside which an address has two.
    """
    line = harmless(str(text).replace("\\", "\\x5c"), None)
    line = re.sub("^:|:$", r"\\x3a", line)
    return line or "\\x00"  # a name is never empty, and neither is this


def of_path(path: str | PathLike[str]) -> str:
    """Return a path as reports and addresses name it: with slashes, and as `distinct` does."""
    return distinct(PurePath(fspath(path)).as_posix())


def address(text: str) -> str:
    """Return the address of a test item: its parts as `harmless` does, with ``::`` between them."""
    return re.sub("^:", r"\\x3a", "::".join(harmless(part, None) for part in text.split("::")))


def harmless_values(value: Any) -> Any:
    """Return plain values (of JSON) in which every text, keys too, is as `harmless` returns it, uncut."""
    if isinstance(value, str):
        return harmless(value, None)
    if isinstance(value, dict):
        return {harmless(key, None): harmless_values(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [harmless_values(inner) for inner in value]
    return value


def typed(path: str) -> str:
    """Return a relative path as somebody types it who does not mean an option."""
    return f"./{path}" if path.startswith("-") else path


def in_shell(words: Iterable[str]) -> str:
    """Return a command for a POSIX shell on one harmless line: words that are not harmless in the form ``$'...'``."""
    return " ".join(map(_word, words))


class HarmlessParser(argparse.ArgumentParser):
    """A parser of arguments whose errors, which quote them, are one harmless line."""

    def error(self, message: str) -> NoReturn:
        """Show the usage and what is wrong, and end the process with 2."""
        super().error(one_line(message, None))


def _escape(character: str) -> str:
    return character.encode("unicode_escape").decode("ascii") if character not in ":#" else f"\\x{ord(character):02x}"


def _inactive(line: str) -> str:
    return _ACTIVE.sub(lambda found: _escape(found[0]), line)


def _word(word: str) -> str:
    if harmless(word, None) == word:
        return shlex.quote(word)
    escaped = word.replace("\\", "\\\\").replace("'", "\\'")
    return f"$'{_inactive(''.join(c if c.isprintable() else _bytes(c) for c in escaped))}'"


def _bytes(character: str) -> str:
    errors = (
        "surrogateescape" if "\udc80" <= character <= "\udcff" else "surrogatepass"
    )  # the rest is in no file's name
    return "".join(f"\\x{byte:02x}" for byte in character.encode("utf-8", errors))
