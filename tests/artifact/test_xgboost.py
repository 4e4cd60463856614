"""Boosters as XGBoost would write them, made without it: what they say, and that damaged files are refused."""

from __future__ import annotations

import copy
import json

import numpy as np
import pytest

from profiles import examples
from pytest_draft.artifact import read
from pytest_draft.artifact.budget import DEFAULT_LIMITS, Budget
from pytest_draft.artifact.forest.observations import WEIGHTS
from pytest_draft.artifact.xgboost.ubjson import decode
from pytest_draft.attack.boosted.staged import missed
from pytest_draft.errors import (
    ArtifactError,
    ArtifactTooBigError,
    CorruptArtifactError,
    UnsupportedArtifactError,
)
from small_boosters import as_json, as_ubjson, booster, rows

COLUMNS, LABEL = rows()
HONEST = booster(COLUMNS, LABEL)


def misses(forest, columns, label):
    return missed(forest, np.asarray(columns, float).T, np.asarray(label))


def changed(**at):
    """Return the honest booster with other values, each at a path whose parts are parted by double underscores."""
    model = copy.deepcopy(HONEST)
    for path, value in at.items():
        holder = model
        *before, last = path.split("__")
        for name in before:
            holder = holder[int(name)] if name.isdecimal() else holder[name]
        holder[int(last) if last.isdecimal() else last] = value
    return model


GB = "learner__gradient_booster"
TREE = f"{GB}__model__trees__0"


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("write", [as_json, as_ubjson])
@pytest.mark.parametrize("objective", ["binary:logistic", "reg:squarederror"])
def test_the_true_rows_explain_all_that_a_booster_says(write, objective, dump):
    model = booster(COLUMNS, LABEL, objective=objective)
    artifact = read(dump(write(model), "model.bin"))
    forest = artifact.forest
    assert artifact.not_covered is None
    assert (forest.kind, forest.n_trees, forest.n_samples) == ("XGBoost booster", 6, 80)
    assert forest.feature_names == ("a", "b", "c")
    assert artifact.not_read == ()
    assert misses(forest, COLUMNS, LABEL if forest.classes else np.zeros(80, int)) == 0
    others = COLUMNS.copy()
    others[:, 0] = np.random.default_rng(3).permutation(others[:, 0])
    assert misses(forest, others, LABEL if forest.classes else np.zeros(80, int)) > 5


def test_a_row_goes_left_below_the_condition_only(dump):
    tree = read(dump(as_json(HONEST), "model")).forest.trees[0]
    condition = HONEST["learner"]["gradient_booster"]["model"]["trees"][0]["split_conditions"][0]
    assert np.float32(condition) > tree.threshold[0]
    assert np.nextafter(np.float32(tree.threshold[0]), np.float32(np.inf)) == np.float32(condition)


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"learner__objective__name": "rank:ndcg"}, "rank:ndcg"),
        ({"version": [1, 5, 0]}, "XGBoost 1.5.0"),
        ({"version": []}, "(none)"),
        ({f"{TREE}__base_weights__0": 0.4}, "learning rate"),
        ({f"{TREE}__split_conditions__3": 0.4}, "learning rate"),
    ],
)
def test_what_is_not_covered_is_read_and_said(changes, named, dump):
    artifact = read(dump(as_json(changed(**changes)), "model.json"))
    assert named in artifact.not_covered
    assert artifact.forest.n_trees == 6


def test_sums_of_no_whole_numbers_of_rows_are_those_of_weights(dump):
    artifact = read(dump(as_json(changed(learner__learner_model_param__base_score="[4E-1]")), "model.json"))
    assert artifact.not_covered is None
    assert artifact.forest.observation.unknown == WEIGHTS
    assert artifact.forest.n_samples is None


def configured(**settings):
    trees = {"alpha": "0", "eta": "0.300000012", "lambda": "1", "max_delta_step": "0", "subsample": "1", **settings}
    config = {"learner": {"gradient_booster": {"tree_train_param": trees}, "generic_param": {"device": "cpu"}}}
    return {"Config": config, "Model": HONEST}


