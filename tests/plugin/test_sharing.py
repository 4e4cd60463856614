"""What one process has found out is the same to all others."""

from __future__ import annotations

import os
import time
from dataclasses import replace

import pytest

from made_up_facts import filled
from pytest_draft.facts.case import Case
from pytest_draft.facts.examination import Examination
from pytest_draft.plugin.cache import Cache
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


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such time")
@pytest.mark.parametrize("how", ["put away and back", "written over, with its time set back"])
def test_what_was_found_out_about_a_file_in_between_is_not_kept_for_the_first_one(how, tmp_path):
    model, other = tmp_path / "model", tmp_path / "other"
    model.write_text("A", encoding="utf-8")
    other.write_text("B", encoding="utf-8")
    case, cache, before = Case(artifact=str(model)), Cache(tmp_path), model.stat()

    def compute():
        time.sleep(0.05)  # file systems take the time of a tick
        if how == "put away and back":
            model.rename(tmp_path / "away")
            other.rename(model)  # here it is read
            model.rename(other)
            (tmp_path / "away").rename(model)
        else:
            model.write_text("B", encoding="utf-8")
            model.write_text("A", encoding="utf-8")
            os.utime(model, ns=(before.st_atime_ns, before.st_mtime_ns))
        return replace(filled(Examination), case=case)

    stamped = stamps(case)
    cache.once(case, lambda _: True, compute)
    assert not list(tmp_path.glob("*.json"))
    assert stamps(case) != stamped
    cache.once(case, lambda _: True, lambda: replace(filled(Examination), case=case))
    assert len(list(tmp_path.glob("*.json"))) == 1
