"""Files that attack a reader of models: nothing goes in, out comes each with the refusal that it must get.

They are made when tests run, and none that does harm is ever committed. Their payloads would touch a file named ``ran``
in the folder that they are read in.
"""

from __future__ import annotations

from importlib.util import find_spec

from attack_corpus import boosters, forests, onnx_files, packed, pickles, releases, skops_files
from attack_corpus.entry import Hostile

__all__ = ["GROUPS", "Hostile"]

GROUPS = {
    "pickles": pickles.files,
    "packed": packed.files,
    "forests": forests.files,
    "boosters": boosters.files,
    "releases": releases.files,
}
"""Functions that make the files of one kind."""

if find_spec("skops"):
    GROUPS["skops"] = skops_files.files
if find_spec("skl2onnx"):
    GROUPS["onnx"] = onnx_files.files
