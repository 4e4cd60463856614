"""Rule lists are read as they were written or printed; what is damaged or contradicts itself is refused."""

from __future__ import annotations

import copy
import json
import pickle
import re
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jsonschema import Draft202012Validator
from sklearn.pipeline import make_pipeline

from profiles import examples
from pytest_draft.artifact import Limits, read
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.documents import rules_folder
from pytest_draft.errors import (
    ArtifactError,
    ArtifactTooBigError,
    CorruptArtifactError,
    DataError,
    NotCoveredError,
    UnsupportedArtifactError,
)
from pytest_draft.facts.rules import ListedRule, Literal, between

LISTS = Path(__file__).parent / "files" / "rule_lists"
DUMPS = sorted(LISTS.glob("*.joblib"))

BROWNIES = """\
#:schema rule-list.schema.json
schema_version = 1
classes = ["no", "yes"]

[[rules]]
if = { age = { above = 30, at_most = 40, not = [33, { at_least = 35, below = 36.5 }] }, "sex:male" = true }
then = "yes"
counts = [3, 40]

[[rules]]
if = { priors = 2 }
then = "no"
counts = [1, 0]

[[rules]]
then = "no"
counts = [50, 2]
"""


@pytest.fixture
def written(tmp_path):
    """Return a function that reads what a file with a text or bytes holds."""

    def from_text(content, name="list.txt", **options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return read(path, **options)

    return from_text


@pytest.fixture
def refused(written):
    """Return a function that asserts that a file is refused, in one printable line, and returns the line."""

    def check(content, kind=CorruptArtifactError, **options):
        with pytest.raises(ArtifactError) as caught:
            written(content, **options)
        message = str(caught.value)
        assert type(caught.value) is kind, message
        assert message.isascii()
        assert message.isprintable()
        assert "::" not in message
        return message

    return check


def same(one: RuleList, other: RuleList) -> bool:
    return vars(one) == vars(other)


# What a rule list is


def test_rows_are_captured_by_the_first_rule_that_holds(written):
    rules = written(BROWNIES).model.resolved(("sex:male", "priors", "age"))
    ages = [30, 30.5, 33, 35, 36, 36.5, 40, 41, 34, 34]
    rows = np.array([(1, 2, age) for age in ages[:8]] + [(0, 2, 34), (0, 1, 34)])
    assert rules.captured(rows).tolist() == [1, 0, 1, 1, 1, 0, 0, 1, 1, 2]


def test_a_list_without_its_column_is_refused_by_the_name(written):
    with pytest.raises(DataError, match="tests column 'sex:male', which is not among"):
        written(BROWNIES).model.resolved(("age", "priors"))


def test_a_list_by_position_needs_as_many_columns_as_it_tests():
    rules = RuleList("rule list", (ListedRule((Literal(2, 0, 1),), 1), ListedRule((), 0)), None, None, (0, 1))
    assert rules.resolved(("a", "b", "c")).columns == ("a", "b", "c")
    with pytest.raises(DataError, match="2 columns are given, but the rule list tests column 2"):
        rules.resolved(("a", "b"))


def test_a_file_says_what_it_holds_and_has_no_forest(written):
    artifact = written(BROWNIES, "brownies.toml")
    assert artifact.holds == "rule list, 3 rules, 3 tested columns, 2 classes"
    assert artifact.not_read == ()
    assert artifact.unjudged.why is None
    with pytest.raises(NotCoveredError, match=r"^brownies\.toml holds a rule list .*the rule entropy-reduction$"):
        _ = artifact.forest


def test_a_forests_file_has_it_as_forest_and_as_model(dump, fitted):
    artifact = read(dump(fitted))
    assert artifact.forest is artifact.model


@pytest.mark.parametrize(
    "rules",
    [
        (),
        (ListedRule((Literal(0, 0, 1),), 1),),
        (ListedRule((), 1), ListedRule((), 1)),
        (ListedRule((Literal(2, 0, 1),), 1), ListedRule((), 1)),
        (ListedRule((Literal(0, 0, 1),), 1, (1, 2)), ListedRule((), 1)),
        (ListedRule((), 1, (1, -1)),),
        (ListedRule((), 1, (1, 1, 1)),),
    ],
)
def test_a_list_that_contradicts_itself_cannot_be_made(rules):
    with pytest.raises(CorruptArtifactError):
        RuleList("rule list", rules, ("a", "b"), 2, (0, 1))


def test_a_test_of_nothing_cannot_be_made():
    with pytest.raises(CorruptArtifactError):
        Literal(0, 1.0, 1.0)


# imodels


@pytest.mark.parametrize("dump", DUMPS, ids=lambda path: path.stem)
def test_a_greedy_list_counts_and_decides_as_imodels_does(dump):
    artifact, truth = read(dump), np.load(dump.with_suffix(".npz"))
    rules, codes = artifact.model, np.unique(truth["y"], return_inverse=True)[1]
    assert artifact.not_read == ()
    assert artifact.unjudged.why is None
    counts = np.zeros_like(rules.counts)
    np.add.at(counts, (rules.captured(truth["X"]), codes), 1)
    assert (counts == rules.counts).all()
    by = rules.captured(truth["rows"])
    share = rules.counts[:, 1] / rules.counts.sum(axis=1)
    # Before imodels 3, a list that ran out of splits lacks a default: `predict` then leaves out its last split.
    seen = by < rules.n_rules - 2 if dump.stem == "few-1.4.0" else by >= 0
    assert seen.any()
    assert (share[by] == truth["share"])[seen].all()
    predicted = np.array([rule.prediction for rule in rules.rules])
    assert (predicted[by] == truth["predicted"])[seen].all()


@pytest.mark.parametrize(
    ("name", "holds", "columns", "classes"),
    [
        ("named-3.0.4", "GreedyRuleListClassifier, 4 rules, 4 columns", True, ("no", "yes")),
        ("named-1.4.0", "GreedyRuleListClassifier, 4 rules, 4 columns", True, (0.0, 1.0)),
        ("plain-3.0.4", "GreedyRuleListClassifier, 3 rules, 4 columns", False, (0, 1)),
        ("one-3.0.4", "OneRClassifier, 4 rules, 4 columns", True, (0, 1)),
    ],
)
def test_a_greedy_lists_names_and_classes_are_those_of_its_data(name, holds, columns, classes):
    artifact = read(LISTS / f"{name}.joblib")
    assert artifact.holds == f"{holds}, 2 classes"
    assert artifact.model.feature_names == (("first", "second", "third", "fourth") if columns else None)
    assert artifact.model.classes == classes


def test_the_installed_imodels_is_read(dump):
    imodels = pytest.importorskip("imodels", reason="imodels is not installed")
    random = np.random.RandomState(0)
    X, y = random.randint(0, 4, (100, 3)).astype(float), random.randint(0, 2, 100)
    model = imodels.GreedyRuleListClassifier(max_depth=4).fit(X, y)
    rules = read(dump(model)).model
    predicted = np.array([rule.prediction for rule in rules.rules])
    assert (predicted[rules.captured(X)] == model.predict(X)).all()


@pytest.fixture
def greedy(monkeypatch):
    """A fitted list of four rules as imodels 3 has it, that a test may change; its class is not imodels'."""
    module = ModuleType("imodels.rule_list.greedy_rule_list")
    kind = type("GreedyRuleListClassifier", (), {"__module__": module.__name__})
    module.GreedyRuleListClassifier = kind
    for name in ("imodels", "imodels.rule_list"):
        monkeypatch.setitem(sys.modules, name, ModuleType(name))
    monkeypatch.setitem(sys.modules, module.__name__, module)
    model = kind()
    split = {"flip": False, "depth": 0}
    model.__dict__ = {
        "max_depth": 5,
        "classes_": np.array(["no", "yes"]),
        "feature_names_": pd.Index(["a", "b"]),
        "feature_names_in_": np.array(["a", "b"], dtype=object),
        "n_features_in_": 2,
        "rules_": [
            {"col": "a", "index_col": np.int64(0), "cutoff": np.float64(0.5), "val": np.float64(2 / 7)}
            | {"val_right": 2 / 3, "num_pts": 10, "num_pts_right": 3}
            | split,
            {"col": "b", "index_col": 1, "cutoff": 1.5, "val": 0.0, "val_right": 2 / 4, "num_pts": 7}
            | {"num_pts_right": 4}
            | split
            | {"flip": True},
            {"val": 0.0, "num_pts": 3},
        ],
    }
    return model


def test_a_greedy_lists_sides_are_told_apart_to_the_last_bit(greedy, dump):
    rules = read(dump(greedy)).model
    assert rules.counts.tolist() == [[1, 2], [2, 2], [3, 0]]
    below = np.nextafter(0.5, 0)
    assert rules.captured(np.array([[0.5, 9], [below, 1.5], [below, np.nextafter(1.5, 0)]])).tolist() == [0, 2, 1]


@pytest.mark.parametrize("dtype", [object, pd.StringDtype("python"), pd.StringDtype("pyarrow")])
def test_names_in_a_pandas_index_of_any_kind_are_read_or_not_run(greedy, dump, dtype):
    greedy.feature_names_ = pd.Index(["a", "b"], dtype=dtype)
    assert read(dump(greedy)).model.feature_names == ("a", "b")
    del greedy.feature_names_in_
    assert read(dump(greedy)).model.feature_names == (("a", "b") if dtype is object else None)


def test_a_split_that_left_no_rows_is_a_rule_and_an_empty_default(greedy, dump):
    greedy.rules_[1:] = [greedy.rules_[1] | {"num_pts_right": 7, "val_right": 2 / 7, "val": float("nan")}]
    rules = read(dump(greedy)).model
    assert rules.counts.tolist() == [[1, 2], [5, 2], [0, 0]]


@pytest.mark.parametrize("rows", [2**60, 10**30, 7.0, True, None])
def test_numbers_of_rows_that_are_none_are_refused(greedy, dump, refused, rows):
    greedy.rules_[1]["num_pts"] = rows
    refused(dump(greedy).read_bytes())


DAMAGED = {
    "a share of no whole number": lambda rules: rules[1].update(val_right=0.4),
    "a share that is nearly one": lambda rules: rules[1].update(val_right=0.5000000001),
    "a share above one": lambda rules: rules[1].update(val_right=1.25),
    "a share that is no number": lambda rules: rules[1].update(val_right=float("nan")),
    "weighted numbers": lambda rules: rules[0].update(num_pts=10.5),
    "more captured than there": lambda rules: rules[1].update(num_pts_right=8),
    "rows that were not left": lambda rules: rules[1].update(num_pts=8, num_pts_right=5, val_right=0.4),
    "another share of the rest": lambda rules: rules[0].update(val=3 / 7),
    "another default": lambda rules: rules[2].update(val=1.0),
    "an infinite cutoff": lambda rules: rules[0].update(cutoff=float("inf")),
    "a cutoff below all numbers": lambda rules: rules[1].update(cutoff=-sys.float_info.max),
    "no cutoff": lambda rules: rules[0].pop("cutoff"),
    "no side": lambda rules: rules[0].update(flip=None),
    "another column's name": lambda rules: rules[0].update(col="b"),
    "a column that there is not": lambda rules: rules[0].update(index_col=2),
    "a column before the first": lambda rules: rules[0].update(index_col=-1),
    "a default before the end": lambda rules: rules.insert(0, {"val": 0.4, "num_pts": 10}),
    "an entry that is no dict": lambda rules: rules.append([1]),
    "no entry": lambda rules: rules.clear(),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_a_greedy_list_that_contradicts_itself_is_refused(greedy, dump, refused, damage):
    damage(greedy.rules_)
    assert "list.txt: corrupt: " in refused(dump(greedy).read_bytes())


@pytest.mark.parametrize(
    ("rules", "words"),
    [
        ({"a": 1}, "rules_ is not a list"),
        ([{"val": 0.0, "num_pts": 3}, {}], "rules_[0] tests nothing"),
        ([1], "rules_[0] is not a dict"),
    ],
)
def test_a_greedy_list_of_other_things_than_rules_is_corrupt(greedy, dump, refused, rules, words):
    greedy.rules_ = rules
    assert words in refused(dump(greedy).read_bytes())


@pytest.mark.parametrize("names", [["a", "a"], ["a"], ["a", "b", "c"]])
def test_names_that_are_not_those_of_the_columns_are_corrupt(greedy, dump, refused, names):
    del greedy.feature_names_in_
    greedy.feature_names_ = names
    assert "feature_names_ does not have 2 different names" in refused(dump(greedy).read_bytes())


def test_names_that_were_made_up_are_none(greedy, dump):
    del greedy.feature_names_in_
    greedy.feature_names_ = ["X0", "X1"]
    for rule, name in zip(greedy.rules_, greedy.feature_names_, strict=False):
        rule["col"] = name
    assert read(dump(greedy)).model.feature_names is None


def test_a_greedy_list_that_was_not_fitted_or_has_other_classes_is_unsupported(greedy, dump, refused):
    greedy.classes_ = np.array([0, 1, 2])
    assert "3 classes" in refused(dump(greedy).read_bytes(), UnsupportedArtifactError)
    del greedy.rules_
    assert "not fitted" in refused(dump(greedy).read_bytes(), UnsupportedArtifactError)


def test_a_greedy_list_in_a_pipeline_is_unsupported_and_the_message_says_what_is(greedy, dump, refused):
    message = refused(dump(make_pipeline(greedy)).read_bytes(), UnsupportedArtifactError)
    assert "rule lists of imodels and CORELS alone" in message


def test_what_else_is_in_a_greedy_lists_file_is_listed_as_not_read(greedy, dump):
    greedy.secret_ = np.arange(100)
    greedy.rules_[0]["rows"] = np.arange(100)
    assert read(dump(greedy)).not_read == ("rules_[0].rows", "secret_")


# CORELS

SAVED = {
    "f": ["a", "b", "c"],
    "r": [
        {"antecedents": [1, -2], "prediction": True, "train_labels": [2, 7]},
        {"antecedents": [3], "prediction": 0, "train_labels": [5, 0]},
        {"antecedents": [0], "prediction": True, "train_labels": [1, 1]},
    ],
    "p": "label",
}
YES, NO = between(1.0, 1.0), between(0.0, 0.0)
AS_SAVED = RuleList(
    "CORELS rule list",
    (
        ListedRule((Literal(0, *YES), Literal(1, *NO)), True, (2, 7)),
        ListedRule((Literal(2, *YES),), False, (5, 0)),
        ListedRule((), True, (1, 1)),
    ),
    ("a", "b", "c"),
    3,
    (False, True),
    "binary",
)
PRINTED = """RULELIST:
if [a && not b]:
  label = True [2, 7]
else if [c]:
  label = False [5, 0]
else\x20
  label = True [1, 1]
All features: (['a', 'b', 'c'])"""


def without_counts(rules: RuleList) -> RuleList:
    plain = tuple(ListedRule(rule.literals, rule.prediction) for rule in rules.rules)
    return RuleList(rules.kind, plain, rules.columns, None, rules.classes, rules.inputs)


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_what_pycorels_saved_is_read(written, protocol):
    artifact = written(pickle.dumps(SAVED, protocol=protocol))
    assert same(artifact.model, AS_SAVED)
    assert artifact.holds == "CORELS rule list, 3 rules, 3 columns, 2 classes"
    assert artifact.not_read == ()
    assert artifact.unjudged.why is None


def test_a_classifier_that_pycorels_saved_is_read(written, monkeypatch):
    for name, kind in (("corels", None), ("corels.corels", "CorelsClassifier"), ("corels.utils", "RuleList")):
        module = ModuleType(name)
        monkeypatch.setitem(sys.modules, name, module)
        if kind is not None:
            setattr(module, kind, type(kind, (), {"__module__": name}))
    model, rules = sys.modules["corels.corels"].CorelsClassifier(), sys.modules["corels.utils"].RuleList()
    rules.__dict__ = {"rules": SAVED["r"], "features": SAVED["f"], "prediction_name": SAVED["p"]}
    assert same(written(pickle.dumps(rules)).model, AS_SAVED)
    model.__dict__ = {"c": 0.01, "verbosity": ["rulelist"], "rl_": rules, "seen": np.arange(99)}
    artifact = written(pickle.dumps(model))
    assert same(artifact.model, AS_SAVED)
    assert artifact.not_read == ("seen",)


def test_features_that_share_a_name_are_told_apart_by_position(written):
    rules = written(pickle.dumps(SAVED | {"f": ["na"] * 3})).model
    assert rules.columns is None
    assert rules.n_features == 3
    assert rules.rules == AS_SAVED.rules


@pytest.mark.parametrize(
    "change",
    [
        {"antecedents": [4]},
        {"antecedents": [1, 0]},
        {"antecedents": []},
        {"antecedents": ["a"]},
        {"antecedents": [True]},
        {"antecedents": 1},
        {"prediction": 2},
        {"prediction": None},
        {"train_labels": [1]},
        {"train_labels": [1, -1]},
        {"train_labels": [1.5, 1]},
        {"train_labels": None},
    ],
)
def test_a_saved_corels_list_that_is_malformed_is_refused(refused, change):
    saved = copy.deepcopy(SAVED)
    saved["r"][0].update(change)
    refused(pickle.dumps(saved))


@pytest.mark.parametrize("change", [{"f": "abc"}, {"f": [1, 2, 3]}, {"r": []}, {"r": [1]}, {"r": SAVED["r"][:2]}])
def test_a_saved_corels_file_that_is_malformed_is_refused(refused, change):
    refused(pickle.dumps(SAVED | change))


def test_what_pycorels_prints_is_read_with_its_counts_and_features(written):
    artifact = written(PRINTED)
    assert same(artifact.model, AS_SAVED)
    assert artifact.not_read == ()
    assert artifact.unjudged.why is None


def test_what_stands_around_a_printed_list_is_said_to_be_not_read(written):
    artifact = written(f"3 samples:\n1 0 1\n\n{PRINTED}\ndone\n")
    assert same(artifact.model, AS_SAVED)
    assert artifact.not_read == ("(text around the rule list)",)


def test_a_printed_list_without_its_features_names_those_it_tests(written):
    text = "\r\n".join(PRINTED.splitlines()[1:7]).replace("else \r\n", "else\r\n")
    rules = written(text).model
    assert rules.columns == ("a", "b", "c")
    assert rules.n_features is None
    assert rules.feature_names is None
    assert rules.rules == AS_SAVED.rules


def test_a_feature_whose_name_begins_with_not_is_no_negation(written):
    text = PRINTED.replace("not b", "not not b").replace("'b'", "'not b'")
    rules = written(text).model
    assert rules.columns == ("a", "not b", "c")
    assert rules.rules == AS_SAVED.rules


@pytest.mark.parametrize(("text", "prediction"), [("RULELIST:\nlabel = True", True), ("default~0", False)])
def test_a_list_of_a_default_alone_is_read(written, text, prediction):
    rules = written(text).model
    assert rules.rules == (ListedRule((), prediction),)


@pytest.mark.parametrize(
    "text",
    [
        *("\n".join(PRINTED.splitlines()[:n]) for n in range(1, 7)),
        PRINTED.replace("else if [c]", "if [c]"),
        PRINTED.replace("else if [c]:", "else if (c):"),
        PRINTED.replace("[5, 0]", "[5, 0, 1]"),
        PRINTED.replace("[5, 0]", "[5, x]"),
        PRINTED.replace(" [5, 0]", ""),
        PRINTED.replace("= False", "= maybe"),
        PRINTED.replace("not b", ""),
        PRINTED.replace("[c]", "[d]"),
        PRINTED.replace("'c'", "'b'"),
        PRINTED.replace("'c'", "3"),
        PRINTED.replace("'c'", "f()"),
    ],
)
def test_a_printed_list_that_is_cut_or_malformed_is_refused(refused, text):
    refused(text)


def test_of_two_printed_lists_none_is_chosen(refused):
    assert "2 printed rule lists" in refused(f"{PRINTED}\n{PRINTED}", UnsupportedArtifactError)


CPP = """final total time: 0.0003

OPTIMAL RULE LIST
if ({sex:Male,age:18-20}) then ({recidivate:Yes})
else if ({priors:not->3}) then ({recidivate:No})
else ({recidivate:Yes})

writing optimal rule list to: opt.txt
"""


def test_what_the_cpp_program_prints_is_read(written):
    artifact = written(CPP)
    rules = artifact.model
    assert rules.columns == ("sex:Male", "age:18-20", "priors:>3")
    assert rules.classes == ("No", "Yes")
    assert [rule.prediction for rule in rules.rules] == ["Yes", "No", "Yes"]
    assert rules.rules[0].literals == (Literal(0, *YES), Literal(1, *YES))
    assert rules.rules[1].literals == (Literal(2, *NO),)
    assert rules.counts is None
    assert artifact.not_read == ("(text around the rule list)",)


def test_what_the_cpp_program_writes_is_the_same_list(written):
    printed = written(CPP).model
    rules = written("{sex:Male,age:18-20}~1;{priors:not->3}~0;default~1").model
    assert [rule.literals for rule in rules.rules] == [rule.literals for rule in printed.rules]
    assert rules.columns == printed.columns
    assert [rule.prediction for rule in rules.rules] == [True, False, True]


def test_a_printed_list_of_one_class_does_not_tell_the_other(refused):
    message = refused("OPTIMAL RULE LIST\nif (1) then ({label=0})\n", UnsupportedArtifactError)
    assert "1 of CORELS' 2 classes" in message


@pytest.mark.parametrize(
    "text",
    [
        CPP.partition("else (")[0],
        CPP.replace("else if", "if"),
        CPP.replace(") then (", " then "),
        CPP.replace("{priors:not->3}", ""),
        "{a}~1;default~0;default~1",
        "{a}~1;{b};{c}~1;default~0",
        "{a,}~1;default~0",
    ],
)
def test_what_the_cpp_program_never_writes_is_refused(refused, text):
    refused(text)


# Our own form


HEAD = 'schema_version = 1\nclasses = ["no", "yes"]\ncolumns = ["a", "b"]\n'
LAST = '[[rules]]\nthen = "no"\n'


def test_all_that_is_wrong_is_said_at_once_with_keys_and_lines(refused):
    message = refused(
        HEAD
        + '[[rules]]\nif = { a = { above = 3, at_most = 2 } }\nthen = "maybe"\ncounts = [1, 2, 3]\n'
        + '[[rules]]\nif = { c = 1 }\nthen = "no"\n'
    )
    assert message == (
        "list.txt: corrupt: line 5: rules.0.if.a: can never hold: no number is between its bounds; "
        "line 6: rules.0.then: is none of the classes; line 7: rules.0.counts: 3 numbers for 2 classes; "
        "line 9: rules.1.if: the last rule is the default: it must be without if; "
        "line 9: rules.1.if.c: is none of the columns; "
        "line 8: rules.1: has no counts, and other rules have: give them in all or in none"
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEAD, "'rules' is a required property"),
        (HEAD + "[[rules]]\n", "line 4: rules.0: 'then' is a required property"),
        (HEAD.replace("= 1", "= 2") + LAST, "line 1: schema_version: 1 was expected"),
        (HEAD + "extra = 1\n" + LAST, "line 4: top level: there is no key 'extra'"),
        (HEAD + '[[rules]]\nif = { a = 1 }\nthn = 1\nthen = "no"\n' + LAST, "line 6: rules.0: there is no key 'thn'"),
        (
            HEAD + '[[rules]]\nif = { a = { over = 1 } }\nthen = "no"\n' + LAST,
            "line 5: rules.0.if.a: there is no key 'over'",
        ),
        (HEAD + '[[rules]]\nif = { a = nan }\nthen = "no"\n' + LAST, "line 5: rules.0.if.a: nan is not of type"),
        (HEAD + '[[rules]]\nif = { a = 1e39 }\nthen = "no"\n' + LAST, "rules.0.if.a: a number is too large"),
        (HEAD + "[[rules]]\nif = { a = 1" + "0" * 400 + ' }\nthen = "no"\n' + LAST, "line 5: rules.0.if.a: 1000000"),
        (HEAD + '[[rules]]\nif = { a = "1" }\nthen = "no"\n' + LAST, "rules.0.if.a: '1' is not of type"),
        (HEAD + '[[rules]]\nif = {}\nthen = "no"\n' + LAST, "rules.0.if: "),
        (HEAD + '[[rules]]\nthen = "no"\n' + LAST, "line 4: rules.0: only the last rule, the default"),
        (HEAD + '[[rules]]\nif = { a = { above = 1, at_least = 1 } }\nthen = "no"\n' + LAST, "both above and at_least"),
        (HEAD + '[[rules]]\nif = { a = { above = 1, not = { above = 0 } } }\nthen = "no"\n' + LAST, "can never hold"),
        (
            HEAD + '[[rules]]\nif = { a = { not = [{ below = 1 }, { at_least = 1 }] } }\nthen = "no"\n' + LAST,
            "can never",
        ),
        (
            HEAD + 2 * '[[rules]]\nif = { a = 1 }\nthen = "no"\n' + LAST,
            "line 8: rules.1.if: the same tests as those of rules.0",
        ),
        (HEAD + LAST.replace('"no"', "true"), "line 5: rules.0.then: is none of the classes"),
        (HEAD + LAST + "counts = [1, -1]\n", "line 6: rules.0.counts.1: -1 is less than the minimum"),
        (HEAD + LAST + "counts = [1, 1.5]\n", "line 6: rules.0.counts.1: 1.5 is not of type 'integer'"),
        (HEAD.replace('"yes"', '"no"') + LAST, "line 2: classes: the same class twice"),
        (HEAD.replace('"no", "yes"', "1, true") + "[[rules]]\nthen = 1\n", "line 2: classes: the same class twice"),
        (HEAD.replace(', "yes"', "") + LAST, "line 2: classes: "),
        (HEAD.replace('"b"', '"a"') + LAST, "line 3: columns: the same column twice"),
        (HEAD + 30 * "[[rules]]\nthen = 3\n", "; and 39 more"),
        (HEAD + "[[rules]\n", "not valid TOML"),
        (HEAD + "rules = 3\n", "line 4: rules: 3 is not of type 'array'"),
    ],
)
def test_a_written_list_that_is_wrong_is_refused_with_its_place(refused, text, words):
    assert words in refused(text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('{"schema_version": 1, "classes": [0, 1], "rules": [{"then": 0}], "rules": []}', "a key twice"),
        ('{"schema_version": 1, "classes": [0, NaN], "rules": [{"then": 0}]}', "NaN is not a number"),
        ('{"schema_version": 1, "classes": [0, 1], "rules": [{"then": 0}]', "not valid JSON"),
        ('{"schema_version": 1, "classes": [0, 1], "rules": [{"then": 2}]}', "corrupt: rules.0.then: is none"),
    ],
)
def test_a_list_in_json_that_is_wrong_is_refused(refused, text, words):
    assert words in refused(text)


