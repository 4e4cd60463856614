"""The owner's training data and domain files, read so that no message contains a value of a row."""

from pytest_draft.data.decoding import Indicators, RawColumns, domain_from, granted_by, raw_columns
from pytest_draft.data.domain_file import declared_domain, read_domain
from pytest_draft.data.encoding import transformed
from pytest_draft.data.holdout import Holdout, holdout_of
from pytest_draft.data.narrowing import narrowed
from pytest_draft.data.repeats import Repeats
from pytest_draft.data.source import table_of
from pytest_draft.data.tables import Table, read_table
from pytest_draft.data.training import TrainingData, as_table, raw_rows, training_data, whole_data

__all__ = [
    "Holdout",
    "Indicators",
    "RawColumns",
    "Repeats",
    "Table",
    "TrainingData",
    "as_table",
    "declared_domain",
    "domain_from",
    "granted_by",
    "holdout_of",
    "narrowed",
    "raw_columns",
    "raw_rows",
    "read_domain",
    "read_table",
    "table_of",
    "training_data",
    "transformed",
    "whole_data",
]
