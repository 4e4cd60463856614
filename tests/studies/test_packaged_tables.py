"""Tables that packages bring along, on a package made up for the tests."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import pytest

from studies import packaged_tables, verdicts
from studies.optional import MissingPackageError


@pytest.fixture
def package(tmp_path, monkeypatch):
    """Write a package with one table, and let it be found."""
    rng = np.random.default_rng(0)
    n = 160
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "income": rng.normal(size=n).round(3),
            "town": rng.choice(["x", "y", "z"], n),
            "owner": rng.integers(0, 2, n),
            "gap": np.where(rng.random(n) < 0.2, np.nan, rng.normal(size=n)),
            "number": np.arange(n),
            "constant": 1,
            "text": [f"name {i}" for i in range(n)],
        }
    )
    folder = tmp_path / "brings_tables" / "datasets"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").touch()
    table.to_csv(folder / "people.csv", index=False)
    table.head(20).to_csv(folder / "few.csv", index=False)
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(packaged_tables, "PACKAGES", {"brings_tables": "datasets/*.csv", "is_not_installed": "*.csv"})
    packaged_tables.packaged.cache_clear()
    yield table
    packaged_tables.packaged.cache_clear()
    sys.modules.pop("brings_tables", None)


def test_what_can_be_features_is_kept_and_the_label_is_one_of_two_classes_or_a_number(package):
    found = packaged_tables.packaged()
    assert set(found) == {"packaged:people", "packaged:people:regression"}
    classes, numbers = found.values()
    assert set(classes) | {"owner"} == {"age", "income", "town", "owner", "gap", "label"}
    assert classes["label"].tolist() == package["owner"].tolist()
    assert numbers["label"].nunique() >= 20
    assert len(set(map(packaged_tables.is_held_out, found))) == 1


def test_without_any_package_one_line_says_what_to_install(monkeypatch):
    monkeypatch.setattr(packaged_tables, "PACKAGES", {"is_not_installed": "*.csv"})
    packaged_tables.packaged.cache_clear()
    with pytest.raises(MissingPackageError, match=r"^tables that packages bring along: pip install is_not_installed$"):
        packaged_tables.packaged()


@pytest.mark.parametrize("name", ["packaged:people", "packaged:people:regression"])
def test_categories_and_gaps_are_trained_on_by_a_pipeline_and_judged(package, name):
    found = verdicts.answered(verdicts.Setting(name, "5 x depth 2", rows=160, seconds=20.0), None)
    assert found.verdict in ("passed", "failed")
