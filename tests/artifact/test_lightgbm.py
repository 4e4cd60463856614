"""Texts of LightGBM that were changed, and what else the texts of its models say."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from pytest_draft.artifact import read
from pytest_draft.artifact.budget import DEFAULT_LIMITS, Budget
from pytest_draft.artifact.lightgbm.files import read_lightgbm
from pytest_draft.errors import ArtifactError, CorruptArtifactError

TEXT = (Path(__file__).parent / "files" / "boosters" / "lightgbm-4.7.0-two.txt").read_text()
QUICK = {"n_estimators": 5, "min_child_samples": 5, "verbose": -1, "n_jobs": 1}
ROWS = np.random.RandomState(3).normal(size=(100, 3)).round(2)
LABELS = np.where(ROWS[:, 0] + ROWS[:, 1] > 0, "yes", "no")


def stored(text):
    return read_lightgbm(text.encode(), Budget(DEFAULT_LIMITS, 10**6))


def trained(rows=ROWS, labels=LABELS, **fit):
    return pytest.importorskip("lightgbm").LGBMClassifier(**QUICK).fit(rows, labels, **fit)


def test_names_that_lightgbm_made_up_are_none():
    assert stored(trained().booster_.model_to_string()).forest.feature_names is None
    named = trained(pytest.importorskip("pandas").DataFrame(ROWS, columns=list("abc")))
    assert stored(named.booster_.model_to_string()).forest.feature_names == tuple("abc")


def test_leaves_that_were_filled_again_and_a_rate_that_changes_are_noticed():
    numbers = (LABELS == "yes").astype(int)
    again = trained(labels=numbers).booster_.refit(ROWS, numbers).model_to_string()
    assert stored(again).not_covered is not None
    slower = pytest.importorskip("lightgbm").reset_parameter(learning_rate=lambda index: 0.1 * 0.9**index)
    assert "learning rate" in stored(trained(callbacks=[slower]).booster_.model_to_string()).not_covered


def test_classes_of_a_pickle_that_contradict_each_other_are_refused(dump):
    model = trained()
    model._classes = np.array(["yes", "no"])
    with pytest.raises(CorruptArtifactError, match="not in order"):
        read(dump(model))


@pytest.mark.parametrize(
    ("pattern", "becomes"),
    [
        (r"(left_child)=\S+", r"\1=9999"),
        (r"(left_child)=\S+", r"\1=0"),
        (r"(right_child)=\S+", r"\1=-9999"),
        (r"(split_feature)=\S+", r"\1=77"),
        (r"(split_feature)=\S+", r"\1=-1"),
        (r"(threshold)=\S+", r"\1=nan"),
        (r"(leaf_value)=\S+", r"\1=inf"),
        (r"(leaf_value)=\S+ ", r"\1="),
        (r"(leaf_weight)=\S+", r"\1=-1"),
        (r"(leaf_count)=\S+", r"\1=7.5"),
        (r"(leaf_count)=\S+", r"\1=99999999999999999999999"),
        (r"(internal_count)=\S+", r"\1=199"),
        (r"(num_leaves)=\S+", r"\1=99999999999"),
        (r"(decision_type)=\S+", r"\1=255"),
        (r"(max_feature_idx)=\S+", r"\1=1000000000000"),
        (r"(num_tree_per_iteration)=\S+", r"\1=5"),
        (r"Tree=1\n", "Tree=7\n"),
        (r"num_cat=0\n", "num_cat=0\nnum_cat=0\n"),
        (r"end of trees", "end"),
        (r"\[learning_rate: \S+\]", "[learning_rate: much]"),
    ],
)
def test_a_damaged_text_is_refused_in_one_line(pattern, becomes):
    changed = re.sub(pattern, becomes, TEXT, count=1)
    assert changed != TEXT
    with pytest.raises(ArtifactError) as refusal:
        stored(changed)
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize(
    ("pattern", "becomes"),
    [
        (r"(leaf_value=)(\S+)", r"\g<1>0.7"),
        (r"(leaf_weight=)(\S+)", r"\g<1>3.0"),
        (r"is_linear=0\n", "is_linear=0\nspare=1\n"),
        (r"\[lambda_l1: 0\]", "[lambda_l1: 0]\n[lambda_l3: 1]"),
        (r"parameters:\n(.*\n)*end of parameters\n", ""),
        (r"objective=\S+ \S+\n", ""),
    ],
)
def test_a_text_that_does_not_say_what_its_rows_would_is_not_judged(pattern, becomes):
    changed = re.sub(pattern, becomes, TEXT, count=1)
    assert changed != TEXT
    assert stored(changed).not_covered is not None


def test_text_between_the_fields_is_listed():
    assert stored(TEXT + "\na line about somebody\n").contents.opaque
