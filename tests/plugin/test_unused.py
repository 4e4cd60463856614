"""A project that has the plugin installed and does not use it notices nothing."""

from __future__ import annotations

import pytest

from pytest_draft.documents import rules_folder
from pytest_draft.plugin import options

NEEDED = {
    "pytest_draft",
    "pytest_draft.plugin",
    "pytest_draft.plugin.fixtures",
    "pytest_draft.plugin.hooks",
    "pytest_draft.plugin.hookspecs",
    "pytest_draft.plugin.marks",
    "pytest_draft.plugin.options",
}
"""The package's modules that register options, marker, fixtures and hooks. They import nothing but pytest."""

WATCH = """
import sys

def pytest_unconfigure(config):
    print("\\nimported:", *sorted(sys.modules))
"""


def imported(pytester, *arguments: str) -> set[str]:
    """Return the modules that a run of pytest has imported at its end."""
    pytester.makeconftest(WATCH)
    result = pytester.runpytest_subprocess(*arguments)
    assert result.ret == 0
    (line,) = [line for line in result.outlines if line.startswith("imported: ")]
    return set(line.split()[1:])


@pytest.mark.nightly
def test_only_what_registers_the_plugin_is_imported_when_it_is_not_used(pytester):
    pytester.makepyfile(
        """
        import unittest
        import pytest

        @pytest.fixture
        def prepared(): yield 1

        @pytest.mark.parametrize("number", [1, 2])
        def test_something(number, prepared): assert number

        @pytest.mark.xfail
        def test_that_fails(): assert False

        @pytest.mark.skip
        def test_that_is_skipped(): ...

        class Test(unittest.TestCase):
            def test_a_method(self): ...
        """
    )
    assert imported(pytester) - imported(pytester, "-p", "no:draft") == NEEDED


@pytest.mark.nightly
def test_nothing_more_is_imported_for_ini_values_when_nothing_asks_for_a_judgement(pytester):
    pytester.makeini("[pytest]\ndraft_forest = model.joblib\ndraft_budget = 5\ndraft_strict = true")
    pytester.makepyfile("def test_something(): assert True")
    assert imported(pytester) - imported(pytester, "-p", "no:draft") == NEEDED


@pytest.mark.nightly
def test_help_markers_and_fixtures_import_nothing_more_when_they_are_shown(pytester):
    for shown in ("--help", "--markers", "--fixtures"):
        assert imported(pytester, shown) - imported(pytester, "-p", "no:draft", shown) == NEEDED


@pytest.mark.nightly
def test_the_output_is_the_same_as_without_the_plugin_when_it_is_not_used(pytester):
    pytester.makepyfile("def test_something(): assert True")
    without = pytester.runpytest_subprocess("-q", "-p", "no:draft").outlines[:-1]
    with_plugin = pytester.runpytest_subprocess("-q").outlines[:-1]  # the last line tells the seconds
    assert with_plugin == without


@pytest.mark.nightly
def test_help_and_markers_show_one_prefix_and_the_marker_when_asked_for(pytester):
    shown = pytester.runpytest_subprocess("--help").stdout
    shown.fnmatch_lines(["*--draft-forest=PATH*", "*draft_forest (paths)*"])
    markers = pytester.runpytest_subprocess("--markers").stdout
    markers.fnmatch_lines(["@pytest.mark.reconstruction_budget(*max_error*max_perfect_rows*low is bad*"])


def test_help_names_all_shipped_policies():
    (said,) = [text for name, _, text in options._OPTIONS if name == "policy"]
    shipped = [path.stem for path in rules_folder().glob("*.toml")]
    assert "default" in shipped
    assert [name for name in shipped if name not in said] == []


@pytest.mark.nightly
def test_fixtures_and_marker_are_known_when_nothing_has_used_them(pytester):
    listed = pytester.runpytest_subprocess("--fixtures").stdout.str()
    names = ("forest", "adversary", "training_data", "policy", "attack", "result")
    assert [name for name in names if f"draft_{name}" not in listed] == []
    pytester.makepyfile(
        "import pytest\n@pytest.mark.reconstruction_budget(max_error=1)\ndef test_it(draft_result): ..."
    )
    assert pytester.runpytest_subprocess("--strict-markers", "--collect-only").ret == 0


@pytest.mark.nightly
def test_strictness_hears_of_a_marked_test_that_was_left_out_when_a_worker_has_collected_it(pytester):
    pytester.makepyfile(
        """
        import pytest

        def test_something(): ...

        @pytest.mark.reconstruction_budget(max_error=1)
        def test_release(draft_result): ...
        """
    )
    command = ("-n", "1", "-k", "test_something")
    assert pytester.runpytest_subprocess(*command).ret == 0
    strict = pytester.runpytest_subprocess(*command, "--draft-strict")
    assert strict.ret == 1
    strict.assert_outcomes(passed=1, deselected=0)
