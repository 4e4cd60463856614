"""The JSON report: in goes a plain report, out comes its text. All other formats render from the same object."""

from __future__ import annotations

import json
from typing import Any


def render(report: dict[str, Any]) -> str:
    """Return the text of a JSON report, keys in order, no NaN."""
    return json.dumps(report, indent=2, allow_nan=False) + "\n"
