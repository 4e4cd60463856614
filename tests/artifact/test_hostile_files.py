"""The attack corpus: each file is refused as it must be, in one line, in bounded memory, and nothing in it is run."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import pytest

from attack_corpus import GROUPS, reading
from attack_corpus.pickles import Payload

ROOT = Path(__file__).parents[2]
MOST_BYTES = 2**30


@pytest.mark.nightly
@pytest.mark.parametrize("group", GROUPS)
def test_every_hostile_file_gets_its_refusal_with_warnings_as_errors_and_nothing_is_run(group, tmp_path):
    entries = list(GROUPS[group]())
    names = {f"{number:03}.joblib": entry for number, entry in enumerate(entries)}
    assert len({entry.name for entry in entries}) == len(entries)
    files, place = tmp_path / "files", tmp_path / "place"
    files.mkdir()
    place.mkdir()
    for name, entry in names.items():
        (files / name).write_bytes(entry.content)
    command = [sys.executable, "-W", "error", reading.__file__, str(files)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    run = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert (run.returncode, run.stderr) == (0, "")
    found = json.loads(run.stdout)
    wrong = [problem for name, entry in names.items() for problem in problems(name, entry, found[name])]
    assert not wrong, "\n".join(wrong)
    assert list(place.iterdir()) == [], "a payload was run"
    assert max(one["bytes"] for one in found.values()) < MOST_BYTES


def problems(name, entry, found):
    """Yield what is wrong with what was said of a file."""
    said = found["said"]
    if found["kind"] != entry.kind:
        yield f"{entry.name}: {found['kind']} instead of {entry.kind}: {said}"
    if not said.startswith(f"{name}: {entry.kind}: "):
        yield f"{entry.name}: it begins with neither its name nor its kind: {said}"
    for word in entry.words:
        if word not in said:
            yield f"{entry.name}: {word!r} is not in: {said}"
    if not said.isascii() or not said.isprintable() or "::" in said or len(said) > 700:
        yield f"{entry.name}: no safe line: {said!r}"
    if "makes no sense" in said:
        yield f"{entry.name}: only the last net caught it: {said}"
    if found["sha256"] != hashlib.sha256(entry.content).hexdigest():
        yield f"{entry.name}: the hash is not the file's"


def test_the_payload_of_these_files_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pickle.loads(pickle.dumps(Payload()))
    assert (tmp_path / "ran").exists()
