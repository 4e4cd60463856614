"""Studies as lists of cells: what is kept, what is computed anew, and what is told."""

from __future__ import annotations

import math
import threading
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tiny_study
from pytest_draft.errors import DraftError
from studies.cells import Study, code, places, run
from studies.cells.code import code_hash
from studies.cells.computing import Outcome
from studies.cells.progress import Shown, Stand
from studies.cells.store import Row, Store
from studies.cells.study import cells_of
from studies.options import groups
from tiny_study import KINDS, failing, from_file, listed, square, study, typed


@pytest.fixture
def told():
    """The lines that a run told."""
    return []


@pytest.fixture
def tell(told):
    return lambda stand: told.append(stand.news) if stand.news else None


@pytest.fixture
def computed(cells_here, monkeypatch):
    """Compute in this process; return the numbers of the cells that were."""
    asked = []
    before = tiny_study.square
    monkeypatch.setattr(tiny_study, "square", lambda number: asked.append(number) or before(number))
    monkeypatch.setattr(tiny_study.square, "__qualname__", "square")
    monkeypatch.setattr(tiny_study.square, "__module__", "tiny_study")
    return asked


def test_rows_stand_in_the_order_of_the_cells_parameters_before_results(cells_here, tmp_path):
    asked = Study("tiny", square, [{"number": 3}, {"number": -1}, {"number": 2}])
    table = run(asked, tmp_path)
    assert table.columns.tolist() == ["number", "square"]
    assert table.to_numpy().tolist() == [[3, 9], [-1, 1], [2, 4]]
    assert table.attrs["failed"] == 0
    assert table.attrs["about"][0].startswith("3 cells, 0 s in all, computed 2")


def test_what_is_kept_is_not_computed_again_and_a_new_cell_is(computed, tmp_path):
    run(study(tiny_study.square, 2), tmp_path)
    table = run(study(tiny_study.square, 4), tmp_path)
    assert computed == [0, 1, 2, 3]
    assert table["square"].tolist() == [0, 1, 4, 9]


def test_values_keep_their_types_in_the_store(cells_here, tmp_path):
    asked = Study("typed", typed, [{"number": n, "kind": kind} for n in range(2) for kind in range(len(KINDS))])
    for table in (run(asked, tmp_path), run(asked, tmp_path)):
        for found, value in zip(table["value"], KINDS * 2, strict=True):
            assert type(found) is type(value)
            assert found == value or (math.isnan(found) and math.isnan(value))
        assert table["number"].dtype == np.int64
        assert table["same"].dtype == np.float64
        assert table["text"].tolist() == ["0"] * len(KINDS) + ["1"] * len(KINDS)


def test_values_that_are_equal_and_of_other_types_are_other_cells(cells_here, tmp_path):
    cells = [{"number": value} for value in (1, 1.0, True, False, 0, 0.0, -0.0)]
    table = run(Study("tiny", square, cells), tmp_path)
    assert [type(value) for value in table["square"]] == [int, float, int, int, int, float, float]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([{"number": 1}, {"number": 2}, {"number": 1}], "the cell number=1 is there twice"),
        ([{"number": [1]}], "number is of type list; give a number, a text, True, False or None"),
        ([{"number": 2**63}], "number is an integer of more than 64 bits; give a text"),
        ([{"_key": 1}], "'_key' is no name of a parameter or result"),
    ],
)
def test_cells_that_cannot_be_kept_are_refused_before_any_work(cells, message, tmp_path):
    with pytest.raises(DraftError, match=message):
        run(Study("tiny", square, cells), tmp_path / "store")
    assert not (tmp_path / "store").exists()


@pytest.mark.parametrize("compute", [lambda number: {}, Study.__init__, None])
def test_what_another_process_cannot_find_is_refused(compute, tmp_path):
    with pytest.raises(DraftError, match="compute must be a function of"):
        run(study(compute), tmp_path)


@pytest.mark.parametrize("where", ["local", "local:0", "local:x", "here", "dask:", "tcp:8786"])
def test_another_place_is_refused_before_any_work(where, tmp_path):
    with pytest.raises(
        DraftError, match=r"give local:N for N processes, tcp://HOST:PORT of a Dask scheduler, or dask:N"
    ):
        run(study(square), tmp_path, where)


def test_a_store_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "store").write_text("mine")
    with pytest.raises(DraftError, match="name another folder with --store"):
        run(study(square), tmp_path / "store")
    assert (tmp_path / "store").read_text() == "mine"


