"""What one process has found out is the same to all others."""

from __future__ import annotations

import pytest

from made_up_facts import filled
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.plugin.sharing import Shared, stamps


def test_an_examination_is_the_same_to_the_process_that_finds_it_out_and_to_the_next(tmp_path):
    examination, shared = filled(Examination), Shared(tmp_path)
    first = shared.once(examination.case, lambda: examination)
    second = shared.once(examination.case, lambda: pytest.fail("it is found out already"))
    assert first == second == examination
    assert not list(tmp_path.glob("*.tmp"))


@pytest.mark.parametrize("name", ["artifact", "data", "domain", "holdout"])
def test_a_file_that_was_replaced_is_examined_again(name, tmp_path):
    files = {kind: tmp_path / kind for kind in ("artifact", "data", "domain", "holdout")}
    for path in files.values():
        path.write_text("one", encoding="utf-8")
    case = Case(**{kind: str(path) for kind, path in files.items()})
    before = stamps(case)
    assert stamps(case) == before
    files[name].write_text("another", encoding="utf-8")
    assert stamps(case) != before
