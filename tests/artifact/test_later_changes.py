"""What a file changes after an object was made of it does not change what is judged: loaders copy, so it is refused."""

from __future__ import annotations

import io
import pickle
import pickletools

import joblib
import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from pytest_draft.artifact import read
from pytest_draft.errors import CorruptArtifactError


class Changing(pickle._Pickler):
    """Writes an attribute of each tree anew into the dictionary that the tree was filled from."""

    def __init__(self, file, name, value):
        super().__init__(file, 2)
        self.change = name, value

    def save_reduce(self, func, args, state=None, *rest, obj=None, **named):
        super().save_reduce(func, args, state, *rest, obj=obj, **named)
        if isinstance(obj, DecisionTreeClassifier):
            self.write(self.get(self.memo[id(state)][0]))
            for part in self.change:
                self.save(part)
            self.write(pickle.SETITEM + pickle.POP)


@pytest.mark.parametrize(("name", "value"), [("random_state", None), ("n_classes_", 2), ("added", "text")])
def test_a_state_that_changes_behind_its_object_is_refused(name, value, tmp_path):
    rng = np.random.default_rng(0)
    forest = RandomForestClassifier(3, random_state=4).fit(rng.integers(0, 2, (40, 5)), rng.integers(0, 2, 40))
    file = io.BytesIO()
    Changing(file, name, value).dump(forest)
    loaded = pickle.loads(file.getvalue())
    assert [tree.random_state for tree in loaded.estimators_] == [tree.random_state for tree in forest.estimators_]
    (tmp_path / "model.pkl").write_bytes(file.getvalue())
    with pytest.raises(CorruptArtifactError, match="its pickle is damaged"):
        read(tmp_path / "model.pkl")


def test_a_data_type_that_changes_behind_its_array_is_refused(tmp_path):
    rng = np.random.default_rng(0)
    forest = RandomForestClassifier(2, random_state=4).fit(rng.integers(0, 2, (40, 5)), rng.integers(0, 2, 40))
    content = pickle.dumps(forest, 2)
    names = [(at, operation.name, given) for operation, given, at in pickletools.genops(content)]
    called = next(at for at, name, given in names if name == "GLOBAL" and given == "numpy dtype")
    filled = 1 + next(at for at, name, _ in names if name == "BUILD" and at > called)
    again = b"(K\x03X\x01\x00\x00\x00>NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
    (tmp_path / "model.pkl").write_bytes(content[:filled] + again + content[filled:])
    with pytest.raises(
        ValueError, match=str(int.from_bytes((2).to_bytes(8, "little"), "big"))
    ):  # the 2 classes, turned
        pickle.loads((tmp_path / "model.pkl").read_bytes())
    with pytest.raises(CorruptArtifactError, match="data type's state is malformed"):
        read(tmp_path / "model.pkl")
    joblib.dump(forest, tmp_path / "model.pkl")
    assert read(tmp_path / "model.pkl").forest.n_trees == 2
