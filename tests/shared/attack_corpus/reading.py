"""The process that reads hostile files: in goes a folder of files, out comes what was said of each, as JSON.

Run with ``-W error``, in the folder in which payloads would leave their mark.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path


def main(folder: Path) -> None:
    from pytest_draft.artifact import read
    from pytest_draft.errors import ArtifactError
    from studies.memory import peak_memory

    found = {}
    for path in sorted(folder.iterdir()):
        since = time.process_time()
        try:
            artifact = read(path)
        except ArtifactError as error:
            result = {"kind": error.kind, "said": str(error), "sha256": error.sha256}
        else:
            result = {"kind": "accepted", "said": artifact.holds, "sha256": artifact.sha256}
        result["seconds"] = time.process_time() - since
        result["bytes"] = peak_memory()
        found[path.name] = result
    print(json.dumps(found))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
