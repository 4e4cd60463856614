"""The picture of the package's imports: in goes the code, out comes ``docs/_static/imports.svg``.

``python docs/imports.py`` draws it. The rooms are the modules and packages right below ``pytest_draft``; the floors are
the layers of the contract in ``pyproject.toml`` (import-linter). An arrow is an import; where a room reaches another
through a third one as well, the direct arrow is left out, so that the picture can be read on a phone. Each room's
tooltip has all its imports. The same code gives the same bytes.
"""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterable, Sequence
from html import escape
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).parents[1]
PICTURE = Path(__file__).parent / "_static" / "imports.svg"
PACKAGE = "pytest_draft"

WIDTH = 376
MARGIN = 14
HEIGHT, GAP, LANE = 26, 30, 14  # of a room, between floors, of an arrow that passes a floor
LETTER, PADDING, BETWEEN = 7.6, 18, 10  # of a room's name, around it, and between rooms

Floors = list[list[str]]
Arrows = dict[str, set[str]]


def floors() -> Floors:
    """Return the rooms, from the top floor down, as the contract on layers has them."""
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"][
        "contracts"
    ]
    (layers,) = [contract["layers"] for contract in contracts if contract.get("containers") == [PACKAGE]]
    return [[room.strip(" ()") for room in layer.replace(":", "|").split("|")] for layer in layers]


def arrows(rooms: Iterable[str]) -> Arrows:
    """Return which rooms each room imports, of what is run (imports for types only are left out)."""
    import grimp

    sys.path.insert(0, str(ROOT))
    try:
        graph = grimp.build_graph(PACKAGE, cache_dir=None, exclude_type_checking_imports=True)
    finally:
        sys.path.remove(str(ROOT))
    found: Arrows = {room: set() for room in rooms}
    for importer in graph.modules:
        for imported in graph.find_modules_directly_imported_by(importer):
            start, end = (name.removeprefix(f"{PACKAGE}.").split(".")[0] for name in (importer, imported))
            if start != end and start in found and end in found:
                found[start].add(end)
    return found


def reach(every: Arrows, start: str) -> set[str]:
    """Return the rooms that a room reaches, by however many arrows."""
    seen: set[str] = set()
    waiting = list(every[start])
    while waiting:
        room = waiting.pop()
        if room not in seen:
            seen.add(room)
            waiting += every[room]
    return seen


def reduced(every: Arrows) -> Arrows:
    """Return the arrows that no detour replaces."""
    return {
        start: {end for end in ends if not any(end in reach(every, other) for other in ends - {end})}
        for start, ends in every.items()
    }


def width(node: str) -> float:
    """Return how wide a room is drawn; a lane, which is no room, has a number in its name."""
    return LANE if "#" in node else len(node) * LETTER + PADDING


def wrapped(layers: Floors) -> Floors:
    """Return the floors, those divided that are wider than the picture."""
    found: Floors = []
    for layer in layers:
        row: list[str] = []
        for room in layer:
            if row and sum(width(one) + BETWEEN for one in [*row, room]) > WIDTH - 2 * MARGIN:
                found.append(row)
                row = []
            row.append(room)
        found.append(row)
    return found


def with_lanes(rows: Floors, drawn: Arrows) -> tuple[Floors, list[list[str]]]:
    """Return the rows with a lane wherever an arrow passes one, and each arrow as the nodes on its way."""
    row_of = {room: number for number, row in enumerate(rows) for room in row}
    rows, ways = [list(row) for row in rows], []
    for start in sorted(drawn, key=lambda room: (row_of[room], room)):
        for end in sorted(drawn[start], key=lambda room: (row_of[room], room)):
            way = [start]
            for number in range(row_of[start] + 1, row_of[end]):
                lane = f"{end}#{number}"  # arrows to one room share their lanes
                if lane not in rows[number]:
                    rows[number].append(lane)
                way.append(lane)
            ways.append([*way, end])
    return rows, ways


def placed(rows: Floors, ways: Sequence[Sequence[str]]) -> dict[str, float]:
    """Return each node's middle, so that arrows are short and cross little (barycentres, a fixed number of sweeps)."""
    neighbours: dict[str, set[str]] = {node: set() for row in rows for node in row}
    for way in ways:
        for one, next_one in pairwise(way):
            neighbours[one].add(next_one)
            neighbours[next_one].add(one)
    at = {node: x for row in rows for node, x in spread(row, {}).items()}
    level = {node: number for number, row in enumerate(rows) for node in row}
    for sweep in range(24):
        down = sweep % 2 == 0
        for number in range(len(rows)) if down else reversed(range(len(rows))):
            wish = {}
            for node in rows[number]:
                near = [at[other] for other in neighbours[node] if (level[other] < number) == down]
                near = near or [at[other] for other in neighbours[node]]
                wish[node] = sum(sorted(near)) / len(near) if near else at[node]
            row = sorted(rows[number], key=lambda node: (wish[node], node))
            at.update(spread(row, wish))
    left = min(x - width(node) / 2 for node, x in at.items())
    right = max(x + width(node) / 2 for node, x in at.items())
    return {node: x + (WIDTH - left - right) / 2 for node, x in at.items()}


