"""Refuses mistakes of usage that single options do not show, before anything is judged."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_draft.errors import one_line
from pytest_draft.facts.entropy import Entropy
from pytest_draft.facts.findings import Findings
from pytest_draft.isolation import children
from pytest_draft.plugin.inputs import NamedFiles
from pytest_draft.plugin.session import GateSession
from pytest_draft.policy.rules import rule_of


def require_usable_data(config: pytest.Config, session: GateSession) -> None:
    """Refuse models without training data, where a rule needs them, and labels that cannot be used.

    Where a hook gives the data, it is left to that hook.

    Raises
    ------
    pytest.UsageError
    """
    if not session.settings.active or config.hook.pytest_draft_load_training_data.get_hookimpls():
        return
    for model in session.models.each.values():
        rules = model.policy_of_items.rules if model.inputs.data is None else ()
        needing = [rule for rule in rules if _needs_data(rule, model.inputs.domain is not None)]
        if needing:
            named = ", ".join(map(one_line, needing[:3])) + ", ..." * (len(needing) > 3)
            said = f"{one_line(session.shown(model.forest))}, and the policy {one_line(model.policy.name)!r} needs them"
            origin, remedy = model.inputs.origin, "add --draft-data FILE"
            if origin is not None:
                remedy = "name them in this entry, or add --draft-data FILE for all entries that name none"
            raise pytest.UsageError(
                f"{f'{origin}.data' if origin else '--draft-data'}: no training data are given for {said} ({named}): "
                f"{remedy}"
            )
    tried: set[NamedFiles] = set()
    for model in session.models.each.values():
        if session.settings.manifest is not None and model.inputs in tried:
            continue  # another model of the same entry; whatever is wrong with this one, its judgement reports
        tried.add(model.inputs)
        wrong = None if model.inputs.data is None else _wrong(session, model.forest)
        if wrong is not None:
            raise pytest.UsageError(f"{model.inputs.origin}: {wrong}" if model.inputs.origin else wrong)


def _wrong(session: GateSession, forest: Path) -> str | None:
    """Return one line on labels that cannot be used; None where nothing is wrong, or the judgement will report it."""
    try:
        return children.wrong(session.case(forest, "artifact"))
    except (Exception, pytest.fail.Exception):  # another plugin's time limit, a bug: its text could quote rows
        return None


def _needs_data(rule: str, has_domain: bool) -> bool:
    """Return whether a rule has no answer without training data; a domain file is enough for some."""
    known = rule_of(rule)
    return known.needs is Findings or ((known.attack or known.needs is Entropy) and not has_domain)
