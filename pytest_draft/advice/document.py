"""The advice as JSON: plain values as ``advice.schema.json`` describes them."""

from __future__ import annotations

import json
from importlib import resources
from typing import Any

from pytest_draft.advice.facts import Judgement, Score, Setting, Tried
from pytest_draft.advice.recommendation import Recommendation

SCHEMA_VERSION = 1


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the document."""
    text = resources.files("pytest_draft.advice").joinpath("advice.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def document(advice: Recommendation) -> dict[str, Any]:
    """Return the advice as plain values."""
    chosen = advice.pick or advice.candidate
    leading = advice.best
    return {
        "schema_version": SCHEMA_VERSION,
        "status": advice.status,
        "interrupted": advice.interrupted,
        "model": {"path": advice.source, "sha256": advice.sha256, "holds": advice.holds},
        "data": {
            "path": advice.data,
            "sha256": advice.data_sha256,
            "rows": advice.n_rows,
            "target": advice.target,
        },
        "metric": advice.metric,
        "policy": advice.policy,
        "level": advice.level,
        "seed": advice.seed,
        "minutes": advice.minutes,
        "seconds": round(advice.seconds, 3),
        "budget": advice.budget,
        "settings_scored": advice.scored,
        "judgements": advice.judgements,
        "settings": [_tried(one, advice) for one in advice.settings],
        "own": advice.own.name,
        "best": None if leading is None else leading.setting.name,
        "pick": None if advice.pick is None else advice.pick.name,
        "candidate": None if advice.pick is not None or chosen is None else chosen.name,
        "tested_on": advice.tested_on or None,
        "code": advice.code,
        "public_code": advice.public_code,
        "commands": list(advice.commands),
        "longer": advice.longer,
        "notes": list(advice.notes),
    }


def _tried(tried: Tried, advice: Recommendation) -> dict[str, Any]:
    return {
        **_setting(tried.setting),
        "leaves": tried.leaves,
        "score": _score(tried.score),
        "test_score": _score(advice.tests.get(tried.setting)),
        "hardened": _judgement(tried.hardened),
        "fresh": [_judgement(judged) for judged in tried.fresh],
    }


def _setting(setting: Setting) -> dict[str, Any]:
    return {"name": setting.name, "family": setting.family, "value": setting.value, "trees": setting.trees}


def _score(score: Score | None) -> dict[str, Any] | None:
    return None if score is None else {"mean": score.mean, "standard_error": score.error, "folds": score.folds}


def _judgement(judged: Judgement | None) -> dict[str, Any] | None:
    if judged is None:
        return None
    return {
        "verdict": judged.verdict,
        "error_over_limit": judged.error_over_limit,
        "why": judged.why,
        "leaves": judged.leaves,
        "seconds": judged.seconds,
        "box": judged.box,
        "seed": judged.seed,
    }
