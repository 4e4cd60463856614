"""Write a copy of a model file without what its predictions do not need.

In go the arguments of ``python -m pytest_draft harden``, out come a file and an exit code.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    add = parser.add_argument
    add("model", metavar="MODEL", help="file of joblib, pickle or skops; it is loaded, which runs what is in it")
    add("output", metavar="OUTPUT", help="file to write (.joblib, .pkl)")
    levels = (
        "what to take out: none (clears bytes that nothing uses, which may hide data); seeds; counts (default: "
        "predictions stay as they are); decimals:N (class fractions in leaves are rounded); labels (leaves keep only "
        "their label); each level includes those before it"
    )
    add("--level", default="counts", help=levels)
    add(
        "--data",
        metavar="PATH",
        help="all rows that it was trained on (CSV, Parquet, npz), to move thresholds off them",
    )
    add("--target", metavar="NAME", help="name of the label column")
    add("--force", action="store_true", help="replace the output if it is there, never the model")


def run(arguments: argparse.Namespace) -> int:
    """Harden a file, and say on standard output what was done.

    Raises
    ------
    DraftError
        Where there is no result.
    """
    from pytest_draft.errors import one_line
    from pytest_draft.foreign_text import in_shell
    from pytest_draft.hardening.files import harden, require_no_booster_file

    require_no_booster_file(Path(arguments.model))
    print(f"Loading {one_line(arguments.model)}, which runs the code in it: give only files that you trust")
    result = harden(
        arguments.model,
        arguments.output,
        level=arguments.level,
        data=arguments.data,
        target=arguments.target,
        force=arguments.force,
    )
    print(result)
    data, target = arguments.data or "TRAIN.csv", arguments.target or "LABEL"
    judged = in_shell(["pytest", "--draft-forest", arguments.output, "--draft-data", data, "--draft-target", target])
    print(f"Hardening does not make a file safe. Judge it before you release it:\n  {judged}")
    return 0