def test_hostile_texts_are_refused_as_other_files_are(refused):
    assert "more than 100 bytes" in refused(BROWNIES, ArtifactTooBigError, limits=Limits(text_bytes=100))
    deep = '{"rules": ' + "[" * 100_000
    refused(deep, ArtifactTooBigError)
    assert "\x1b" not in refused(HEAD + 'rules = [{ then = "\\u001b[31m", "::error::" = 1 }]\n')
    refused(" " * 500_000 + "schema_version", UnsupportedArtifactError)
    refused("schema_version = 1\n" + "a." * 100_000 + "a = 1")
    refused("OPTIMAL RULE LIST\nif (" + ") then (" * 20_000 + ")")
    refused("a,b,label\n1,2,0\n", UnsupportedArtifactError)
    refused(BROWNIES.encode("utf-16"), UnsupportedArtifactError)


def test_a_text_with_a_byte_order_mark_is_read(written):
    assert same(written("\ufeff" + BROWNIES).model, written(BROWNIES).model)


def test_the_schema_is_a_schema():
    Draft202012Validator.check_schema(json.loads((rules_folder() / "rule-list.schema.json").read_text()))


# What is written is read


NAMES = ("age", "sex:male", 'a "b"', "é, ü", "not x")
singles = st.integers(-8, 8).map(lambda number: number / 4)


