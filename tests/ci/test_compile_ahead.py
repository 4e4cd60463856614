"""The step that puts compiled code into a wheel: where it cannot, the wheel is built without, and says so."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip("hatchling", reason="needs what builds a wheel")

ROOT = Path(__file__).parents[2]


@pytest.fixture
def build(tmp_path):
    """Return a function that runs the step where a script stands for what compiles; it returns the warnings and
    what the wheel gets besides, by its name in the wheel."""
    described = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    module = importlib.util.module_from_spec(described)
    described.loader.exec_module(module)

    def run(script: str | None, version: str = "standard") -> tuple[list[str], dict[str, list[str]]]:
        if script is not None:
            (tmp_path / "compile_ahead.py").write_text(script, encoding="utf-8")
        warnings: list[str] = []
        app = SimpleNamespace(display_info=lambda text: None, display_warning=warnings.append)
        hook = module.CompileAhead(str(tmp_path), {}, None, None, str(tmp_path), "wheel", app)
        data = {"force_include": {}}
        hook.initialize(version, data)
        packed = {
            name: sorted(path.name for path in Path(folder).rglob("*"))
            for folder, name in data["force_include"].items()
        }
        hook.finalize(version, data, "")
        assert not any(Path(folder).exists() for folder in data["force_include"])
        assert ("tag" in data) == bool(packed)
        assert data.get("tag", "cp3").startswith("cp3")  # it is for this Python alone
        return warnings, packed

    return run


COMPILES = "import pathlib, sys; out = pathlib.Path(sys.argv[1]); out.mkdir(); (out / 'kernel.nbc').touch()"


def test_what_was_compiled_is_packed(build):
    assert build(COMPILES) == ([], {"pytest_draft/compiled": ["kernel.nbc"]})


def test_an_editable_installation_compiles_nothing(build):
    assert build("raise SystemExit('it ran')", "editable") == ([], {})


@pytest.mark.parametrize(
    "script", [None, "raise SystemExit('no numba')", f"{COMPILES}; raise SystemExit('halfway')", ""]
)
def test_where_nothing_can_be_compiled_the_wheel_has_none(build, script):
    (warning,), packed = build(script)
    assert packed == {}
    assert warning.startswith("Nothing was compiled ahead")
    if script and "SystemExit" in script:
        assert script.split("'")[-2] in warning
