"""The papers' results beside ours: what is computed in a cell, how it stands beside published runs, and its page."""

from __future__ import annotations

import itertools
from math import comb, factorial, log, prod
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from pytest_draft.artifact.forest.occurrences import occurrences
from pytest_draft.facts.adversary import Adversary
from pytest_draft.knowledge import grant
from studies.__main__ import main
from studies.cells import running
from studies.cells.computing import computed
from studies.papers import page, plots
from studies.papers.icml_cells import (
    by_model,
    consistent_datasets,
    figure_1,
    four_rows,
    likeliest_seen,
    worst_case_error,
)
from studies.papers.result import PaperResult, Section, because, bold, is_worse, mean_text, reason_of, unanswered, where
from studies.papers.results import RESULTS
from studies.papers.targets import attacked, error_of, papers_domain, target_of

SHARED = Path(__file__).parents[3] / "shared"
DOCS = Path(__file__).parents[2] / "docs" / "results"
ICML = [name for name in RESULTS if name.startswith("icml-")]


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    """Return a folder with invented runs of the authors, in the columns of theirs."""
    folder = tmp_path_factory.mktemp("published")
    for name, head in {
        "draft_runs": "dataset,n_trees,max_depth,seed,bagging,method",
        "draft_scalability_runs": "dataset,n_examples,seed",
        "draft_known_occurrences_runs": "dataset,n_trees,max_depth,seed",
        "draft_partial_runs": "dataset,seed,knowledge,known",
    }.items():
        error = "worst_case_error" if "occurrences" in name else "reconstruction_error"
        lines = {
            "draft_runs": [
                f"compas,{size},{depth},{seed},{bagging},{method},OPTIMAL,0.25,9.5"
                for size, depth in ((5, None), (1, 2))
                for seed in range(2)
                for bagging in (False, True)
                for method in ("cp-sat", "milp")
            ],
            "draft_scalability_runs": ["compas,25,0,OPTIMAL,0.25,9.5", "compas,25,1,UNKNOWN,0.77,9.5"],
            "draft_known_occurrences_runs": ["compas,5,None,0,OPTIMAL,0.25,9.5"],
            "draft_partial_runs": [
                "compas,0,known_attributes,6,FEASIBLE,0.25,9.5",
                "compas,0,known_proportion,0.99,UNKNOWN,0.77,9.5",
            ],
        }[name]
        (folder / f"{name}.csv").write_text("\n".join([f"{head},status,{error},seconds", *lines]) + "\n")
    return folder


def target(datasets, trees, depth, *, bagging, rows=30, seed=0):
    return target_of(datasets / "compas.csv", rows, trees, depth, seed, bagging=bagging)


# -- the command, the page and the plot


@pytest.fixture(scope="module")
def ran(datasets, published, tmp_path_factory):
    """Run the quick form of all ICML results once; return the folder of pages and the words of the command."""
    pytest.importorskip("matplotlib")
    folder = tmp_path_factory.mktemp("papers")
    words = ["papers", *ICML, "--part", "quick", "--datasets", str(datasets), "--published", str(published)]
    words += ["--store", str(folder / "store")]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(running, "outcomes", lambda where, calls: (one for one in enumerate(map(computed, calls))))
        assert main([*words, "--output", str(folder / "pages")]) == 0
    return folder, words


def test_one_command_computes_and_shows_every_result_of_the_icml_paper(ran):
    folder, _ = ran
    for name in ICML:
        text = (folder / "pages" / f"{name}.md").read_text(encoding="utf-8")
        assert text.startswith(f"# {RESULTS[name].title}\n")
        assert f"python -m studies papers {name} " in text
        assert f"]({name}.svg)" in text
        assert "Python 3." in text
        assert "Load of the machine" in text
        assert "0.7700" not in text, "the error beside UNKNOWN is that of random guesses"
        if RESULTS[name].published:
            assert "0.2500" in text
        assert (folder / "pages" / f"{name}.svg").stat().st_size < 120_000


def test_runs_of_the_authors_without_an_answer_are_counted(ran):
    folder, _ = ran
    assert "| 1 of 2 |" in (folder / "pages" / "icml-tables-6-8.md").read_text(encoding="utf-8")
    assert "| 1 of 1 |" in (folder / "pages" / "icml-figure-6.md").read_text(encoding="utf-8")