@st.composite
def column_tests(draw):
    """A test of one column as it is written, and the literals that it is, without the column."""
    form = draw(st.sampled_from(("value", "boolean", "bounds", "not")))
    value = draw(singles)
    if form == "value":
        return value, [(*between(value, value), False)]
    if form == "boolean":
        truth = draw(st.booleans())
        return truth, [(*between(float(truth), float(truth)), False)]
    if form == "not":
        return {"not": value}, [(*between(value, value), True)]
    bounds, low, high = {}, -np.inf, np.inf
    if draw(st.booleans()):
        bounds["above"] = low = value
    else:
        bounds["at_least"], low = value, float(np.nextafter(value, -np.inf))
    if draw(st.booleans()):
        bounds["at_most"] = high = value + 1
    literals = [(low, high, False)]
    if draw(st.booleans()):
        bounds["not"] = [value + 0.5]
        literals.append((*between(value + 0.5, value + 0.5), True))
    return bounds, literals


@st.composite
def documents(draw):
    """A written list and what it must be read as."""
    classes = draw(st.sampled_from(([0, 1], ["no", "yes", "perhaps"], [False, True], [1.5, "x"])))
    counted = draw(st.booleans())
    entries, rules = [], []
    for _ in range(draw(st.integers(0, 4))):
        chosen = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3, unique=True))
        by_column = {name: draw(column_tests()) for name in chosen}
        literals = tuple(Literal(NAMES.index(c), *one) for c, (_, found) in by_column.items() for one in found)
        if any(rule.literals == literals for rule in rules):
            continue
        entries.append({"if": {name: test for name, (test, _) in by_column.items()}})
        rules.append(ListedRule(literals, None))
    entries.append({})
    rules.append(ListedRule((), None))
    for index, entry in enumerate(entries):
        entry["then"] = draw(st.sampled_from(classes))
        if counted:
            entry["counts"] = draw(st.lists(st.integers(0, 9), min_size=len(classes), max_size=len(classes)))
        rules[index] = ListedRule(rules[index].literals, entry["then"], tuple(entry["counts"]) if counted else None)
    content = {"schema_version": 1, "classes": classes, "columns": list(NAMES), "rules": entries}
    return content, RuleList("rule list", tuple(rules), NAMES, len(NAMES), tuple(classes))


