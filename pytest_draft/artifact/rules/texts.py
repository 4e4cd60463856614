"""Reads rule lists as text, recognised by their content, whatever the file is called."""

from __future__ import annotations

import codecs
import re

from pytest_draft.artifact.budget import Limits
from pytest_draft.artifact.rules.corels import corels_text, is_corels_text
from pytest_draft.artifact.rules.documents import written_as_json, written_as_toml
from pytest_draft.artifact.rules.rule_list import RuleList
from pytest_draft.errors import ArtifactTooBigError

_TOML = re.compile(
    r"^[ \t]*(?:\[\[[ \t]*\"?rules\"?[ \t]*\]\]|\"?(?:schema_version|classes|rules)\"?[ \t]*=)", re.MULTILINE
)
_JSON = re.compile(r"\s*\{(?s:.*)\"(?:schema_version|classes|rules)\"\s*:")


def text_of(content: bytes, limits: Limits) -> str | None:
    """Return the text of a file that is a rule list in one of the forms known here; None for any other file."""
    try:
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(content[: limits.text_bytes])
    except UnicodeDecodeError:
        return None
    if not (is_corels_text(text) or _JSON.match(text) or _TOML.search(text)):
        return None
    if len(content) > limits.text_bytes:
        raise ArtifactTooBigError(f"it is a rule list of more than {limits.text_bytes} bytes")
    return text


def rule_list_in(text: str) -> tuple[RuleList, list[str]]:
    """Return the rule list in a text from `text_of`, and what of the text was not read."""
    if is_corels_text(text):
        return corels_text(text)
    return (written_as_json(text) if _JSON.match(text) else written_as_toml(text)), []
