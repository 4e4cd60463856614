"""What is wider than a phone scrolls by itself: in go pages, out come the same with a box around each plot.

Furo gives tables such a box; `site.css` lets it scroll, and `site.js` lets it scroll by the keyboard, too.
"""

from __future__ import annotations

from typing import Any

from docutils import nodes


def boxed(app: Any, doctree: nodes.document) -> None:
    """Put a box around each plot of a paper's result."""
    for image in list(doctree.findall(nodes.image)):
        if app.env.current_document.docname.startswith("results/"):
            paragraph = image.parent
            box = nodes.container(classes=["picture"])
            paragraph.replace_self(box)
            box += paragraph


def setup(app: Any) -> dict[str, Any]:
    """Register what boxes plots."""
    app.connect("doctree-read", boxed)
    return {"parallel_read_safe": True}
