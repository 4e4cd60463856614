"""Studies as lists of cells: in goes a `Study` and a folder, out comes a table with one row for each cell.

A cell is a handful of plain parameters from which a function computes a handful of plain results, independently of all
other cells. What was computed is kept in the folder by the hash of all that it depends on, so that a study that was
stopped goes on where it was, and what has changed since is computed anew.
"""

from studies.cells.running import run
from studies.cells.study import Plain, Study

__all__ = ["Plain", "Study", "run"]