@pytest.mark.parametrize("settings", [{"sampling_method": "gradient_based"}, {"of_tomorrow": "1"}])
def test_a_setting_that_changes_the_sums_is_named(settings, dump):
    content = configured()
    assert read(dump(as_ubjson(content), "model")).not_covered is None
    assert next(iter(settings)) in read(dump(as_ubjson(configured(**settings)), "model")).not_covered
    content["Config"]["learner"]["generic_param"]["device"] = "cuda:0"
    assert "GPU" in read(dump(as_json(content), "model")).not_covered


def test_settings_of_another_training_do_not_mislead(dump):
    """A booster that was loaded and saved again has a configuration that it was not trained with."""
    forest = read(dump(as_json(configured(eta="0.1", **{"lambda": "7"})), "model")).forest
    assert misses(forest, COLUMNS, LABEL) == 0


@pytest.mark.parametrize(
    ("changes", "kind", "named"),
    [
        ({f"{GB}__name": "gblinear"}, UnsupportedArtifactError, "no trees"),
        ({f"{GB}__name": "of\ntomorrow"}, UnsupportedArtifactError, "kind"),
        ({f"{GB}__model__trees": []}, UnsupportedArtifactError, "without trees"),
        ({"learner__learner_model_param__num_target": "2"}, UnsupportedArtifactError, "several outputs"),
        ({f"{TREE}__tree_param__size_leaf_vector": "3"}, UnsupportedArtifactError, "several outputs"),
        ({f"{TREE}__split_type__0": 1}, UnsupportedArtifactError, "categories"),
        ({f"{TREE}__left_children__0": 7}, CorruptArtifactError, "out of range"),
        ({f"{TREE}__left_children__0": 0}, CorruptArtifactError, "two parents"),
        ({f"{TREE}__left_children__0": 2}, CorruptArtifactError, "two parents"),
        ({f"{TREE}__left_children__0": -2}, CorruptArtifactError, "out of range"),
        ({f"{TREE}__left_children__0": -1}, CorruptArtifactError, "one child only"),
        ({f"{TREE}__left_children__0": 2**70}, CorruptArtifactError, "left_children"),
        ({f"{TREE}__left_children": "1234567"}, CorruptArtifactError, "left_children"),
        ({f"{TREE}__left_children": [[1]] * 7}, CorruptArtifactError, "left_children"),
        ({f"{TREE}__left_children": [[1], 2, 3, 4, 5, 6, 7]}, CorruptArtifactError, "left_children"),
        ({f"{TREE}__left_children__1": -1, f"{TREE}__right_children__1": -1}, CorruptArtifactError, "below its root"),
        ({f"{TREE}__split_indices__0": 3}, CorruptArtifactError, "none of the 3 columns"),
        ({f"{TREE}__split_indices__0": -1}, CorruptArtifactError, "none of the 3 columns"),
        ({f"{TREE}__split_conditions__0": 1e39}, CorruptArtifactError, "finite"),
        ({f"{TREE}__split_conditions__0": float("nan")}, CorruptArtifactError, "finite"),
        ({f"{TREE}__split_conditions__0": None}, CorruptArtifactError, "split_conditions"),
        ({f"{TREE}__sum_hessian__0": -1.0}, CorruptArtifactError, "negative"),
        ({f"{TREE}__sum_hessian__0": 99.0}, CorruptArtifactError, "children's together"),
        ({f"{TREE}__sum_hessian": [1.0]}, CorruptArtifactError, "sum_hessian"),
        ({f"{TREE}__default_left__0": 2}, CorruptArtifactError, "missing values"),
        ({f"{TREE}__tree_param__num_nodes": "8"}, CorruptArtifactError, "number for each"),
        ({f"{TREE}__tree_param__num_nodes": "0"}, CorruptArtifactError, "no nodes"),
        ({f"{TREE}__tree_param__num_nodes": "9" * 30}, CorruptArtifactError, "whole number"),
        ({f"{TREE}__tree_param__num_deleted": "1"}, CorruptArtifactError, "below its root"),
        ({f"{TREE}__tree_param": []}, CorruptArtifactError, "tree_param"),
        ({TREE: 1}, CorruptArtifactError, "no object"),
        ({f"{GB}__model__tree_info__0": 1}, CorruptArtifactError, "by turns"),
        ({f"{GB}__model__tree_info": [0]}, CorruptArtifactError, "tree_info"),
        ({f"{GB}__model__tree_info": [[0], 0, 0, 0, 0, 0]}, CorruptArtifactError, "tree_info"),
        ({f"{GB}__model__trees": 1}, CorruptArtifactError, "no list"),
        ({"learner__learner_model_param__base_score": "0"}, CorruptArtifactError, "no probability"),
        ({"learner__learner_model_param__base_score": "nan"}, CorruptArtifactError, "base_score"),
        ({"learner__learner_model_param__base_score": "[1,2]"}, CorruptArtifactError, "base_score"),
        ({"learner__learner_model_param__num_class": "3"}, CorruptArtifactError, "by turns"),
        ({"learner__learner_model_param__num_feature": "0"}, CorruptArtifactError, "no columns"),
        ({"learner__learner_model_param__num_feature": "9" * 17}, ArtifactTooBigError, "columns"),
        ({"learner__learner_model_param__num_feature": "-3"}, CorruptArtifactError, "num_feature"),
        ({"learner__feature_names": ["a"]}, CorruptArtifactError, "feature_names"),
        ({"learner__objective": {}}, CorruptArtifactError, "name is missing"),
        ({"version": ["3"]}, CorruptArtifactError, "version"),
    ],
)
def test_a_damaged_booster_is_refused_in_one_line(changes, kind, named, dump):
    if "base_score" in str(changes) and "'0'" in str(changes):
        changes = {**changes, "version": [2, 1, 4]}
    with pytest.raises(kind, match=named) as error:
        read(dump(as_json(changed(**changes)), "model.json"))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "change",
    [
        {"learner__attributes__note": "x" * 300},
        {"learner__rows": 1},
        {"rows": 1},
        {f"{GB}__model__cats__enc": list(range(40))},
        {f"{TREE}__categories": [1]},
        {f"{TREE}__rows": [1]},
        {f"{TREE}__loss_changes": list(range(8))},
        {"learner__feature_types__0": "x" * 300},
        {"learner__objective__rows": {f"{key}": [1] * 30 for key in range(30)}},
    ],
)
def test_what_can_hold_data_and_is_not_read_is_listed(change, dump):
    artifact = read(dump(as_json(changed(**change)), "model.json"))
    assert artifact.not_read
    assert artifact.contents.opaque == artifact.not_read


