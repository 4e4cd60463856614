"""Hardening as advice uses it: in goes a fitted model and a level, out comes the model whose file is released."""
from __future__ import annotations
import copy
from typing import Any

def harden(model: Any, level: str) -> Any:
    return model