def test_a_cell_that_raises_is_told_in_one_line_without_values_and_the_others_go_on(cells_here, told, tell, tmp_path):
    table = run(study(failing), tmp_path, tell=tell)
    assert table["number"].tolist() == [0, 3]
    assert table.attrs["failed"] == 2
    first, second = told
    assert first.startswith("tiny: number=1: ValueError (shared/tiny_study.py, line ")
    assert second == "tiny: number=2: DataError: column 3: no number"
    assert "31415926" not in "".join(told)
    assert run(study(failing), tmp_path, tell=tell).attrs["failed"] == 2
    assert len(told) == 4


@pytest.mark.parametrize("name", ["square", "number"])
def test_results_that_are_not_plain_or_named_as_a_parameter_fail(name, cells_here, told, tell, tmp_path, monkeypatch):
    compute = listed
    if name == "number":
        monkeypatch.setattr(tiny_study, "same_name", lambda number: {"number": number}, raising=False)
        compute = tiny_study.same_name
        compute.__qualname__, compute.__module__ = "same_name", "tiny_study"
    assert run(study(compute, 1), tmp_path, tell=tell).attrs["failed"] == 1
    assert name in told[0]


# What a cell's key depends on.


def keys(asked):
    return [cell.key for cell in cells_of(asked)[1]]


def test_a_file_counts_by_its_content_not_by_its_path(tmp_path):
    for name, content in (("a", "x"), ("b", "x"), ("c", "y")):
        (tmp_path / name).write_text(content)
    a, b, c = (keys(study(from_file, table=tmp_path / name)) for name in "abc")
    assert a == b
    assert not set(a) & set(c)


def test_a_parameter_can_choose_the_file(cells_here, tmp_path):
    for name, content in (("adult", "12345"), ("compas", "1")):
        (tmp_path / name).write_text(content)
    cells = [{"number": 1, "table": "adult"}, {"number": 1, "table": "compas"}]
    asked = Study("tiny", from_file, cells, {"table": {name: tmp_path / name for name in ("adult", "compas")}})
    assert run(asked, tmp_path / "store")["size"].tolist() == [6, 2]
    alone = Study("tiny", from_file, cells[:1], {"table": {"adult": tmp_path / "adult"}})
    assert keys(alone) == keys(asked)[:1]
    assert cells_of(replace(asked, given={"table": {"adult": tmp_path / "adult", "compas": None}}))[1][1].files == {}
    with pytest.raises(DraftError, match="no file is given for table=compas"):
        keys(replace(asked, given={"table": {"adult": tmp_path / "adult"}}))


def test_a_file_that_is_missing_is_told_before_any_work(tmp_path):
    with pytest.raises(DraftError, match=r"/nothing\.csv: No such file or directory"):
        run(study(from_file, table=tmp_path / "nothing.csv"), tmp_path / "store")
    assert not (tmp_path / "store").exists()


def test_rows_of_other_code_are_computed_anew_but_where_any_code_will_do(computed, told, tell, tmp_path, monkeypatch):
    asked = study(tiny_study.square, 2)
    run(asked, tmp_path)
    monkeypatch.setattr("studies.cells.study.code_hash", lambda compute: "other")
    monkeypatch.setattr("studies.cells.computing.code_hash", lambda compute: "other")
    assert run(asked, tmp_path, any_code=True)["square"].tolist() == [0, 1]
    assert computed == [0, 1]
    assert run(asked, tmp_path)["square"].tolist() == [0, 1]
    assert computed == [0, 1, 0, 1]


def test_a_process_with_other_code_or_files_computes_nothing(cells_here, told, tell, tmp_path, monkeypatch):
    monkeypatch.setattr("studies.cells.study.code_hash", lambda compute: "other")
    assert run(study(square, 1), tmp_path, tell=tell).attrs["failed"] == 1
    assert "another version of the code" in told[0]


def test_the_code_is_the_package_and_what_the_module_imports_of_the_studies(tmp_path, monkeypatch):
    reached = {path.name for path in code._reached(Path(code._STUDIES / "papers" / "dp_cells.py"))}
    assert reached >= {"dp_cells.py", "dp_informed.py", "optional.py", "dp_forests.py", "public_data.py"}
    assert not reached & {"options.py", "running.py", "store.py", "gate.py"}
    module = tmp_path / "changing.py"
    module.write_text("def compute():\n    return {}\n")
    before = code._hash_of(module)
    code._hash_of.cache_clear()
    module.write_text("def compute():\n    return {'a': 1}\n")
    assert code._hash_of(module) != before
    assert len(code_hash(square)) == 64


# The store.


def row(number, **values):
    return Row(f"key {number}", "question", "code", f"2026-01-01T00:00:{number:02}", 0.5, "here", "none", values)


