"""Calls that a forest does not need are not run: the forest is read all the same, and what stands in them is found."""

from __future__ import annotations

import functools
import pickle

import cloudpickle
import joblib
import numpy as np
import pytest
import skops.io as skops
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from attack_corpus.pickles import Payload
from attack_corpus.skops_files import EMPTY, node_of, planted, rewritten
from pytest_draft.artifact import read
from pytest_draft.errors import ArtifactNotAllowedError, UnsupportedArtifactError


class Wrapper:
    """A class of somebody's own."""

    def __init__(self, **attributes):
        self.__dict__.update(attributes)


def foreign(module, name, **attributes) -> bytes:
    """Return the pickle of an object of such a class."""
    content = pickle.dumps(attributes, protocol=4)
    named = b"".join(b"\x8c" + bytes([len(text)]) + text.encode() for text in (module, name))
    return b"\x80\x04" + named + b"\x93)\x81" + content[content.index(b"}") : -1] + b"b."


def calls(path) -> list[str]:
    return [place.path for place in read(path).account.unexplained if place.what == "not run"]


@pytest.mark.parametrize("compress", [0, "zlib", "gzip", "bz2", "xz", "lzma"])
def test_a_payload_beside_a_forest_is_named_and_never_run(compress, forest, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    forest.zzz = Payload()
    joblib.dump(forest, "model.joblib", compress=(compress, 3) if compress else 0)
    assert calls("model.joblib") == ["a call of posix.system"]
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    "notes",
    [
        np.array([[1, Payload()]], object),
        np.array([np.array([Payload()], object), 1], object),
        {"a": [({"b": (Payload(),)},)]},
        {Payload(): 1},
        functools.partial(Payload),
    ],
    ids=["array", "array in array", "containers", "key", "partial"],
)
def test_a_call_anywhere_beside_a_forest_is_noted(notes, forest, dump):
    forest.notes = notes
    assert calls(dump(forest))
    assert calls(dump(forest, "model.pkl"))


def test_functions_of_cloudpickle_are_searched_for_arrays(fitted, columns, tmp_path):
    rows = columns[:30].copy()
    path = tmp_path / "model.pkl"
    path.write_bytes(cloudpickle.dumps({"model": fitted, "after": lambda answer: answer + len(rows)}))
    found = read(path)
    assert found.forest.n_trees == 3
    held = [stored.values() for stored in found.contents.arrays if stored.shape == rows.shape]
    assert any(np.array_equal(values, rows) for values in held)
    assert "a call of cloudpickle.cloudpickle._make_function" in calls(path)


def test_a_forest_in_an_object_of_an_unknown_class_is_found_and_its_arrays_are_listed(fitted, columns, dump):
    found = read(dump(Wrapper(model=fitted, notes=columns[:30]), "model.pkl"))
    assert found.holds.endswith("3 classes, in a Wrapper")
    assert [stored.path for stored in found.contents.arrays] == ["notes"]
    assert found.account.unexplained


def test_a_forest_behind_a_bound_method_is_found(fitted, dump):
    path = dump(Wrapper(f=fitted.predict), "model.pkl")
    assert read(path).forest.n_trees == 3
    assert calls(path) == ["a call of builtins.getattr"]


def test_a_model_of_an_unknown_kind_is_not_judged_tree_by_tree(fitted, dump):
    for attributes in ({"estimators_": fitted.estimators_}, {"members": fitted.estimators_}):
        with pytest.raises(UnsupportedArtifactError, match=r"it holds a [a-z_.]*test_not_run\.Wrapper"):
            read(dump(Wrapper(**attributes), "model.pkl"))


def test_what_a_refused_file_holds_is_known(columns, dump):
    with pytest.raises(UnsupportedArtifactError) as caught:
        read(dump(Wrapper(notes=columns[:30]), "model.pkl"))
    assert [stored.path for stored in caught.value.beside.contents.arrays] == ["notes"]
    with pytest.raises(ArtifactNotAllowedError, match=r"a call of posix\.system") as caught:
        read(dump([Payload(), columns[:30]], "model.pkl"))
    assert (30, 6) in [stored.shape for stored in caught.value.beside.contents.arrays]