def test_pruned_nodes_are_passed_over_and_the_others_numbered_again(dump):
    """Pruning leaves nodes in the file, and gives their places to others, so that children can come first."""
    model = copy.deepcopy(HONEST)
    tree = model["learner"]["gradient_booster"]["model"]["trees"][0]
    place = [0, 6, 2, 4, 3, 1, 5]  # of each node; the last of all is one that was pruned
    at = np.argsort(place).tolist()
    for name, one in tree.items():
        if isinstance(one, list) and len(one) == 7:
            moved = [one[node] for node in at] + [one[-1]]
            tree[name] = [place[to] if to >= 0 else -1 for to in moved] if name.endswith("_children") else moved
    tree["left_children"][-1] = tree["right_children"][-1] = -1
    tree["tree_param"] |= {"num_nodes": "8", "num_deleted": "1"}
    forest = read(dump(as_json(model), "model.json")).forest
    assert forest.trees[0].n_nodes == 7
    assert misses(forest, COLUMNS, LABEL) == 0


def test_a_chain_of_very_many_nodes_is_refused(dump):
    depth, model = 3000, copy.deepcopy(HONEST)
    tree = model["learner"]["gradient_booster"]["model"]["trees"][0]
    n_nodes = 2 * depth + 1
    inner = np.arange(n_nodes) % 2 == 1
    inner[0], inner[-2:] = True, False
    tree["left_children"] = [2 * ((i + 1) // 2) + 1 if one else -1 for i, one in enumerate(inner)]
    tree["right_children"] = [2 * ((i + 1) // 2) + 2 if one else -1 for i, one in enumerate(inner)]
    tree["left_children"][1] = 0
    for name in ("default_left", "split_indices", "split_type"):
        tree[name] = [0] * n_nodes
    for name in ("base_weights", "split_conditions", "sum_hessian"):
        tree[name] = [0.0] * n_nodes
    tree["tree_param"]["num_nodes"] = str(n_nodes)
    with pytest.raises(ArtifactError):
        read(dump(as_json(model), "model.json"))


def test_a_rule_list_stays_one_and_a_booster_too(dump):
    rules = {
        "schema_version": 1,
        "classes": ["learner", "gradient_booster"],
        "rules": [{"then": "learner", "counts": [3, 1]}],
    }
    assert read(dump(as_json(rules), "model.json")).holds.startswith("rule list")
    named = changed(learner__feature_names=["rules", "classes", "schema_version"], learner__attributes={"rules": "1"})
    assert read(dump(as_json(named), "model.json")).forest.feature_names == ("rules", "classes", "schema_version")
    assert read(dump(json.dumps(HONEST, indent=1).encode(), "m.json")).forest.n_trees == 6


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        (b'{"learner": {"gradient_booster": ' + b"[" * 100_000, ArtifactError),
        (b'{"learner": {"gradient_booster": 1, "gradient_booster": 2}}', CorruptArtifactError),
        (b'{"learner": {"gradient_booster": 1' + b"0" * 5000 + b"}}", CorruptArtifactError),
        (b'{"learner": "gradient_booster"}', CorruptArtifactError),
        (b'{"learner": ["gradient_booster"' + b",1" * 10_000_001 + b"]}", ArtifactTooBigError),
        (b"binf" + bytes(100), UnsupportedArtifactError),
        (as_json(HONEST)[:-5], CorruptArtifactError),
        (as_ubjson(HONEST)[:-5], CorruptArtifactError),
        (as_ubjson(HONEST) + b"Z", CorruptArtifactError),
    ],
)
def test_malformed_texts_are_refused(content, kind, dump):
    with pytest.raises(kind) as error:
        read(dump(content, "model.json"))
    assert len(str(error.value)) < 300


@pytest.mark.parametrize(
    "content",
    [
        b"[$d#L" + (2**40).to_bytes(8, "big"),
        b"[#L" + (2**40).to_bytes(8, "big"),
        b"SL" + (2**40).to_bytes(8, "big"),
        b"SL" + (-1).to_bytes(8, "big", signed=True),
        b"Si\x02\xff\xff",
        b"[$S#i\x01",
        b"[$d",
        b"[" * 5000,
        b"{i\x01aZi\x01aZ}",
        b"{i\x01aZ",
        b"d\x7f\x80\x00\x00",
        b"H",
        b"",
        b"ZZ",
    ],
)
def test_malformed_ubjson_is_refused(content):
    with pytest.raises((CorruptArtifactError, ArtifactTooBigError)):
        decode(content, Budget(DEFAULT_LIMITS, len(content)))


def test_ubjson_of_all_kinds_is_decoded():
    content = (
        b"{i\x01a[i\xffU\xffI\xff\xfel\x00\x00\x00\x05L\x00\x00\x00\x00\x00\x00\x00\x06ZTFCxSi\x02hi]"
        b"i\x01b[$d#i\x02\x3f\x80\x00\x00\x40\x00\x00\x00i\x01c[#i\x02i\x01[]i\x01d{}i\x01eD\x3f\xf0" + bytes(6) + b"}"
    )
    found = decode(content, Budget(DEFAULT_LIMITS, len(content)))
    assert found["a"] == [-1, 255, -2, 5, 6, None, True, False, "x", "hi"]
    assert found["b"].tolist() == [1, 2]
    assert [found[name] for name in "cde"] == [[1, []], {}, 1.0]


@pytest.mark.parametrize("write", [as_json, as_ubjson])
def test_a_mutant_is_read_or_refused_in_one_line(write, dump):
    random, honest = np.random.default_rng(5), write(HONEST)
    for _ in range(examples(60)):
        content = bytearray(honest)
        for at in random.integers(0, len(content), random.integers(1, 6)):
            content[at] = random.integers(0, 256)
        try:
            read(dump(bytes(content), "model"))
        except ArtifactError as error:
            assert "\n" not in str(error)
            assert "makes no sense" not in str(error), bytes(content)


def test_what_is_inside_the_bytes_of_a_pickle_and_not_read_is_listed(dump):
    model = pytest.importorskip("xgboost").XGBClassifier(n_estimators=3, n_jobs=1).fit(COLUMNS, LABEL)
    model.get_booster().set_attr(rows="1 " * 500)
    artifact = read(dump(model))
    assert artifact.not_read == ("_Booster.learner.attributes.rows",)
    assert artifact.contents.opaque == artifact.not_read
