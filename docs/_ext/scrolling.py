"""What is wide is read on a phone, too: in go pages, out come the same with marks for `site.css`.

Plots get a box that scrolls by itself, as Furo's tables have; `site.js` lets both scroll by the keyboard. Short code is
not broken in two.
"""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes

SHORT = 30
"""Letters of code that fit into a line of a phone."""


def marked(app: Any, doctree: nodes.document) -> None:
    """Mark code whose words are short, which is not broken; in a paper's result tables, and a box around each plot."""
    for code in doctree.findall(nodes.literal):
        if max(map(len, code.astext().split()), default=0) <= SHORT:
            code["classes"].append("short")
    if not re.match("results/(?!index)", app.env.current_document.docname):
        return
    for table in doctree.findall(nodes.table):
        table["classes"].append("numbers")
    for image in list(doctree.findall(nodes.image)):
        paragraph = image.parent
        box = nodes.container(classes=["picture"])
        paragraph.replace_self(box)
        box += paragraph


def setup(app: Any) -> dict[str, Any]:
    """Register what marks pages."""
    app.connect("doctree-read", marked)
    return {"parallel_read_safe": True}
