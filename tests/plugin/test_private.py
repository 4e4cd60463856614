"""Private forests through the whole gate: noisy counts, labels, and what is said of both.

No diffprivlib here: the estimators are given what a fit would have left, and its labels are in a class of its name.
"""

from __future__ import annotations

import sys
import types
from dataclasses import replace

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.tree._tree import NODE_DTYPE, Tree

from pytest_draft.attack.private.noisy_counts import rebuild_from_noise
from pytest_draft.dp import LaplaceForestClassifier
from pytest_draft.examine import private
from pytest_draft.examine.attack import TRUTH_IS_LIKELIER
from pytest_draft.examine.flow import examine
from pytest_draft.facts.case import Case

N_COLUMNS, DEPTH, N_TREES = 8, 3, 40
LEFT = np.array([1, 2, 3, -1, -1, 6, -1, -1, 9, 10, -1, -1, 13, -1, -1])
RIGHT = np.array([8, 5, 4, -1, -1, 7, -1, -1, 12, 11, -1, -1, 14, -1, -1])
INNER = LEFT >= 0

LITTLE = "--draft-effort=1"
"""For tests of what is said, however far the attack gets."""


def structure(seed=0):
    rng = np.random.default_rng(seed)
    feature = np.where(INNER, rng.integers(0, N_COLUMNS, (N_TREES, len(LEFT))), -2)
    return feature, np.where(INNER, 0.5, -2.0)


def counts_of(rows, feature):
    counts = np.zeros((N_TREES, len(LEFT), 2), np.int64)
    values, labels = rows.drop(columns="label").to_numpy(), (rows["label"] == "yes").to_numpy().astype(int)
    for t in range(N_TREES):
        node = np.zeros(len(rows), np.int64)
        for _ in range(DEPTH):
            left = values[np.arange(len(rows)), feature[t, node]] <= 0.5
            node = np.where(left, LEFT[node], RIGHT[node])
        np.add.at(counts[t], (node, labels), 1)
    return counts


def release(rows, path, *, epsilon=0.0, exact=False, clipped=False):
    """Write a forest that counted some rows, as `LaplaceForestClassifier` leaves it."""
    feature, threshold = structure()
    counts = counts_of(rows, feature)
    scale = N_TREES / epsilon
    if not exact:
        noise = np.random.default_rng(1).laplace(scale=scale, size=counts.shape)
        counts = np.where(INNER[:, None], 0, np.trunc(counts + noise)).astype(np.int64)
    if clipped:
        counts = np.maximum(counts, 0)
    model = LaplaceForestClassifier(N_TREES, epsilon=epsilon, bounds=(0, 1), classes=["no", "yes"], max_depth=DEPTH)
    model.n_features_in_, model.classes_ = N_COLUMNS, np.array(["no", "yes"])
    model.children_left_, model.children_right_ = LEFT, RIGHT
    model.feature_, model.threshold_ = feature, np.broadcast_to(threshold, feature.shape).copy()
    model.counts_ = counts
    model.epsilon_, model.delta_, model.scale_, model.rounding_ = epsilon, 0.0, scale, "sum"
    joblib.dump(model, path)


@pytest.fixture(scope="module", autouse=True)
def compiled(released, tmp_path_factory):
    """Compile what the attack needs, for all processes: on a slow machine a time box could end meanwhile."""
    data, path = released / "train.csv", tmp_path_factory.mktemp("noisy") / "noisy.joblib"
    release(pd.read_csv(data), path, epsilon=200.0)
    examine(Case(str(path), str(data), "label", effort=1.0))


@pytest.fixture
def noisy(project, rows):
    """Return a function that writes the forest of the training rows with some epsilon, and judges it."""

    def judged(*arguments, epsilon=200.0, **changes):
        release(rows, project.path / "noisy.joblib", epsilon=epsilon, **changes)
        return project.judge("noisy.joblib", "--draft-target=label", *arguments)

    return judged


@pytest.mark.nightly
def test_a_large_epsilon_does_not_save_a_forest(noisy, project):
    result = noisy()
    result.assert_outcomes(failed=2, passed=5, skipped=3)
    judged = project.result()
    assert judged["artifact"]["privacy"]["epsilon"] == 200.0
    assert judged["metrics"]["reconstruction_error"] < 0.1
    assert judged["solver_status"] == "likeliest"
    assert "number of training rows" in judged["domain"]["granted_to_adversary"]
    result.stdout.fnmatch_lines(["*noisy class counts (Laplace, epsilon 200)*"])


