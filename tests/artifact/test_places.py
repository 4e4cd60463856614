"""Each model of a file is found, wherever containers and other models hold it, and with the rows it was trained on."""

from __future__ import annotations

import pickle
from collections import OrderedDict, defaultdict

import joblib
import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    AdaBoostRegressor,
    BaggingClassifier,
    ExtraTreesClassifier,
    IsolationForest,
    RandomForestClassifier,
    RandomForestRegressor,
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression, LogisticRegression, RANSACRegressor
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import occurrences, read
from pytest_draft.artifact.origin import OneAgainstOne, OneAgainstRest, Origin
from pytest_draft.data import training_data
from pytest_draft.data.origin import seen_by
from pytest_draft.errors import CorruptArtifactError, DataError, SeveralModelsError, UnsupportedArtifactError

pytestmark = pytest.mark.filterwarnings("ignore")


def trees(n: int = 3, **options):
    return RandomForestClassifier(n, random_state=5, **options)


def grown(n: int = 3, **options):
    return RandomForestRegressor(n, random_state=5, **options)


ONE = {
    "tuned threshold": (TunedThresholdClassifierCV(trees(), cv=2), "two", lambda m: m.estimator_),
    "fixed threshold": (FixedThresholdClassifier(trees(bootstrap=False)), "two", lambda m: m.estimator_),
    "calibrated on all rows": (
        CalibratedClassifierCV(trees(), cv=3, ensemble=False),
        "three",
        lambda m: m.calibrated_classifiers_[0].estimator,
    ),
    "transformed target": (
        TransformedTargetRegressor(grown(), func=np.arcsinh, inverse_func=np.sinh),
        "numbers",
        lambda m: m.regressor_,
    ),
    "voting with others": (
        VotingClassifier([("a", LogisticRegression()), ("b", trees())]),
        "three",
        lambda m: m.estimators_[1],
    ),
    "one against rest, of two": (OneVsRestClassifier(trees()), "two", lambda m: m.estimators_[0]),
    "halving": (
        HalvingGridSearchCV(trees(), {"max_depth": [2, 3]}, cv=2, random_state=0),
        "three",
        lambda m: m.best_estimator_,
    ),
    "searches around each other": (
        RandomizedSearchCV(
            GridSearchCV(make_pipeline(StandardScaler(), trees()), {}, cv=2), {"cv": [2]}, n_iter=1, cv=2
        ),
        "three",
        lambda m: m.best_estimator_.best_estimator_[1],
    ),
    "recursive elimination": (RFE(trees(), n_features_to_select=3), "three", lambda m: m.estimator_),
    "tuned in a search": (
        GridSearchCV(TunedThresholdClassifierCV(trees(), cv=2), {"estimator__max_depth": [3]}, cv=2),
        "two",
        lambda m: m.best_estimator_.estimator_,
    ),
}
"""Models around one forest, the labels they are fitted on, and where they keep it."""

