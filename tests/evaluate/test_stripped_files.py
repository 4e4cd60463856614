"""Files whose counts were removed by halves, or seeds alone, are judged by what is left."""

from __future__ import annotations

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier, RandomForestRegressor
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact.reader import read
from pytest_draft.evaluate.stripped_identity import with_draws
from pytest_draft.examine.attack import WITHOUT_SEEDS
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case
from pytest_draft.policy.policy import default_policy
from pytest_draft.policy.verdict import judge
from stripping import stripped

pytestmark = pytest.mark.nightly


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(2)
    rows = pd.DataFrame(random.integers(0, 3, (40, 5)), columns=list("abcde"))
    return rows.assign(y=rows.a + rows.b + random.integers(0, 3, 40) > 2)


@pytest.fixture
def examined(table, tmp_path):
    def judge(model, level, **options):
        fitted = model.fit(table[list("abcde")], table.y)
        joblib.dump(stripped(fitted, level, **options), tmp_path / "model.joblib")
        return examine(Case(str(tmp_path / "model.joblib"), target="y", seconds=30), table)[0]

    return judge


@pytest.mark.parametrize("left", [("inner fractions",), ("impurity",), ("weighted_n_node_samples",)], ids=str)
@pytest.mark.parametrize("kind", [RandomForestClassifier(10, random_state=0), DecisionTreeClassifier(random_state=0)])
def test_a_file_of_whose_counts_something_is_left_is_attacked_and_never_passes(left, kind, examined):
    found = examined(kind, "counts", left=left)
    assert found.artifact.published.left
    assert found.findings.identity.status == "confirmed"
    # The shares of one tree alone say next to nothing of its rows: they get as close as a random dataset.
    trees = getattr(kind, "n_estimators", 1)
    assert found.findings.whole.error.upper < found.findings.whole.random.error * (1.0 if trees > 1 else 1.25)
    assert any("are left, and not used yet" in reason for reason in found.reasons)
    results = {check.rule: check.result for check in judge(found, default_policy())}
    assert results["counts-published"] == "inconclusive"
    assert results["reconstruction-error"] != "passed"
    assert found.artifact.structure is None
    assert "removed from its file" in found.not_audited


def test_a_regressor_without_counts_is_judged_by_who_must_be_in_its_leaves(examined):
    found = examined(RandomForestRegressor(3, max_depth=2, random_state=0), "counts")
    assert found.solver_status == "likeliest"
    assert found.findings.identity.status == "confirmed"
    assert any("mean targets in the nodes" in note for note in (*found.reasons, *found.notes))
    assert found.findings.whole.ideal is not None  # every row is held in its leaves, so that unused means add nothing
    assert 0 < found.findings.whole.ideal.least_error <= found.findings.whole.error.upper


def test_shares_that_class_weights_have_scaled_are_not_covered(examined):
    found = examined(RandomForestClassifier(3, class_weight="balanced_subsample", random_state=0), "counts")
    assert found.solver_status == "not covered"
    assert found.findings is None


@pytest.fixture
def amounts(table):
    random = np.random.default_rng(4)
    return table.assign(e=random.normal(50, 10, len(table)).round(2))


@pytest.mark.parametrize("kind", [RandomForestClassifier, RandomForestRegressor])
def test_numeric_columns_of_a_file_without_seeds_are_judged(kind, amounts, tmp_path):
    fitted = kind(30, random_state=3_000_000_019).fit(amounts[list("abcde")], amounts.y)
    joblib.dump(stripped(fitted, "seeds"), tmp_path / "model.joblib")
    found = examine(Case(str(tmp_path / "model.joblib"), target="y", seconds=30), amounts)[0]
    assert found.findings is not None
    assert found.findings.identity.status == "confirmed"
    assert found.findings.whole.error.upper < found.findings.whole.random.error
    assert any("thresholds on numeric columns" in reason for reason in found.reasons)
    assert WITHOUT_SEEDS in found.notes