def kept_in(folder, told):
    return Store(folder, "tiny", told.append)


@pytest.mark.parametrize("damage", [lambda c: c[:-2], lambda c: c[: len(c) // 2], lambda c: b"x" + c[1:]])
def test_what_is_damaged_is_told_and_computed_again(damage, computed, told, tell, tmp_path):
    run(study(tiny_study.square, 2), tmp_path)
    path = tmp_path / "tiny.jsonl"
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + damage(second))
    assert run(study(tiny_study.square, 3), tmp_path, tell=tell)["square"].tolist() == [0, 1, 4]
    assert computed == [0, 1, 1, 2]
    assert set(told) == {f"{path}: 1 of {n} lines damaged; what stood there is computed again" for n in (2, 4)}


def test_the_latest_of_equal_rows_counts(tmp_path, told):
    kept = kept_in(tmp_path, told)
    for one in (row(2, value=2), row(1, value=1), replace(row(1, value=3), at="2027")):
        kept.add(one)
    assert [one.values["value"] for one in kept.rows()] == [2, 3]


@pytest.mark.parametrize("before", [True, False])
@pytest.mark.parametrize("last", [0, 2])
def test_an_interrupt_beside_a_cell_that_is_kept_tells_how_many_stand(
    cells_here, tmp_path, tell, told, monkeypatch, before, last
):
    keep, added = Store.add, []

    def add(self, one):
        added.append(one)
        if before or len(added) <= last:
            keep(self, one)
        if len(added) > last:
            raise KeyboardInterrupt

    monkeypatch.setattr(Store, "add", add)
    with pytest.raises(KeyboardInterrupt):
        run(study(square), tmp_path, tell=tell)
    stand = last + before
    assert told == [f"tiny: stopped; {stand} of 4 cells stand in {tmp_path}; the same command goes on"]
    assert len(Store(tmp_path, "tiny", tell).rows()) == stand


def test_several_at_once_lose_no_row(tmp_path, told):
    def add(first):
        mine = kept_in(tmp_path, told)
        for number in range(first, first + 12):
            mine.add(row(number, value=number))

    threads = [threading.Thread(target=add, args=(first,)) for first in (0, 12, 24)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(one.values["value"] for one in kept_in(tmp_path, told).rows()) == list(range(36))
    assert told == []


# What is told.


class Stream(list):
    def __init__(self, live):
        self.live = live

    def isatty(self):
        return self.live

    def write(self, text):
        self.append(text)

    def flush(self):
        pass


def test_on_a_terminal_there_is_a_bar_with_an_estimate(monkeypatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    stream = Stream(True)
    shown = Shown(stream)
    shown(Stand("tiny", 24, 4, done=5, failed=1, elapsed=60.0))
    line = "tiny: 9 of 24 cells, 4 kept from before, 1 failed, 60 s, about 2 min left"
    assert stream == [f"\r\x1b[K[{'#' * 10}{' ' * 14}] {line}"]
    shown(Stand("tiny", 24, 4, done=6, failed=1, elapsed=61.0, news="a line"))
    assert stream[1:3] == ["\r\x1b[K", "a line\n"]


def test_elsewhere_there_are_plain_lines_now_and_then_and_news_at_once(monkeypatch):
    stream = Stream(False)
    shown = Shown(stream)
    shown(Stand("tiny", 4, 0, done=1))
    shown(Stand("tiny", 4, 0, done=1, news="a line\x1b"))
    assert len(stream) == 1
    assert "\x1b" not in stream[0]
    monkeypatch.setattr("studies.cells.progress.PLAIN_SECONDS", 0.0)
    shown(Stand("tiny", 4, 0, done=2, elapsed=2.0))
    assert stream[1:] == ["tiny: 2 of 4 cells, 2 s, about 2 s left\n"]


def test_rows_are_grouped_by_values_none_too(cells_here, tmp_path):
    table = run(Study("typed", typed, [{"number": n, "kind": kind} for n in range(2) for kind in (4, 1)]), tmp_path)
    assert {key: len(some) for key, some in groups(table, "value").items()} == {(None,): 2, (7,): 2}


def test_what_cannot_be_sent_back_is_a_failed_cell(tmp_path, told, tell, monkeypatch):
    def broken(where, calls):
        yield 0, Outcome(None, places._DIED)

    monkeypatch.setattr("studies.cells.running.outcomes", broken)
    assert run(study(square, 1), tmp_path, tell=tell).attrs["failed"] == 1
    assert told == ["tiny: number=0: the process that computed it died, twice; perhaps of too little memory"]