def test_what_was_computed_is_kept_and_gives_the_same_page_and_plot_bit_for_bit(ran):
    folder, words = ran
    names = ["icml-figure-1-table-1", "icml-figure-5"]
    words = [words[0], *names, *words[len(ICML) + 1 :]]
    assert main([*words, "--output", str(folder / "again")]) == 0
    for name in names:
        for ending in ("md", "svg"):  # with the seconds that the cells took, so nothing was computed again
            first, second = (folder / at / f"{name}.{ending}" for at in ("pages", "again"))
            assert first.read_bytes() == second.read_bytes()


def test_a_missing_file_of_the_authors_is_told_before_any_work(datasets, tmp_path):
    words = f"papers {ICML[-1]} --part quick --datasets {datasets} --published {tmp_path} --store {tmp_path / 'store'}"
    with pytest.raises(SystemExit, match=r"^\[Errno 2\] .*\.csv'$"):
        main(words.split())
    assert not (tmp_path / "store").exists()


@pytest.fixture
def result():
    """Return a result that is shown, and never computed."""
    return PaperResult(
        name="some-table-1",
        title="Some paper, table 1",
        measured="Something.",
        compute=four_rows,
        cells=lambda part: [{"seed": seed} for seed in range(3 if part == "all" else 2)],
        cut="Cut: a seed.",
        tables=(),
        published=(),
        sections=lambda rows, authors: [
            Section("One", "Text.", pd.DataFrame({"a|b": [bold("0.5", True), bold("0.1", False), None]}))
        ],
        draw=lambda sections: plots.panels({"one": [plots.Curve([1, 2], [0.1, 0.2], "ours")]}, "x", "y"),
        remarks="Remark.",
    )


def test_a_page_tells_what_is_worse_what_was_cut_and_what_failed(result):
    rows = pd.DataFrame({"error": [0.1, 0.5], "load": [1.0, 3.0]})
    rows.attrs.update(failed=1, about=["on a machine", "by Python"])
    text = page.markdown(result, rows, result.sections(rows, {}))
    assert "In bold: worse than published (1 of all values)." in text
    assert "| a\\|b |\n| --- |\n| **0.5** |\n| 0.1 |\n| - |" in text
    assert "- 2 cells here, 3 in the paper's form (`--part all`). Cut: a seed." in text
    assert "- **1 cells ended with an error and are missing.**" in text
    assert "- On a machine.\n- By Python.\n" in text
    assert "2.0 on average, 3.0 at most" in text


def test_every_result_has_its_page_and_plot_in_the_docs_and_the_index_links_it():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    for name, result in RESULTS.items():
        assert f"({name}.md)" in index
        assert (DOCS / f"{name}.md").read_text(encoding="utf-8").startswith(f"# {result.title}\n")
        assert 1_000 < (DOCS / f"{name}.svg").stat().st_size < 120_000


@pytest.mark.parametrize("name", list(RESULTS))
def test_the_cells_of_the_docs_are_among_those_of_the_paper(name):
    result = RESULTS[name]
    cells = {part: {tuple(sorted(cell.items())) for cell in result.cells(part)} for part in ("quick", "cut", "all")}
    assert cells["cut"] <= cells["all"]
    assert 0 < len(cells["quick"]) < len(cells["cut"]) or name == "icml-figure-1-table-1"
    assert all(len(cells[part]) == len(result.cells(part)) for part in cells)


# -- numbers


def test_means_are_shown_with_their_standard_error_and_number_of_runs():
    assert mean_text(np.array([])) == "-"
    assert mean_text(np.array([0.5])) == "0.5000 (1)"
    assert mean_text(np.array([0.0, 0.2]), 2) == "0.10 ± 0.10 (2)"


@pytest.mark.parametrize(
    ("ours", "theirs", "worse"),
    [
        ([0.2, 0.2], [0.1, 0.1], "no time"),
        ([0.1051, 0.1051], [0.105, 0.105], "no time"),
        ([0.0, 0.4], [0.1, 0.1], "no time (within two standard errors)"),
        ([0.10501], [0.105], ""),  # the printed means are the same
        ([0.1, 0.1], [0.2, 0.2], ""),
        ([], [0.1], ""),
        ([0.1], [], ""),
    ],
)
def test_an_error_is_worse_where_its_printed_mean_is_larger_and_said_to_be_chance_where_it_may_be(ours, theirs, worse):
    runs = np.array(ours), np.array(theirs)
    assert is_worse(*runs) is bool(worse)
    assert because("no time", *runs) == worse


def test_the_worst_of_several_comparisons_counts():
    ours, low, high = np.array([0.2, 0.2]), np.array([0.1, 0.1]), np.array([0.3, 0.3])
    assert is_worse(ours, high, low)
    assert because("no time", ours, high, low) == "no time"
    assert not is_worse(ours, high)


