"""A project that has the plugin installed and does not use it notices nothing."""

from __future__ import annotations

HEAVY = (
    "numpy",
    "scipy",
    "sklearn",
    "ortools",
    "pandas",
    "pyarrow",
    "jsonschema",
    "joblib",
    "psutil",
    "pytest_draft.examine.flow",
    "pytest_draft.isolation",
)

WATCH = f"""
import sys

def pytest_unconfigure(config):
    print("imported:", sorted(set({HEAVY!r}) & set(sys.modules)))
"""


def test_nothing_heavy_is_imported_when_the_plugin_is_not_used(pytester):
    pytester.makeconftest(WATCH)
    pytester.makepyfile("def test_something(): assert True")
    result = pytester.runpytest_subprocess()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["plugins: *draft*", "imported: []"])


def test_nothing_is_imported_for_ini_values_when_nothing_asks_for_a_judgement(pytester):
    pytester.makeconftest(WATCH)
    pytester.makeini("[pytest]\ndraft_forest = model.joblib\ndraft_budget = 5")
    pytester.makepyfile("def test_something(): assert True")
    result = pytester.runpytest_subprocess()
    assert result.ret == 0
    result.stdout.fnmatch_lines(["imported: []"])


def test_the_output_is_the_same_as_without_the_plugin_when_it_is_not_used(pytester):
    pytester.makepyfile("def test_something(): assert True")
    without = pytester.runpytest_subprocess("-q", "-p", "no:draft").outlines[:-1]
    with_plugin = pytester.runpytest_subprocess("-q").outlines[:-1]  # the last line tells the seconds
    assert with_plugin == without


def test_help_and_markers_show_one_prefix_and_the_marker_when_asked_for(pytester):
    options = pytester.runpytest_subprocess("--help").stdout
    options.fnmatch_lines(["*--draft-forest=PATH*", "*draft_forest (paths)*"])
    markers = pytester.runpytest_subprocess("--markers").stdout
    markers.fnmatch_lines(["@pytest.mark.reconstruction_budget(*max_error*max_perfect_rows*"])


def test_help_imports_nothing_heavy_when_it_is_shown(pytester):
    pytester.makeconftest(WATCH)
    result = pytester.runpytest_subprocess("--help")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["imported: []"])
