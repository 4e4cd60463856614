"""What a process has held, whoever started it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from studies.memory import peak_memory

ROOT = Path(__file__).parents[2]
CHILD = "from studies.memory import peak_memory; held = bytearray({held}); print(peak_memory())"
PARENT = """
import subprocess, sys
held = bytearray(400 << 20)
held[:: 4096] = bytes(len(held[:: 4096]))  # now it is there
subprocess.run([sys.executable, "-c", {child!r}], check=True)
"""


@pytest.mark.parametrize(("held", "most"), [(0, 100), (150 << 20, 300)])
def test_a_process_is_not_charged_with_what_its_parent_holds(held, most):
    code = PARENT.format(child=CHILD.format(held=held))
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert held <= int(run.stdout) < most << 20


def test_what_is_held_is_counted():
    before = peak_memory()
    held = b"x" * (64 << 20)
    assert peak_memory() >= max(before, len(held))