SEVERAL = {
    "dict": (
        lambda x, y: {"model": trees().fit(x, y), "threshold": 0.5, "not a name!": [trees(2).fit(x, y)]},
        "three",
        {"['model']": lambda m: m["model"], "[2][0]": lambda m: m["not a name!"][0]},
    ),
    "ordered dict of tuples": (
        lambda x, y: OrderedDict(a=(1, trees().fit(x, y)), b=(DecisionTreeClassifier().fit(x, y), "text")),
        "three",
        {"['a'][1]": lambda m: m["a"][1], "['b'][0]": lambda m: m["b"][0]},
    ),
    "voting": (
        VotingClassifier([("a", trees()), ("b", "drop"), ("c", ExtraTreesClassifier(3, random_state=1))]),
        "three",
        {"estimators_[0]": lambda m: m.estimators_[0], "estimators_[1]": lambda m: m.estimators_[1]},
    ),
    "voting of regressors": (
        VotingRegressor([("a", grown()), ("b", LinearRegression()), ("c", grown(2, bootstrap=False))]),
        "numbers",
        {"estimators_[0]": lambda m: m.estimators_[0], "estimators_[2]": lambda m: m.estimators_[2]},
    ),
    "stacking": (
        StackingClassifier(
            [("a", trees()), ("b", make_pipeline(StandardScaler(), trees(2)))], LogisticRegression(), cv=2
        ),
        "three",
        {"estimators_[0]": lambda m: m.estimators_[0], "estimators_[1].steps[1]": lambda m: m.estimators_[1][1]},
    ),
    "stacking of regressors": (
        StackingRegressor([("a", grown()), ("b", grown(2))], LinearRegression(), cv=2),
        "numbers",
        {"estimators_[0]": lambda m: m.estimators_[0], "estimators_[1]": lambda m: m.estimators_[1]},
    ),
    "one against rest": (
        OneVsRestClassifier(trees()),
        "three",
        {f"estimators_[{i}]": lambda m, i=i: m.estimators_[i] for i in range(3)},
    ),
    "one against one": (
        OneVsOneClassifier(trees()),
        "three",
        {f"estimators_[{i}]": lambda m, i=i: m.estimators_[i] for i in range(3)},
    ),
    "calibrated by folds": (
        CalibratedClassifierCV(trees(), cv=3),
        "three",
        {
            f"calibrated_classifiers_[{i}].estimator": lambda m, i=i: m.calibrated_classifiers_[i].estimator
            for i in range(3)
        },
    ),
    "calibrated by plain folds": (
        CalibratedClassifierCV(trees(), cv=KFold(2, shuffle=True, random_state=4)),
        "numbered",
        {
            f"calibrated_classifiers_[{i}].estimator": lambda m, i=i: m.calibrated_classifiers_[i].estimator
            for i in range(2)
        },
    ),
    "calibrated by shuffled folds, one against rest, in a search": (
        GridSearchCV(
            OneVsRestClassifier(CalibratedClassifierCV(trees(2), cv=StratifiedKFold(2, shuffle=True, random_state=9))),
            {"n_jobs": [None]},
            cv=2,
        ),
        "three",
        {
            f"best_estimator_.estimators_[{i}].calibrated_classifiers_[{j}].estimator": lambda m, i=i, j=j: (
                m.best_estimator_.estimators_[i].calibrated_classifiers_[j].estimator
            )
            for i in range(3)
            for j in range(2)
        },
    ),
    "bagging of forests": (
        BaggingClassifier(trees(), 2, max_features=0.7, random_state=0),
        "three",
        {"estimators_[0]": lambda m: m.estimators_[0], "estimators_[1]": lambda m: m.estimators_[1]},
    ),
    "bagging of extra trees": (
        BaggingClassifier(ExtraTreesClassifier(3), 2, random_state=0),
        "numbered",
        {"estimators_[0]": lambda m: m.estimators_[0], "estimators_[1]": lambda m: m.estimators_[1]},
    ),
    "selected by a forest": (
        make_pipeline(StandardScaler(), SelectFromModel(trees(4)), trees()),
        "three",
        {"steps[1][1].estimator_": lambda m: m[1].estimator_, "steps[2]": lambda m: m[2]},
    ),
}
"""Models that hold several forests, the labels they are fitted on, and all places with where that is in the model."""


@pytest.fixture(scope="module")
def labels(columns, classes, numbers):
    """Return labels of every kind, by name; some begin with the last class, so that numbering matters."""
    return {
        "three": classes,
        "two": np.where(classes == "yes", "b", "a"),
        "numbered": np.unique(classes, return_inverse=True)[1] + 3,
        "numbers": numbers,
    }


@pytest.fixture
def check(dump, columns):
    """Return a function that compares what is read of a place with the inner forest saved alone."""

    def compare(model, path, place, inner, y):
        found, alone = read(path, place=place), read(dump(inner, "alone.joblib"))
        assert same_trees(found.forest, alone.forest)
        assert found.forest.kind == alone.forest.kind
        assert found.forest.classes == alone.forest.classes
        assert found.forest.parameters == alone.forest.parameters
        assert found.unjudged.why is None
        assert found.not_covered is None
        data = training_data((columns, y), found.forest, None, found.encoder, found.origin)
        assert explains(found.forest, inner, data)
        return found

    return compare