@pytest.mark.nightly
def test_strong_noise_hides_the_rows_and_passes(noisy, project):
    noisy(epsilon=0.5).assert_outcomes(passed=7, skipped=3)
    judged = project.result()
    left_out = {check["rule"] for check in judged["checks"] if check["result"] == "not applicable"}
    assert left_out == {"determined-rows", "given-all-other-rows", "membership"}
    assert judged["reasons"] == []
    assert judged["metrics"]["reconstruction_error"] > 0.2


@pytest.mark.nightly
def test_other_peoples_rows_are_no_pass(noisy, project, rows):
    release(rows, project.path / "noisy.joblib", epsilon=200.0)
    run = project.judge("noisy.joblib", "--draft-target=label", data="strangers.csv")
    assert run.parseoutcomes() == {"inconclusive": 2, "passed": 5, "skipped": 3}
    judged = project.result()
    assert judged["verdict"] == "inconclusive"
    assert "hardly trained on these rows" in judged["reasons"][0]


@pytest.mark.nightly
def test_the_number_of_rows_can_be_unknown(noisy, project):
    noisy("--draft-adversary=artifact+n-unknown").assert_outcomes(failed=2, passed=5, skipped=3)
    judged = project.result()
    assert "number of training rows" not in judged["domain"]["granted_to_adversary"]
    assert abs((judged["metrics"]["rebuilt_rows"] or 40) - 40) <= 2
    assert judged["metrics"]["reconstruction_error"] < 0.1


@pytest.mark.nightly
def test_known_columns_and_rows_are_left_out_of_the_figures(noisy, project):
    # the search stops short, and of noise nothing follows for certain
    noisy("--draft-adversary=artifact+columns:c1,c4+rows:25%").assert_outcomes(failed=2, passed=5, skipped=3)
    metrics = project.result()["metrics"]
    assert (metrics["n_rows"], metrics["known_rows"], metrics["known_attributes"]) == (30, 10, 2)


@pytest.mark.nightly
def test_an_informed_adversary_scores_every_candidate(noisy, project):
    noisy("--draft-adversary=artifact+informed").assert_outcomes(failed=3, passed=5, skipped=2)
    judged = project.result()
    assert judged["reasons"] == []
    metrics = judged["metrics"]
    assert (metrics["n_rows"], metrics["known_rows"]) == (40, 39)
    assert metrics["perfect_rows"] > 30


@pytest.mark.nightly
def test_exact_counts_behind_a_declared_epsilon_are_attacked_as_such(noisy, project):
    result = noisy(epsilon=1.0, exact=True)
    result.assert_outcomes(failed=5, passed=3)
    assert project.result()["artifact"]["privacy"]["exact"]
    result.stdout.fnmatch_lines(["*declares epsilon 1, but the counts in the file are exact*"])


@pytest.mark.nightly
def test_counts_that_were_clipped_after_the_noise_are_no_pass(noisy, project):
    assert noisy(epsilon=0.5, clipped=True).parseoutcomes() == {"inconclusive": 2, "passed": 5, "skipped": 3}
    judged = project.result()
    assert judged["verdict"] == "inconclusive"
    assert "more than the declared noise makes" in judged["reasons"][0]


@pytest.mark.nightly
def test_more_rows_than_are_looked_for_are_said(noisy, project):
    run = noisy("--draft-adversary=artifact+n-unknown", LITTLE, epsilon=0.05)
    assert run.parseoutcomes() == {"inconclusive": 2, "passed": 5, "skipped": 3}
    judged = project.result()
    assert judged["verdict"] == "inconclusive"
    assert "training rows, and where their number is unknown at most 400 are looked for" in judged["reasons"][0]
    assert "number of training rows" not in judged["domain"]["granted_to_adversary"]


@pytest.mark.nightly
def test_no_rows_to_compare_with_is_inconclusive(noisy, project, rows):
    release(rows, project.path / "noisy.joblib", epsilon=200.0)
    columns = "".join(f'[attributes.{index}]\nkind = "binary"\n' for index in range(N_COLUMNS))
    domain = project.write("domain.toml", columns)
    rules = "[rules.certain-rows]\nmax_certain_rows = 40\n"  # needs no data where there is a domain
    project.write("ours.toml", f'schema_version = 1\nname = "ours"\n{rules}')
    arguments = (f"--draft-domain={domain}", "--draft-policy=ours.toml", LITTLE)
    assert project.judge("noisy.joblib", *arguments, data=None).parseoutcomes() == {"skipped": 1}
    assert project.result()["verdict"] == "inconclusive"
    assert project.result()["reasons"][-1].startswith("no training data are given to compare with")


