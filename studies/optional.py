"""A package that only some studies need: in goes its name, out comes its module or what to install."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from pytest_draft.errors import DraftError, one_line


class MissingPackageError(DraftError, ImportError):
    """A study needs a package of an extra that is not installed, or that cannot be imported."""


def optional(module: str, needed: str, extra: str) -> Any:
    """Return a module of a package that is not installed with this one.

    Parameters
    ----------
    needed : str
        What needs which package, as the message begins.
    extra : str
        The extra of this package that installs it.

    Raises
    ------
    MissingPackageError
        In one line, with what to install.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise MissingPackageError(f"{needed} ({one_line(error)}): pip install 'pytest-draft[{extra}]'") from None
