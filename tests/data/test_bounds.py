"""Tables that a few bytes make huge are refused in one line before memory is spent; others are read as before."""

from __future__ import annotations

import gzip
import os
import tracemalloc

import numpy as np
import pandas as pd
import pytest

from pytest_draft.data import files, read_table
from pytest_draft.data.files import MOST_COLUMNS, MOST_VALUES, require_shape
from pytest_draft.errors import DataError


def refused(path, *words) -> None:
    tracemalloc.start()
    try:
        with pytest.raises(DataError) as caught:
            read_table(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    assert "give only the rows and the columns" in message
    for word in words:
        assert word in message
    assert peak < 4 * os.path.getsize(path) + 100e6


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"], ids=repr)
def test_a_csv_of_a_hundred_thousand_columns_is_refused(end, tmp_path):
    header = b",".join(b"c%d" % index for index in range(100_000))
    (tmp_path / "wide.csv").write_bytes(header + end + b"1" + end)
    refused(tmp_path / "wide.csv", "100,000 columns, and at most 32,768 are read")
    (tmp_path / "wide.csv.gz").write_bytes(gzip.compress(header + end + b"1" + end))
    refused(tmp_path / "wide.csv.gz", "100,000 columns")


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("first", [b"c0", b'"two\nlines"'])
def test_short_lines_below_a_wide_header_take_all_its_columns(first, tmp_path):
    header = b",".join((first, *(b"c%d" % index for index in range(1, 5_000))))
    (tmp_path / "short.csv").write_bytes(header + b"\n" + b"1\n" * 30_000)
    refused(tmp_path / "short.csv", "of 5,000 columns, and at most 134,217,728 values are read")


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("members", [1, 3])
def test_a_gzip_file_that_unpacks_a_thousandfold_is_refused(members, tmp_path):
    packed = gzip.compress(b"a,b\n" + b"0,0\n" * (2**24 + 2**21)) if members == 1 else b""
    for _ in range(members if members > 1 else 0):
        packed += gzip.compress(b"0,0\n" * 2**23)
    (tmp_path / "bomb.csv.gz").write_bytes(packed)
    refused(tmp_path / "bomb.csv.gz", "unpack to more than 67,108,864")


@pytest.mark.nightly(quick=1)
@pytest.mark.parametrize("shape", [(2**27, 1), (2**13, 2**14)], ids=str)
def test_an_npz_file_that_unpacks_a_thousandfold_is_refused(shape, tmp_path):
    np.savez_compressed(tmp_path / "bomb.npz", X=np.zeros(shape, np.int8))
    refused(tmp_path / "bomb.npz", "unpack to more than")


def test_parquet_is_refused_by_its_footer(tmp_path, monkeypatch):
    parquet, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    monkeypatch.setattr(files, "MOST_VALUES", 1_000_000)
    monkeypatch.setattr(files, "MOST_COLUMNS", 100)
    zeros = pa.array(np.zeros(300_000, np.int8))
    parquet.write_table(pa.table(dict.fromkeys("abcde", zeros)), tmp_path / "long.parquet", compression="zstd")
    refused(tmp_path / "long.parquet", "300,000 rows of 5 columns, and at most 1,000,000 values are read")
    wide = pa.table({f"c{index}": pa.array([1]) for index in range(101)})
    parquet.write_table(wide, tmp_path / "wide.parquet")
    refused(tmp_path / "wide.parquet", "101 columns, and at most 100")


@pytest.mark.parametrize("kind", ["string", "large_string", "binary"])
def test_a_long_text_in_each_row_of_a_small_parquet_file_is_refused(kind, tmp_path):
    parquet, pa = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow")
    text = pa.array(["x" * 1_000_000], getattr(pa, kind)())
    column = pa.DictionaryArray.from_arrays(pa.array(np.zeros(1_000, np.int32)), text)
    parquet.write_table(pa.table({"a": column}), tmp_path / "texts.parquet", store_schema=False)
    assert os.path.getsize(tmp_path / "texts.parquet") < 100_000
    refused(tmp_path / "texts.parquet", "more than 268,435,456 bytes of texts")


@pytest.mark.nightly
def test_honest_tables_are_read_as_they_were(tmp_path):
    random = np.random.RandomState(0)
    frame = pd.DataFrame({"a": random.choice(["x", "y", None], 5_000), "b": random.normal(size=5_000), "c": 1})
    frame["text"] = [f"row {index}" for index in range(5_000)]
    frame["kind"] = frame["a"].astype("category")
    pytest.importorskip("pyarrow")
    for compression in ("snappy", "zstd", None):
        frame.to_parquet(tmp_path / "table.parquet", compression=compression)
        pd.testing.assert_frame_equal(
            read_table(tmp_path / "table.parquet").frame, pd.read_parquet(tmp_path / "table.parquet")
        )
    frame.to_csv(tmp_path / "table.csv.gz", index=False)
    assert read_table(tmp_path / "table.csv.gz").frame.shape == (5_000, 5)
    wide = pd.DataFrame(random.randint(0, 2, (20, 3_000)), columns=[f"c{index}" for index in range(3_000)])
    wide.to_csv(tmp_path / "wide.csv", index=False)
    assert read_table(tmp_path / "wide.csv").frame.shape == (20, 3_000)


def test_a_file_above_the_limit_is_not_read(tmp_path, monkeypatch):
    (tmp_path / "large.csv").write_bytes(b"a\n1\n2\n3\n")
    monkeypatch.setattr(files, "MOST_BYTES", 7)
    refused(tmp_path / "large.csv", "8 bytes, and at most 7 are read")


def test_the_largest_shapes_are_allowed():
    require_shape(MOST_VALUES, 1, "t")
    require_shape(MOST_VALUES // MOST_COLUMNS, MOST_COLUMNS, "t")
    for shape in ((MOST_VALUES + 1, 1), (1, MOST_COLUMNS + 1)):
        with pytest.raises(DataError):
            require_shape(*shape, "t")