@pytest.fixture
def labels(project, monkeypatch, request):
    """Write a forest of diffprivlib, with labels at leaves and seeds in trees; of shuffled rows where asked for."""
    names = ("diffprivlib", "diffprivlib.models", "diffprivlib.models.forest")
    modules = [types.ModuleType(name) for name in names]
    for name, module in zip(names, modules, strict=True):
        monkeypatch.setitem(sys.modules, name, module)
    for name in ("RandomForestClassifier", "DecisionTreeClassifier"):
        setattr(modules[-1], name, type(name, (), {"__module__": names[-1]}))
    rng, (feature, threshold), shuffled = np.random.default_rng(2), structure(), getattr(request, "param", False)
    trees = []
    for t in range(N_TREES):
        nodes = np.zeros(len(LEFT), NODE_DTYPE)
        nodes["left_child"], nodes["right_child"] = LEFT, RIGHT
        nodes["feature"], nodes["threshold"] = feature[t], threshold
        inside = Tree(N_COLUMNS, np.array([2]), 1)
        values = np.where(INNER[:, None], 0.0, np.eye(2)[rng.integers(0, 2, len(LEFT))])
        inside.__setstate__(
            {"max_depth": DEPTH, "node_count": len(LEFT), "nodes": nodes, "values": values[:, None, :].copy()}
        )
        tree = modules[-1].DecisionTreeClassifier()
        tree.__dict__.update(epsilon=0.5, random_state=7 + t, n_features_in_=N_COLUMNS, n_outputs_=1, tree_=inside)
        tree.__dict__.update(classes_=np.array([0, 1]), n_classes_=2, monotonic_cst=None)
        trees.append(tree)
    forest = modules[-1].RandomForestClassifier()
    forest.__dict__.update(epsilon=0.5, random_state=None, warm_start=False, shuffle=shuffled, estimators_=trees)
    forest.__dict__.update(n_features_in_=N_COLUMNS, n_outputs_=1, classes_=np.array([0, 1]), n_classes_=2)
    joblib.dump(forest, project.path / "labels.joblib")
    return "labels.joblib"


@pytest.mark.nightly
def test_labels_are_attacked_and_never_pass_while_their_seeds_are_in_the_file(labels, project, rows):
    rows.assign(label=(rows["label"] == "yes").astype(int)).to_csv(project.path / "coded.csv", index=False)
    result = project.judge(labels, "--draft-target=label", data="coded.csv")
    assert result.parseoutcomes()["inconclusive"] == 5
    judged = project.result()
    assert judged["verdict"] == "inconclusive"
    assert judged["artifact"]["privacy"]["mechanism"] == "permute-and-flip"
    assert any("the stored seeds replay" in reason for reason in judged["reasons"])
    assert judged["metrics"]["reconstruction_error"] > 0.1
    result.stdout.fnmatch_lines(["*320 leaves in 40 trees hold one label each and no counts*"])


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"cut_short": True, "log_posterior": 0.0}, "it was stopped"),
        ({"cut_short": False, "log_posterior": None}, TRUTH_IS_LIKELIER),
        ({"cut_short": False, "log_posterior": -1e9}, TRUTH_IS_LIKELIER),
        ({"cut_short": False, "log_posterior": 0.0}, None),
    ],
)
def test_an_attack_on_labels_that_stopped_short_has_not_converged(labels, project, rows, monkeypatch, changes, why):
    rows.assign(label=(rows["label"] == "yes").astype(int)).to_csv(project.path / "coded.csv", index=False)
    monkeypatch.setattr(private, "rebuild_from_noise", lambda *given: replace(rebuild_from_noise(*given), **changes))
    examination, _ = examine(Case(str(project.path / labels), str(project.path / "coded.csv"), "label"))
    told = [one for one in ("it was stopped", TRUTH_IS_LIKELIER) if any(one in said for said in examination.shortfalls)]
    assert told == ([why] if why else [])


@pytest.mark.nightly
@pytest.mark.parametrize("labels", [False, True], indirect=True)
def test_of_shuffled_rows_nobody_can_tell_how_well_they_explain_labels(labels, project, rows, request):
    rows.assign(label=(rows["label"] == "yes").astype(int)).to_csv(project.path / "coded.csv", index=False)
    case = Case(str(project.path / labels), str(project.path / "coded.csv"), "label", effort=1.0)
    shuffled = request.node.callspec.params["labels"]
    assert any("were shuffled" in reason for reason in examine(case)[0].reasons) == shuffled


@pytest.mark.nightly
def test_side_knowledge_of_a_forest_with_labels_is_not_covered(labels, project, rows):
    rows.assign(label=(rows["label"] == "yes").astype(int)).to_csv(project.path / "coded.csv", index=False)
    arguments = ("--draft-target=label", "--draft-adversary=artifact+rows:3")
    assert project.judge(labels, *arguments, data="coded.csv").parseoutcomes()["inconclusive"] == 5
    assert "releases labels only is not covered yet" in project.result()["reasons"][0]