def test_other_rows_than_those_behind_counts_of_unknown_draws_are_told(amounts, tmp_path):
    fitted = RandomForestClassifier(6, random_state=3_000_000_019).fit(amounts[list("abcde")], amounts.y)
    joblib.dump(stripped(fitted, "seeds"), tmp_path / "model.joblib")
    others = amounts.assign(a=amounts.a.to_numpy()[::-1], c=amounts.c.to_numpy()[::-1])
    found = examine(Case(str(tmp_path / "model.joblib"), target="y", seconds=30), others)[0]
    assert found.findings.identity.status == "mismatch"


def test_the_best_guess_is_bounded_where_nobody_knows_the_draws(examined):
    found = examined(RandomForestClassifier(4, max_depth=2, random_state=3_000_000_019), "seeds")
    assert found.findings.whole.ideal is not None


@pytest.fixture
def drawn(tmp_path):
    """Return a function that says whether rows were drawn for each tree of a model without counts, by its rows."""

    def settled(model, level, rows):
        joblib.dump(stripped(model, level), tmp_path / "model.joblib")
        forest = read(tmp_path / "model.joblib").forest
        found = with_draws(forest, rows[list("abcde")].to_numpy(np.float32), rows.y.to_numpy().astype(int), 0)
        return found.draws.rows

    return settled


@pytest.mark.parametrize("level", ["counts", "decimals:2"])
@pytest.mark.parametrize("kind", [RandomForestClassifier, ExtraTreesClassifier])
def test_a_file_that_says_that_rows_were_drawn_is_not_believed_where_leaves_answer_as_all_rows(
    kind, level, table, drawn
):
    model = kind(20, max_depth=3, bootstrap=False, random_state=0).fit(table[list("abcde")], table.y)
    model.bootstrap = True
    assert drawn(model, level, table) == "all"


@pytest.mark.parametrize("level", ["counts", "decimals:2", "labels"])
def test_a_file_that_says_so_is_believed_where_rows_were_drawn(level, table, drawn):
    model = RandomForestClassifier(20, max_depth=3, random_state=0).fit(table[list("abcde")], table.y)
    assert drawn(model, level, table) == "with replacement"


def test_pure_leaves_are_no_sign_that_each_tree_saw_all_rows(table, drawn):
    rows = table.assign(y=table.a > 1)
    model = RandomForestClassifier(10, max_features=None, random_state=0).fit(rows[list("abcde")], rows.y)
    assert drawn(model, "counts", rows) == "with replacement"


def test_such_a_file_is_judged_as_what_it_is_and_a_note_says_so(table, tmp_path):
    model = RandomForestClassifier(20, max_depth=3, bootstrap=False, random_state=0)
    model.fit(table[list("abcde")], table.y).bootstrap = True
    joblib.dump(stripped(model, "counts"), tmp_path / "model.joblib")
    found = examine(Case(str(tmp_path / "model.joblib"), target="y", seconds=30, effort=0.3), table)[0]
    assert any("judged as a forest whose trees saw all rows" in note for note in found.notes)
    assert found.findings.identity.why == "these rows give what each leaf of the forest answers"


@pytest.mark.parametrize("level", ["seeds", "counts", "labels"])
def test_trees_of_one_leaf_are_judged(level, examined):
    found = examined(RandomForestClassifier(5, min_samples_leaf=40, random_state=0), level)
    assert found.findings is not None
    assert not any("internal error" in reason for reason in found.reasons)


@pytest.mark.parametrize("level", ["seeds", "counts"])
def test_a_domain_that_excludes_rows_is_a_doubt_and_hides_no_failure(level, table, tmp_path):
    fitted = RandomForestClassifier(40, random_state=3_000_000_019).fit(table[list("abcde")], table.y)
    joblib.dump(stripped(fitted, level), tmp_path / "model.joblib")
    narrow = "".join(f'[attributes.{name}]\nkind = "ordinal"\nlow = 0\nhigh = 2\n' for name in "abcd")
    narrow += '[attributes.e]\nkind = "ordinal"\nlow = 0\nhigh = 1\n'
    (tmp_path / "domain.toml").write_text(narrow)
    case = Case(str(tmp_path / "model.joblib"), target="y", seconds=30, domain=str(tmp_path / "domain.toml"))
    found = examine(case, table)[0]
    assert found.solver_status not in ("refused", "error")
    assert any("excludes" in reason for reason in found.reasons)
