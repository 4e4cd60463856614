"""What is packed: all that the wheel is built of is in the source distribution."""

from __future__ import annotations

import tomllib
from pathlib import Path, PurePosixPath

import pytest

ROOT = Path(__file__).parents[2]
BUILD = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]["targets"]

BUILDERS = ["hatch_build.py", "compile_ahead.py", "kernels.txt"]


@pytest.mark.parametrize(
    "packed", [*BUILD["wheel"]["packages"], *BUILD["wheel"]["force-include"], "README.md", "LICENSE", *BUILDERS]
)
def test_the_source_distribution_holds_what_a_wheel_is_built_of(packed):
    assert (ROOT / packed).exists()
    assert any(PurePosixPath(packed).match(pattern) for pattern in BUILD["sdist"]["include"])


def test_nothing_is_compiled_ahead_unless_it_is_asked_for():
    assert BUILD["wheel"]["hooks"]["custom"]["enable-by-default"] is False