@pytest.mark.parametrize(
    ("module", "name", "said"),
    [
        ("shap.explainers._tree", "TreeExplainer", "keeps training rows to explain with by design"),
        ("quantile_forest._quantile_forest", "RandomForestQuantileRegressor", "keeps the target of each training row"),
        ("tabpfn.classifier", "TabPFNClassifier", "keeps its training table by design"),
    ],
)
def test_what_keeps_rows_by_design_is_named(module, name, said, columns, dump):
    with pytest.raises(UnsupportedArtifactError, match=said) as caught:
        read(dump(foreign(module, name, data=columns[:30]), "model.pkl"))
    assert caught.value.beside.contents.arrays


def renamed(pipeline, *names) -> bytes:
    """Return a pipeline's pickle in which modules and classes have other names."""
    content = pickle.dumps(pipeline, protocol=2)
    for old, new in names:
        assert f"c{old}\n".encode() in content
        content = content.replace(f"c{old}\n".encode(), f"c{new}\n".encode())
    return content


@pytest.mark.parametrize("module", ["imblearn.pipeline", "pycaret.internal.pipeline"])
def test_a_pipeline_of_another_library_is_scikit_learns(module, columns, classes, forest, dump):
    pipeline = make_pipeline(StandardScaler(), forest).fit(columns, classes)
    found = read(dump(renamed(pipeline, ("sklearn.pipeline\nPipeline", f"{module}\nPipeline")), "model.pkl"))
    same = read(dump(pipeline, "same.pkl"))
    assert (found.holds, found.not_covered, found.account) == (same.holds, None, same.account)
    assert found.encoder.transformers == ("StandardScaler",)


def test_a_sampler_in_a_pipeline_is_named_with_what_to_do(columns, classes, forest, dump):
    pipeline = make_pipeline(StandardScaler(), forest).fit(columns, classes)
    sampler = ("sklearn.preprocessing._data\nStandardScaler", "imblearn.over_sampling._smote.base\nSMOTE")
    found = read(dump(renamed(pipeline, ("sklearn.pipeline\nPipeline", "imblearn.pipeline\nPipeline"), sampler)))
    assert "the forest saw what SMOTE made of the training rows: save it alone with the table of" in found.not_covered
    assert found.forest.n_trees == 3


@pytest.mark.parametrize(
    "notes",
    [functools.partial(np.add, np.arange(40.0)), StandardScaler().fit(np.eye(40)).transform],
    ids=["partial", "method"],
)
def test_calls_in_a_file_of_skops_are_described(notes, forest, dump):
    forest.notes = notes
    path = dump(skops.dumps(forest), "model.skops")
    assert read(path).forest.n_trees == 3
    assert calls(path)
    assert (40,) in [stored.shape for stored in read(path).contents.arrays]


@pytest.mark.parametrize(
    ("loader", "module", "name", "shown"),
    [
        ("OperatorFuncNode", "operator", "methodcaller", "operator.methodcaller"),
        ("MethodNode", "builtins", "object", "builtins.object"),
        ("ConstructorFromReduceNode", "os", "system", "os.system"),
        ("ConstructorFromReduceNode", "os", "::error::\n\x1b[31m", ""),
    ],
)
def test_a_call_in_a_file_of_skops_is_named_in_a_safe_line(loader, module, name, shown, forest, dump):
    arguments = node_of("TupleNode", "builtins", "tuple", [EMPTY])
    node = {**node_of(loader, module, name), "content": arguments}
    (said,) = calls(dump(rewritten(skops.dumps(forest), planted(node)), "model.skops"))
    assert said.isascii()
    assert said.isprintable()
    assert "::" not in said
    assert name[:2] == "::" or said == f"a call of {shown}"
