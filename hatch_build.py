"""The step that puts compiled code into a wheel: in goes this checkout, out comes a folder that the wheel takes along.

It is for releases, and off unless HATCH_BUILD_HOOK_ENABLE_CUSTOM says otherwise. Where it cannot be done (an editable
installation, another kind of machine, anything missing or wrong) the wheel has no such folder, and everything is
compiled where it is first used.
"""

from __future__ import annotations

import platform
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_AT_MOST_SECONDS = 1800.0


def _tag() -> str:
    """Return what the wheel is for: this version of Python, and this system."""
    python = f"cp{sys.version_info.major}{sys.version_info.minor}"
    system = sysconfig.get_platform().replace("-", "_").replace(".", "_")
    if platform.libc_ver()[0] == "glibc":  # which nothing in the wheel is linked to
        system = system.replace("linux", "manylinux_2_28")
    return f"{python}-{python}-{system}"


class CompileAhead(BuildHookInterface):  # type: ignore[type-arg]
    """Compiles what judgements call, by a process of its own."""

    _made: tempfile.TemporaryDirectory[str] | None = None

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Add the compiled code to what the wheel holds."""
        if version == "editable":
            return
        self._made = tempfile.TemporaryDirectory(prefix="pytest-draft-", ignore_cleanup_errors=True)
        folder = Path(self._made.name) / "compiled"
        self.app.display_info("Compiling ahead: this takes some minutes")
        command = [sys.executable, str(Path(self.root) / "compile_ahead.py"), str(folder)]
        try:
            ended = subprocess.run(
                command, cwd=self._made.name, capture_output=True, text=True, check=False, timeout=_AT_MOST_SECONDS
            )
            said = ended.stderr.strip().splitlines()[-1:] if ended.returncode else []
            whole = ended.returncode == 0 and folder.is_dir()
        except (OSError, subprocess.SubprocessError) as error:
            said, whole = [type(error).__name__], False
        if whole:
            build_data["force_include"][str(folder)] = "pytest_draft/compiled"
            build_data |= {"pure_python": False, "tag": _tag()}
        else:
            self.app.display_warning(" ".join(["Nothing was compiled ahead: the first judgement will be slow.", *said]))

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove what the wheel holds by now."""
        if self._made is not None:
            self._made.cleanup()