def same_trees(one, other) -> bool:
    return all(
        np.array_equal(getattr(a, name), getattr(b, name))
        for a, b in zip(one.trees, other.trees, strict=True)
        for name in ("left", "right", "feature", "threshold", "value", "weight", "n_distinct")
    )


def explains(forest, inner, data) -> bool:
    """Return whether rows, drawn as the file tells, are as many of each class in each leaf as the forest counts."""
    drawn = occurrences(forest)
    assert drawn.shape == (forest.n_trees, data.n_rows)
    models = getattr(inner, "estimators_", [inner])
    for t, (tree, model) in enumerate(zip(forest.trees, models, strict=True)):
        found = np.zeros((tree.n_nodes, forest.n_classes), np.int64)
        np.add.at(found, (model.tree_.apply(data.rows), data.labels), drawn[t])
        if not np.array_equal(found[tree.leaves], forest.counts(t)[tree.leaves]):
            return False
    return True


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("kind", ONE)
def test_a_model_around_one_forest_is_that_forest(kind, dump, columns, labels, check):
    model, of, inner = ONE[kind]
    fitted = model.fit(columns, labels[of])
    found = check(fitted, dump(fitted), None, inner(fitted), labels[of])
    assert found.places == ()


@pytest.mark.nightly(quick=3)
@pytest.mark.parametrize("kind", SEVERAL)
def test_each_forest_of_a_file_is_read_as_alone_with_its_own_rows(kind, dump, columns, labels, check):
    model, of, places = SEVERAL[kind]
    fitted = model(columns, labels[of]) if callable(model) else model.fit(columns, labels[of])
    path = dump(fitted)
    with pytest.raises(SeveralModelsError, match="each to be judged by itself") as caught:
        read(path)
    assert caught.value.places == tuple(places)
    for place, inner in places.items():
        assert check(fitted, path, place, inner(fitted), labels[of]).places == tuple(places)


def test_a_place_that_is_not_there_is_named_with_those_that_are(dump, columns, classes):
    path = dump([trees().fit(columns, classes), trees(2).fit(columns, classes)])
    with pytest.raises(UnsupportedArtifactError, match=r"no model at \[2\], but at \[0\], \[1\]"):
        read(path, place="[2]")


def test_the_same_forest_twice_is_judged_once(forest, dump):
    assert read(dump({"a": forest, "b": [forest]})).forest.n_trees == 3


def of(path):
    """Return what is said of each place of a file that is not covered."""
    try:
        places = [None] if read(path) else []
    except SeveralModelsError as error:
        places = error.places
    return {place: read(path, place=place).not_covered for place in places}


@pytest.mark.nightly
def test_forests_on_rows_that_the_file_does_not_tell_say_what_to_do(dump, columns, labels):
    y = labels["three"]
    stacked = StackingClassifier([("a", trees())], trees(2), cv=2).fit(columns, y)
    said = of(dump(stacked))
    assert said["estimators_[0]"] is None
    assert "cross_val_predict" in said["final_estimator_"]
    split = CalibratedClassifierCV(trees(), cv=ShuffleSplit(2, random_state=0)).fit(columns, y)
    assert all("give it the rows of its part" in why for why in of(dump(split)).values())
    unseeded = CalibratedClassifierCV(trees(), cv=StratifiedKFold(2, shuffle=True)).fit(columns, y)
    assert all("with a fixed seed" in why for why in of(dump(unseeded)).values())
    tuned = TunedThresholdClassifierCV(trees(), cv=0.5, refit=False).fit(columns, labels["two"])
    assert "give it the rows of its part" in of(dump(tuned))[None]
    bagged = BaggingClassifier(make_pipeline(StandardScaler(), trees()), 2).fit(columns, y)
    assert all("estimators_samples_" in why for why in of(dump(bagged)).values())