def spread(row: Sequence[str], wish: dict[str, float]) -> dict[str, float]:
    """Return the middles of a row's nodes in their order, near where they are wished, none over another."""
    room = WIDTH - 2 * MARGIN - sum(map(width, row))
    between = min(BETWEEN, room / max(1, len(row) - 1))
    lefts, right = [], float(MARGIN)
    for node in row:
        left = max(right, wish.get(node, right) - width(node) / 2)
        lefts.append(left)
        right = left + width(node) + between
    end = float(WIDTH - MARGIN)
    for position in reversed(range(len(row))):
        lefts[position] = max(MARGIN, min(lefts[position], end - width(row[position])))
        end = lefts[position] - between
    return {node: left + width(node) / 2 for node, left in zip(row, lefts, strict=True)}


def drawing(layers: Floors, every: Arrows) -> str:
    """Return the picture as SVG."""
    rows, ways = with_lanes(wrapped(layers), reduced(every))
    at = placed(rows, ways)
    top = {node: MARGIN + number * (HEIGHT + GAP) for number, row in enumerate(rows) for node in row}
    height = 2 * MARGIN + len(rows) * (HEIGHT + GAP) - GAP
    number = sum(map(len, every.values()))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img" '
        f'font-family="ui-monospace, Menlo, Consolas, monospace" font-size="12.5">',
        f"<title>{len(every)} rooms of {PACKAGE} and their {number} imports of each other; all arrows point down"
        "</title>",
        "<style>.ground{fill:#fff}.floor{fill:#f3f4f6}.room{fill:#fff;stroke:#374151}.name{fill:#111827}"
        ".arrow{fill:none;stroke:#6b7280;stroke-width:1.1}.head{fill:#6b7280}"
        "@media(prefers-color-scheme:dark){.ground{fill:#131416}.floor{fill:#202327}.room{fill:#131416;stroke:#a2a8b1}"
        ".name{fill:#e8e8e6}.arrow{stroke:#a2a8b1}.head{fill:#a2a8b1}}</style>",
        f'<rect class="ground" width="{WIDTH}" height="{height}"/>',
    ]
    for line in range(len(rows)):
        y = MARGIN + line * (HEIGHT + GAP) - 4
        parts.append(f'<rect class="floor" x="4" y="{y}" width="{WIDTH - 8}" height="{HEIGHT + 8}" rx="4"/>')
    for way in ways:
        parts.append(f'<path class="arrow" d="{curve(way, at, top)}"/>')
    for end in sorted({way[-1] for way in ways}):
        x, y = at[end], top[end]
        parts.append(f'<path class="head" d="M{x - 3.5:.1f} {y - 6:.1f}L{x + 3.5:.1f} {y - 6:.1f}L{x:.1f} {y:.1f}Z"/>')
    for row in rows:
        for room in sorted(node for node in row if "#" not in node):
            x, y = at[room], top[room]
            imports = ", ".join(sorted(every[room])) or "none of the others"
            parts.append(
                f'<g><title>{escape(room)} imports {escape(imports)}</title><rect class="room" '
                f'x="{x - width(room) / 2:.1f}" y="{y:.1f}" width="{width(room):.1f}" height="{HEIGHT}" rx="5"/>'
                f'<text class="name" x="{x:.1f}" y="{y + 17:.1f}" text-anchor="middle">{escape(room)}</text></g>'
            )
    return "\n".join([*parts, "</svg>\n"])


def curve(way: Sequence[str], at: dict[str, float], top: dict[str, float]) -> str:
    """Return an arrow's path: straight down through lanes, bent between floors."""
    x, y = at[way[0]], top[way[0]] + HEIGHT
    path = f"M{x:.1f} {y:.1f}"
    for node in way[1:]:
        end, reached = at[node], top[node] - (0 if "#" in node else 6)
        half = (y + reached) / 2
        path += f"C{x:.1f} {half:.1f} {end:.1f} {half:.1f} {end:.1f} {reached:.1f}"
        x, y = end, top[node] + HEIGHT
        if "#" in node:
            path += f"V{y:.1f}"
    return path


def main() -> None:
    """Draw the picture."""
    layers = floors()
    PICTURE.write_text(drawing(layers, arrows(room for layer in layers for room in layer)), encoding="utf-8")
    print(PICTURE)


if __name__ == "__main__":
    main()
