"""The attack: from a forest, a domain and groups, a reconstruction. It never sees the truth."""

from pytest_draft.attack import compiling

compiling.prepare()