@pytest.mark.parametrize(
    ("errors", "runs", "shown", "more"),
    [
        ([None, 0.1], ["0.1", "0.1"], "**1 of 2**", True),
        ([None, 0.1], ["", "0.1"], "1 of 2", False),
        ([0.1, 0.1], ["", ""], "0 of 2", False),
        ([None, 0.1], [], "**1 of 2**", True),
    ],
)
def test_more_runs_without_an_answer_than_published_are_worse_and_have_a_reason(errors, runs, shown, more):
    rows = pd.DataFrame({"error": errors, "clock_ended": [True, False], "limit": [10.0, 10.0]})
    found = unanswered(rows, pd.DataFrame({"reconstruction_error": runs}))
    assert (found.ours, found.more) == (shown, more)
    assert found.reason == ("the time box (10 s) ended 1 of 2 searches" if more else "")


def test_the_reason_is_the_time_box_where_it_ended_a_search():
    rows = pd.DataFrame({"clock_ended": [True, False, True], "limit": [10.0, 10.0, 2.5]})
    assert reason_of(rows, "chance") == "the time box (2.5, 10 s) ended 2 of 3 searches"
    assert reason_of(rows[1:2], "chance") == "chance"


def test_rows_are_chosen_by_values_as_they_are_written():
    rows = pd.DataFrame({"n": [1, 2, 2], "bagging": ["True", "False", "True"]})
    assert where(rows, n="2", bagging=True).index.tolist() == [2]


# -- forests


@pytest.mark.parametrize(("name", "n_attributes"), [("compas", 7), ("adult", 14), ("default_credit", 16)])
def test_the_domain_is_the_one_that_the_paper_grants(name, n_attributes):
    columns = {"compas": 14, "adult": 19, "default_credit": 21}[name]
    domain = papers_domain(name, [f"column {i}" for i in range(columns)])
    assert len(domain.attributes) == n_attributes  # appendix G
    assert {attribute.kind for attribute in domain.attributes} == {"binary", "one-hot"}


def test_a_search_without_an_answer_has_no_error_and_is_told(datasets):
    found = attacked(target(datasets, 3, 0, bagging=False), "published", 1e-9, 0)
    assert found["error"] is None
    assert found["status"] == "no solution"
    assert found["clock_ended"] is True


def test_known_attributes_are_no_part_of_the_error_and_known_rows_of_none(datasets):
    forest = target(datasets, 5, 0, bagging=True, rows=20)
    all_but_one, most_rows = (attacked(forest, f"published+{side}", 600.0, 0) for side in ("columns:6", "rows:90%"))
    assert all_but_one["unknown_rows"] == 20
    assert most_rows["unknown_rows"] == 2
    knowledge = grant(Adversary.parse("published+columns:6"), forest.data, forest.domain, forest.forest, 0)
    unknown = [i for i in range(14) if i not in knowledge.columns]
    wrong = forest.data.rows.copy()
    wrong[0, unknown[0]] = 1 - wrong[0, unknown[0]]
    few = error_of(forest.data.rows, wrong, forest.domain, knowledge.attributes)
    assert few == pytest.approx(1 / (20 * len(unknown)))


@pytest.mark.parametrize("method", ["engine", "cp", "milp"])
def test_each_model_of_the_paper_and_the_engine_rebuild_a_small_forest(datasets, method):
    found = by_model(data=datasets / "compas.csv", method=method, trees=10, depth=0, seed=0, rows=8, limit=600.0)
    assert found["status"] in ("optimal", "unique", "consistent")
    assert found["error"] < 0.1
    assert found["clock_ended"] is False


# -- figure 5


def likeliest_number_seen(draws, n_rows, n):
    """Return how many of some rows are drawn at least once by the likeliest way to draw them, by enumeration."""

    def log_chance(times):
        return sum(log(comb(n, b) * (1 / n) ** b * (1 - 1 / n) ** (n - b)) for b in times)

    ways = [times for times in itertools.product(range(draws + 1), repeat=n_rows) if sum(times) == draws]
    return sum(b > 0 for b in max(ways, key=log_chance))


@pytest.mark.parametrize(("draws", "n_rows"), [(1, 3), (3, 3), (5, 3), (2, 4), (4, 2)])
def test_the_likeliest_occurrences_are_spread_evenly(draws, n_rows):
    assert likeliest_number_seen(draws, n_rows, 20) == min(draws, n_rows)