@pytest.mark.nightly
def test_what_was_fitted_before_is_taken_as_it_is(dump, columns, labels, check):
    y, inner = labels["two"], trees().fit(columns, labels["two"])
    frozen = CalibratedClassifierCV(FrozenEstimator(inner)).fit(columns, y)
    assert read(dump(frozen)).holds.endswith("in a FrozenEstimator, in a CalibratedClassifierCV")
    tuned = TunedThresholdClassifierCV(inner, cv="prefit", refit=False).fit(columns, y)
    check(tuned, dump(tuned), None, inner, y)


def test_what_a_model_was_given_is_judged_too_where_it_is_fitted(dump, columns, classes, check):
    fitted = trees(2).fit(columns, classes)
    voting = VotingClassifier([("a", fitted), ("b", trees())]).fit(columns, classes)
    path = dump(voting)
    with pytest.raises(SeveralModelsError) as caught:
        read(path)
    assert caught.value.places == ("estimators_[0]", "estimators_[1]", "estimators[0][1]")
    check(voting, path, "estimators[0][1]", fitted, classes)


REFUSED = {
    "AdaBoost of regressors": (AdaBoostRegressor(n_estimators=2), "numbers", "drew its rows by chances"),
    "several labels a row": (OneVsRestClassifier(trees()), "several", "of several labels a row"),
    "several without a forest": (
        VotingClassifier([("a", LogisticRegression()), ("b", SVC())]),
        "three",
        "a LogisticRegression; supported are",
    ),
    "one around others": (RANSACRegressor(LinearRegression()), "numbers", "a RANSACRegressor; supported are"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_not_judged_is_refused_with_what_to_do(kind, dump, columns, labels):
    model, of, words = REFUSED[kind]
    y = np.c_[columns[:, 0] > 0, columns[:, 1] > 0].astype(int) if of == "several" else labels[of]
    with pytest.raises(UnsupportedArtifactError) as caught:
        read(dump(model.fit(columns, y)))
    assert words in str(caught.value)
    assert "alone" in str(caught.value)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "model",
    [
        LogisticRegression(),
        GridSearchCV(LogisticRegression(), {}, cv=2),
        make_pipeline(StandardScaler(), LogisticRegression()),
        VotingClassifier([("a", LogisticRegression())]),
    ],
)
def test_a_model_without_trees_is_named_and_needs_no_judgement(model, dump, columns, classes):
    with pytest.raises(UnsupportedArtifactError, match="holds a LogisticRegression, which has no trees: there is noth"):
        read(dump(model.fit(columns, classes)))


@pytest.mark.parametrize("model", [SVC(), KNeighborsClassifier(3)])
def test_a_model_that_stores_its_rows_is_not_said_to_need_no_judgement(model, dump, columns, classes):
    with pytest.raises(UnsupportedArtifactError, match="stores rows of its training data as they are: do not release"):
        read(dump(model.fit(columns, classes)))


def test_a_function_in_place_of_a_model_is_named(dump):
    with pytest.raises(UnsupportedArtifactError, match=r"only numpy\.linspace, a function or a class and no fitted"):
        read(dump(np.linspace))


def test_a_defaultdict_is_read_as_a_dict(dump, forest):
    assert read(dump(defaultdict(list, {"model": forest}))).forest.n_trees == 3
    with pytest.raises(UnsupportedArtifactError, match=r"it holds a collections\.defaultdict; supported are"):
        read(dump(defaultdict(list)))


def test_a_step_that_is_not_covered_hides_only_the_forest_behind_it(dump, columns, classes):
    voting = VotingClassifier([("a", trees()), ("b", make_pipeline(PCA(2), trees(2)))]).fit(columns, classes)
    said = of(dump(voting))
    assert said["estimators_[0]"] is None
    assert "a PCA before its last step" in said["estimators_[1].steps[1]"]


def test_other_fitted_trees_make_every_place_inconclusive(dump, columns, classes):
    voting = VotingClassifier([("a", trees()), ("b", trees(2))]).fit(columns, classes)
    voting.estimators_[1].kept = DecisionTreeClassifier().fit(columns, classes)
    path = dump(voting)
    assert "1 in kept" not in (read(path, place="estimators_[0]").unjudged.why or "")
    assert "kept" in read(path, place="estimators_[1]").unjudged.why
    voting.also = DecisionTreeClassifier().fit(columns, classes)
    path = dump(voting)
    assert all("1 in also" in read(path, place=f"estimators_[{i}]").unjudged.why for i in range(2))


def test_hostile_files_of_models_end_in_one_line(dump, forest, columns, classes):
    cycle: list = [forest]
    cycle.append(cycle)
    assert read(dump(cycle)).forest.n_trees == 3
    many = [DecisionTreeClassifier(max_depth=1).fit(columns, classes) for _ in range(101)]
    with pytest.raises(UnsupportedArtifactError, match="more than 100 models"):
        read(dump(many))
    deep = forest
    for _ in range(12):
        deep = FrozenEstimator(deep)
    with pytest.raises(UnsupportedArtifactError, match="around each other"):
        read(dump(deep))
    voting = VotingClassifier([("a", trees())]).fit(columns, classes)
    voting.estimators_ = {}
    with pytest.raises(CorruptArtifactError, match="not a list of models"):
        read(dump(voting))
    bagged = BaggingClassifier(trees(), 2, max_features=2).fit(columns, classes)
    bagged.estimators_features_[0] = np.array([77, 1])
    with pytest.raises(CorruptArtifactError, match="not a choice of 6 columns"):
        read(dump(bagged))


def test_keys_that_could_be_values_of_rows_are_not_shown(dump, forest):
    path = dump({"Ann Smith": forest, "b" * 50: trees().fit(np.eye(6), np.arange(6)), 1815: None})
    with pytest.raises(SeveralModelsError) as caught:
        read(path)
    assert caught.value.places == ("[0]", "[1]")
    assert "Ann" not in str(caught.value)


# Trees of which only the rows in each node are taken


def rows_in_nodes(model, columns, weights=None):
    paths = model.decision_path(columns.astype(np.float32)).toarray()
    return (paths if weights is None else paths * weights[:, None]).sum(axis=0)


def test_adaboost_is_one_forest_of_all_its_trees_without_their_weights(dump, columns, classes):
    model = AdaBoostClassifier(DecisionTreeClassifier(max_depth=1), n_estimators=4, random_state=0)
    found = read(dump(model.fit(columns, classes))).forest
    assert (found.n_trees, found.classes, found.n_samples) == (4, None, len(columns))
    assert "AdaBoost" in found.unused
    assert not found.observation.has_targets
    for t, tree in enumerate(model.estimators_):
        assert np.array_equal(found.counts(t)[:, 0], rows_in_nodes(tree, columns))


@pytest.mark.parametrize("bootstrap", [False, True])
def test_an_isolation_forest_is_a_bagging_of_random_trees(bootstrap, dump, columns):
    model = IsolationForest(n_estimators=4, max_samples=30, bootstrap=bootstrap, max_features=0.7, random_state=0)
    found = read(dump(model.fit(columns))).forest
    drawn = occurrences(found)
    for t, (tree, chosen) in enumerate(zip(model.estimators_, model.estimators_features_, strict=True)):
        assert np.array_equal(np.bincount(model.estimators_samples_[t], minlength=len(columns)), drawn[t])
        assert np.array_equal(found.counts(t)[:, 0], rows_in_nodes(tree, columns[:, chosen], drawn[t]))
    assert "IsolationForest" in found.unused


@pytest.mark.parametrize("bootstrap", [False, True])
def test_of_several_outputs_rows_are_counted_or_the_first_is_taken(bootstrap, dump, columns, classes, numbers):
    two = np.column_stack((classes, np.where(columns[:, 2] > 0, "u", "v")))
    model = trees(bootstrap=bootstrap).fit(columns, two)
    found = read(dump(model)).forest
    assert found.classes is None
    assert "several outputs" in found.unused
    drawn = occurrences(found)
    for t, tree in enumerate(model.estimators_):
        assert np.array_equal(found.counts(t)[:, 0], rows_in_nodes(tree, columns, drawn[t]))
    regressor = grown(bootstrap=bootstrap).fit(columns, np.column_stack((numbers, -numbers)))
    found = read(dump(regressor)).forest
    assert found.observation.has_targets
    assert "only the first one" in found.unused
    assert np.array_equal(found.trees[0].value[:, 0], regressor.estimators_[0].tree_.value[:, 0, 0])


def test_a_file_that_joblib_packs_is_no_other(tmp_path, columns, classes):
    model = {"model": trees().fit(columns, classes)}
    joblib.dump(model, tmp_path / "packed.joblib", compress=3)
    assert read(tmp_path / "packed.joblib").forest.n_trees == 3


def test_rows_that_leave_a_model_none_or_an_unknown_label_are_refused():
    with pytest.raises(DataError, match="none is left"):
        seen_by(Origin(("a", "b", "c"), (OneAgainstOne(0, 1),)), np.full(5, 2), (0, 1))
    with pytest.raises(DataError, match="does not know"):
        seen_by(Origin(("a", "b")), np.array([0, 1]), ("x", "y"))
    rows, labels = seen_by(Origin(("a", "b", "c"), (OneAgainstRest(1),)), np.array([0, 1, 2, 1]), (0, 1))
    assert (rows.tolist(), labels.tolist()) == ([0, 1, 2, 3], [0, 1, 0, 1])


def dict_of(*pairs):
    """Return a pickled dict of the pairs, also of two with one key, which no pickler writes and each one loads."""
    content = b"".join(pickle.dumps(key, 2)[2:-1] + pickle.dumps(value, 2)[2:-1] for key, value in pairs)
    return b"\x80\x02}(" + content + b"u."


@pytest.mark.parametrize("inside", ["alone", "in a list", "in another dict"])
def test_a_model_that_replaces_another_of_its_name_is_not_hidden_behind_it(inside, tmp_path, columns, classes):
    harmless, leaky = trees(1, max_depth=1).fit(columns, classes), trees(5).fit(columns, classes)
    content = dict_of(("model", harmless), ("model", leaky))
    if inside == "in a list":
        content = b"\x80\x02](" + content[2:-1] + b"e."
    elif inside == "in another dict":
        content = b"\x80\x02}(" + pickle.dumps("all", 2)[2:-1] + content[2:-1] + b"u."
    (tmp_path / "model.pkl").write_bytes(content)
    loaded = pickle.loads(content)
    assert len((loaded[0] if inside == "in a list" else loaded.get("all", loaded))["model"]) == 5  # what a user gets
    with pytest.raises(CorruptArtifactError, match="two models under one name"):
        read(tmp_path / "model.pkl")
    with pytest.raises(CorruptArtifactError, match="two models under one name"):
        read(tmp_path / "model.pkl", place="['model']")


def test_models_of_several_names_keep_their_places(tmp_path, columns, classes):
    (tmp_path / "model.pkl").write_bytes(
        dict_of(("a", trees(1).fit(columns, classes)), ("b", trees(5).fit(columns, classes)))
    )
    with pytest.raises(SeveralModelsError) as refused:
        read(tmp_path / "model.pkl")
    assert refused.value.places == ("['a']", "['b']")


def fitted_before(of_given):
    x, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    return of_given(trees().fit(x, y)).fit(x, y)


GIVEN = {
    "voting": (lambda model: VotingClassifier([("a", model), ("b", LogisticRegression())]), ("estimators[0][1]",)),
    "stacking": (lambda model: StackingClassifier([("a", model)], cv=2), ("estimators[0][1]",)),
    "search": (lambda model: GridSearchCV(model, {}, cv=2), ("estimator",)),
    "frozen": (lambda model: VotingClassifier([("a", FrozenEstimator(model)), ("b", trees())]), ()),
    "clones": (lambda model: VotingClassifier([("a", trees()), ("b", trees())]), ()),
}


@pytest.mark.parametrize("kind", GIVEN)
def test_a_model_that_was_fitted_before_it_was_given_is_known_as_one(kind, tmp_path):
    of_given, places = GIVEN[kind]
    joblib.dump(fitted_before(of_given), tmp_path / "model.joblib")
    with pytest.raises(SeveralModelsError) as caught:
        read(tmp_path / "model.joblib")
    assert read(tmp_path / "model.joblib", place=caught.value.places[0]).given == places
