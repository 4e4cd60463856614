"""Write a copy of a model file without what its predictions do not need.

In go the arguments of ``python -m pytest_draft harden``, out come a file and an exit code.
"""

from __future__ import annotations

import argparse


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the command's arguments."""
    parser.add_argument("model", help="a file that you trust (.joblib, .pkl, .skops): loading it runs the code in it")
    parser.add_argument("output", help="the file to write (.joblib, .pkl)")
    parser.add_argument(
        "--level",
        default="counts",
        help="what to take out: none (clears bytes that nothing uses, which may hide data); seeds; counts (default: "
        "predictions stay as they are); decimals:N (class fractions in leaves are rounded); labels (leaves keep only "
        "their label); each level includes those before it",
    )
    parser.add_argument(
        "--data",
        metavar="TABLE",
        help="the training data (.csv, .parquet, .npz); without them thresholds stay as they are",
    )
    parser.add_argument("--target", metavar="COLUMN", help="the label column in the data")
    parser.add_argument("--force", action="store_true", help="replace the output if it is there, never the model")


def run(arguments: argparse.Namespace) -> int:
    """Harden a file, and say on standard output what was done.

    Raises
    ------
    DraftError
        Where there is no result.
    """
    from pytest_draft.errors import one_line
    from pytest_draft.foreign_text import in_shell
    from pytest_draft.hardening.files import harden

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
