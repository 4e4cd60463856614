"""The command line of the studies: every study says what it takes, and what is missing is said in one line."""

from __future__ import annotations

import runpy
import sys

import pytest

from studies.__main__ import STUDIES, main
from studies.optional import MissingPackageError, optional


def test_the_package_runs_as_a_module_and_names_all_studies(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["studies", "--help"])
    monkeypatch.delitem(sys.modules, "studies.__main__")
    with pytest.raises(SystemExit, match="0"):
        runpy.run_module("studies", run_name="__main__")
    printed = capsys.readouterr().out
    assert printed.startswith("usage: python -m studies ")
    assert all(f"    {name} " in printed for name in STUDIES)


@pytest.mark.parametrize("name", STUDIES)
def test_each_study_says_what_it_takes(name, capsys):
    with pytest.raises(SystemExit, match="0"):
        main([name, "--help"])
    assert f"usage: python -m studies {name} " in capsys.readouterr().out


def test_a_package_that_is_missing_is_named_with_its_extra_before_any_work(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit) as ended:
        main(["papers", "icml-figure-5", "--datasets", ".", "--published", ".", "--store", "kept", "--output", "out"])
    assert str(ended.value.code).endswith(": pip install 'pytest-draft[studies]'")
    assert "\n" not in str(ended.value.code)
    assert not any(tmp_path.iterdir())


def test_a_file_that_is_missing_is_told_in_one_line(tmp_path):
    with pytest.raises(SystemExit, match=r"^\[Errno 2\] .*compas\.csv'$"):
        main(["gate", "--datasets", str(tmp_path), "--names", "compas"])


def test_a_missing_package_is_an_import_error_too():
    with pytest.raises(
        MissingPackageError, match=r"^dreams need sleep \(No module named 'no_such'\): pip install "
    ) as one:
        optional("no_such", "dreams need sleep", "night")
    assert isinstance(one.value, ImportError)
