"""Run the DRAFT reference once: in goes a checkout and a folder with a forest, out comes a file with its rows.

A script for the reference's own interpreter, so it imports nothing of this package::

    python reference.py CHECKOUT FOLDER SECONDS THREADS SEED

The folder holds ``model.joblib`` and ``domain.json``; the script adds ``reference.npz``.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from pathlib import Path

import joblib
import numpy as np


def main(checkout: Path, folder: Path, seconds: int, threads: int, seed: int) -> None:
    """Attack one forest and save rows, seconds and the reference's status."""
    sys.path.insert(0, str(checkout))
    reference = importlib.import_module("DRAFT").DRAFT
    importlib.import_module("ortools.sat.python.cp_model")  # else its import would count as time of the attack
    forest = joblib.load(folder / "model.joblib")
    domain = json.loads((folder / "domain.json").read_text(encoding="utf-8"))
    start = time.monotonic()
    attack = reference(
        forest, one_hot_encoded_groups=domain["one_hot"], ordinal_attributes=domain["ordinal"], numerical_attributes=[]
    )
    answer = attack.fit(timeout=seconds, verbosity=False, n_jobs=threads, seed=seed)
    spent = time.monotonic() - start
    # Without a solution the reference returns random rows: these are no reconstruction.
    rows = answer["reconstructed_data"] if answer["status"] in ("OPTIMAL", "FEASIBLE") else []
    np.savez(
        folder / "reference.npz", rows=np.asarray(rows, np.float32), seconds=spent, status=answer["status"].lower()
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]), int(sys.argv[5]))
