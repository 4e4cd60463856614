"""A mutated honest file is read as a valid forest or refused by one of the four errors, nothing else."""

from __future__ import annotations

import io
import pickle
import zlib

import joblib
import pytest
from hypothesis import HealthCheck, given, settings

from mutated_files import MUTATIONS, assert_read_or_refused, mutated
from profiles import examples


@pytest.fixture(scope="module")
def honest(fitted):
    file = io.BytesIO()
    joblib.dump(fitted, file)
    return {
        "joblib": file.getvalue(),
        "pickle 2": pickle.dumps(fitted, protocol=2),
        "pickle 5": pickle.dumps(fitted, protocol=5),
    }


@pytest.mark.parametrize("kind", ["joblib", "pickle 2", "pickle 5"])
@pytest.mark.parametrize("pack", [bytes, zlib.compress], ids=["plain", "zlib"])
@given(mutations=MUTATIONS)
@settings(max_examples=examples(400), deadline=2000, suppress_health_check=list(HealthCheck), database=None)
def test_a_mutated_file_is_read_as_a_valid_forest_or_refused(kind, pack, mutations, honest, tmp_path):
    path = tmp_path / "mutant"
    path.write_bytes(pack(mutated(honest[kind], mutations)))
    assert_read_or_refused(path)