def in_toml(value) -> str:
    if isinstance(value, dict):
        return (
            "{ "
            + ", ".join(f"{json.dumps(key, ensure_ascii=False)} = {in_toml(one)}" for key, one in value.items())
            + " }"
        )
    if isinstance(value, list):
        return "[" + ", ".join(map(in_toml, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


@settings(max_examples=examples(40), deadline=None)
@given(documents())
def test_a_list_is_read_as_it_was_written(tmp_path_factory, document):
    content, expected = document
    head = "".join(f"{key} = {in_toml(value)}\n" for key, value in content.items() if key != "rules")
    rules = "".join(
        "[[rules]]\n" + "".join(f"{k} = {in_toml(v)}\n" for k, v in rule.items()) for rule in content["rules"]
    )
    path = tmp_path_factory.getbasetemp() / "list"
    for text in (head + rules, json.dumps(content), "\n" + json.dumps(content, indent=2, ensure_ascii=False)):
        path.write_text(text, encoding="utf-8")
        assert same(read(path).model, expected)


@st.composite
def corels_lists(draw):
    """Antecedents and a prediction of each rule, the default last, and whether all have counts."""
    columns = st.lists(st.sampled_from((1, 2, 3, -1, -2, -3)), min_size=1, max_size=3, unique_by=abs)
    rules = [(draw(columns), draw(st.booleans())) for _ in range(draw(st.integers(0, 4)))]
    return [*rules, ([], draw(st.booleans()))], draw(st.booleans())


@settings(max_examples=examples(40), deadline=None)
@given(corels_lists())
def test_a_corels_list_is_the_same_in_each_of_its_forms(tmp_path_factory, listed):
    rules, counted = listed
    names = ["sex:Male", "age:18-20", "priors:>3"]
    counts = [(index, 2 * index) if counted else None for index in range(len(rules))]
    shown = [" && ".join(("not " if a < 0 else "") + names[abs(a) - 1] for a in columns) for columns, _ in rules]
    label = [
        f"  y = {truth}" + (f" [{c[0]}, {c[1]}]" if c else "") for (_, truth), c in zip(rules, counts, strict=True)
    ]
    printed = "RULELIST:\n" + "".join(
        f"if [{test}]:\n{said}\nelse " for test, said in zip(shown, label, strict=True) if test
    )
    printed += ("\n" if len(rules) > 1 else "") + label[-1]
    saved = [
        {"antecedents": columns or [0], "prediction": truth} | ({"train_labels": list(c)} if c else {})
        for (columns, truth), c in zip(rules, counts, strict=True)
    ]
    expected = RuleList(
        "CORELS rule list",
        tuple(
            ListedRule(tuple(Literal(abs(a) - 1, *(NO if a < 0 else YES)) for a in columns), truth, c)
            for (columns, truth), c in zip(rules, counts, strict=True)
        ),
        tuple(names),
        3,
        (False, True),
        "binary",
    )
    path = tmp_path_factory.getbasetemp() / "corels"
    for content in (pickle.dumps({"f": names, "r": saved, "p": "y"}), f"{printed}\nAll features: ({names})".encode()):
        path.write_bytes(content)
        assert same(read(path).model, expected)
    mined = [
        "{" + ",".join(names[abs(a) - 1].replace(":", ":not-" if a < 0 else ":") for a in c) + "}" for c, _ in rules
    ]
    path.write_text(
        "".join(f"{test}~{truth:d};" for test, (_, truth) in zip(mined, rules[:-1], strict=False))
        + f"default~{rules[-1][1]:d}"
    )
    assert same(read(path).model.resolved(names), without_counts(expected).resolved(names))


@pytest.mark.parametrize(
    "text",
    [
        '{"schema_version": 1, "classes": [0, 1], "rules": [' + "{}," * 20_000 + "{}]}",
        "schema_version = 1\nclasses = [0, 1]\nrules = [" + "{}, " * 20_000 + "]\n",
        '{"schema_version": 1, "classes": [0, 1], "columns": [' + "0," * 20_000 + '0], "rules": [{"then": 0}]}',
    ],
    ids=["JSON", "TOML", "columns"],
)
def test_of_very_many_faults_only_so_many_are_looked_for(refused, text, monkeypatch):
    made = []
    monkeypatch.setattr("pytest_draft.documents._problems", lambda error: made.append(error) or [(error.message, [])])
    assert re.search(r"; and at least \d{3} more$", refused(text))
    assert len(made) <= 1_000


def test_a_list_that_nobody_reads_is_refused_before_it_is_parsed(refused):
    counts = ", ".join(["0"] * 200_000)
    text = f'{{"schema_version": 1, "classes": [0, 1], "rules": [{{"then": 0, "counts": [{counts}]}}]}}'
    assert "a rule list of more than 262144 bytes" in refused(text, ArtifactTooBigError)
