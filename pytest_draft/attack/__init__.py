"""The attack: in go a forest, a domain and groups, out comes a reconstruction. It never sees the truth."""

from pytest_draft.attack import compiling

compiling.prepare()