@pytest.mark.parametrize("seed", [0, 1])
def test_as_many_rows_are_seen_as_the_likeliest_occurrences_of_each_leaf_say(datasets, seed):
    forest = target(datasets, 4, 3, bagging=True, seed=seed)
    seen, drawn = likeliest_seen(forest, seed), occurrences(forest.forest)
    assert seen.sum() > (drawn > 0).sum()
    reached = likeliest_seen(forest, seed + 1)
    assert (seen.sum(axis=1) == reached.sum(axis=1)).all()  # whichever rows are drawn


def test_who_has_seen_no_leaf_guesses_all_wrongly_and_who_has_seen_all_knows_what_is_tested(datasets):
    forest = target(datasets, 30, 0, bagging=True, rows=12)
    nobody, everybody = np.zeros((30, 12), dtype=bool), np.ones((30, 12), dtype=bool)
    tested = {int(feature) for tree in forest.forest.trees for feature in tree.feature[tree.left >= 0]}
    assert worst_case_error(forest, nobody) > worst_case_error(forest, occurrences(forest.forest) > 0)
    assert worst_case_error(forest, everybody) <= worst_case_error(forest, occurrences(forest.forest) > 0)
    assert worst_case_error(forest, everybody) >= (1 - len(tested) / 14) / 14


def test_a_tree_without_a_split_tells_nothing_of_its_rows(datasets):
    table = pd.read_csv(datasets / "compas.csv")
    table[table.columns[-1]] = 1
    other = datasets / "one_class"
    other.mkdir(exist_ok=True)
    (other / "compas.csv").write_text(table.to_csv(index=False))
    forest = target_of(other / "compas.csv", 20, 3, 0, 0, bagging=True)
    seen = np.ones((3, 20), dtype=bool)
    assert worst_case_error(forest, seen) == worst_case_error(forest, ~seen) > 0.3


# -- figure 1


def test_the_two_trees_of_figure_1_are_as_its_text_describes_them():
    first, second = figure_1().trees
    assert 0 not in first.feature[first.left >= 0]
    assert 2 not in second.feature[second.left >= 0]
    leftmost = first.left[first.left[0]]
    assert figure_1().counts(0)[leftmost].tolist() == [2, 0]


def test_datasets_that_meet_all_counts_are_counted():
    forest, vectors = figure_1(), list(itertools.product((0, 1), repeat=4))
    pairs = list(itertools.combinations_with_replacement(vectors, 2))
    assert len(pairs) ** 2 == 18_496 == prod([factorial(17) // factorial(15) // 2] * 2)

    def counts(rows, tree):
        found = np.zeros(tree.n_nodes, dtype=int)
        for row in rows:
            v = 0
            while tree.left[v] >= 0:
                v = tree.left[v] if row[tree.feature[v]] <= 0.5 else tree.right[v]
            found[v] += 1
        return found

    number = 1
    for c in (0, 1):
        number *= sum(
            all(
                (counts(rows, tree)[tree.leaves] == forest.counts(t)[tree.leaves, c]).all()
                for t, tree in enumerate(forest.trees)
            )
            for rows in pairs
        )
    assert consistent_datasets(forest) == number == 8


@pytest.mark.parametrize("trees", [1, 2, 5, 20])
@pytest.mark.parametrize("seed", [100, 101, 102])
def test_the_engine_proves_a_dataset_unique_where_enumeration_finds_one(trees, seed):
    found = four_rows(forest="default", trees=trees, seed=seed, limit=600.0)
    assert (found["status"] == "unique") == (found["datasets"] == 1)
    assert found["error"] == 0 or found["datasets"] > 1


# -- the papers' own data


@pytest.mark.skipif(not (SHARED / "published").is_dir(), reason="needs the papers' data and runs in ../shared")
def test_on_the_papers_data_the_published_runs_stand_beside_ours(tmp_path, capsys):
    names = ["icml-tables-6-8", "icml-figure-2-tables-2-3"]
    words = ["papers", *names, "--part", "quick", "--store", str(tmp_path)]
    words += ["--datasets", str(SHARED / "datasets"), "--published", str(SHARED / "published")]
    assert main(words) == 0
    printed = capsys.readouterr().out
    (line,) = (line for line in printed.splitlines() if line.split()[:1] == ["25"])
    assert line.count("0.0000") == 3  # ours; theirs and its standard error
    assert "0.0057 ± 0.0016 (5)" in printed  # five trees without bagging
    assert "0.0634 ± 0.0019 (5)" in printed  # and with it
