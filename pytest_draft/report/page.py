"""What pages have in common: in go packages of templates, out comes what renders them, and each page's security policy.

A page needs no other file, no network and no script but its own, if any, and says so to the browser: were foreign text
ever taken for markup, nothing of it would be loaded or run.
"""

from __future__ import annotations

import base64
import hashlib
from typing import TYPE_CHECKING

from pytest_draft.foreign_text import harmless

if TYPE_CHECKING:
    from jinja2 import Environment

SIGNS = {"failed": "✕", "inconclusive": "?", "warning": "!", "waived": "~", "passed": "✓", "not applicable": "○"}
"""What shows how a check stands to whoever does not see colours."""


def environment(*packages: str) -> Environment:
    """Return what renders the templates of packages: all text is one harmless line each, and escaped."""
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined  # only where a page is asked for
    from markupsafe import Markup

    made = Environment(
        loader=ChoiceLoader([PackageLoader(package) for package in packages]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=lambda value: value if isinstance(value, Markup) else harmless(value),
    )
    made.globals["security_policy"] = security_policy
    return made


def security_policy(style: str, script: str | None = None) -> str:
    """Return the content security policy of a page that has one style sheet, at most one script, and nothing else.

    Parameters
    ----------
    style : str
        All that stands between the tags of its ``style`` element.
    script : str or None
        The same of its ``script`` element; None for a page without one.
    """
    allowed = "" if script is None else f"script-src '{_hash(script)}'; "
    return f"default-src 'none'; style-src '{_hash(style)}'; {allowed}base-uri 'none'; form-action 'none'"


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(str(text).encode()).digest()).decode('ascii')}"
