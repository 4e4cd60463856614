"""pytest-draft: how much of its training data can be rebuilt from a tree ensemble's file."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_draft.advice.advise import advise
    from pytest_draft.hardening.files import harden

__all__ = ["advise", "harden"]


def __getattr__(name: str) -> object:
    """Import what notebooks use when it is used: pytest imports this package at every start."""
    if name == "advise":
        from pytest_draft.advice.advise import advise

        return advise
    if name == "harden":
        from pytest_draft.hardening.files import harden

        return harden
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
