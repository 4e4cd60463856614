"""What the study of versions says of people who are in one of two files only."""

from __future__ import annotations

import numpy as np
import pytest

from studies.versions import REMOVED, ROWS, STRANGERS, changed, compute, people_of


@pytest.mark.parametrize("change", ["added", "removed", "replaced"])
def test_the_people_who_are_looked_at_are_in_one_file_only(change):
    mine, others, those = changed(change, 5, 0)
    assert set(mine[those]) == set(mine) - set(others)
    assert len(set(others) - set(mine)) == (5 if change == "replaced" else 0)
    assert max(mine.max(), others.max()) < ROWS + 5


def test_the_difference_of_two_files_tells_the_target_of_the_one_who_joined():
    found = compute("diabetes", "diabetes", REMOVED[0], "added", 1, "as it is", 0)
    assert (found["difference"], found["claims"], found["wrong"]) == (1.0, 1, 0)
    assert found["AUC both"] > found["AUC alone"]
    assert "not covered both" not in found


def test_people_are_drawn_with_the_label_last():
    people = people_of("diabetes", "diabetes", 1)
    assert (people.columns[0], people.columns[-1]) == ("x0", "label")
    assert len(people) - ROWS - 50 >= STRANGERS
    assert not people.label.equals(people_of("diabetes", "diabetes", 2).label)
    assert np.isfinite(people.to_numpy()).all()
