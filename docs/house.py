"""Draws docs/house.svg, the rooms of the package by layer with their arrows, from its real imports.

    python -m docs.house          (from the root of a checkout)

An arrow A -> B says that A imports B. One that follows from two others downwards is left out, and so are those to the
ground, which every room stands on. Layers are those of tests/test_layers.py.
"""

from __future__ import annotations

import ast
from pathlib import Path

from tests.test_layers import LAYER, MODULES, imported, part_of

OUT = Path(__file__).with_name("house.svg")
FACES = {"__init__", "__main__"}
WIDTH, ROW, BOX_W, BOX_H, LEFT = 980, 92, 132, 40, 60
STYLE = """
text { font: 15px system-ui, sans-serif; text-anchor: middle; fill: #1b1f26; }
text.dim { font-size: 12px; fill: #626a77; }
rect { fill: #ffffff; stroke: #1f5fc4; stroke-width: 1.5; }
rect.back { stroke: none; }
path { fill: none; stroke: #8d99ab; stroke-width: 1.4; marker-end: url(#tip); }
marker path { fill: #8d99ab; stroke: none; marker-end: none; }
@media (prefers-color-scheme: dark) {
  text { fill: #e4e7ec; } text.dim { fill: #98a1b0; }
  rect { fill: #1c1f25; stroke: #7fb0ff; } rect.back { fill: #14161a; }
  path { stroke: #7a8596; } marker path { fill: #7a8596; }
}"""


def arrows() -> dict[str, set[str]]:
    """For each room above the ground the rooms above the ground that it imports."""
    found: dict[str, set[str]] = {room: set() for room in LAYER if room not in FACES}
    for path in MODULES:
        room = part_of(path)
        if room in found:
            names = imported(ast.parse(path.read_text(encoding="utf-8")))
            found[room] |= {name.split(".")[1] for name in names if name.startswith("evosyn.")} & found.keys() - {room}
    return found


def reduced(graph: dict[str, set[str]]) -> list[tuple[str, str]]:
    """The arrows that do not follow from others."""

    def reached(room: str) -> set[str]:
        return {further for one in graph[room] for further in {one, *reached(one)}}

    return [
        (room, other)
        for room in graph
        for other in sorted(graph[room])
        if not any(other in reached(between) for between in graph[room] - {other} if LAYER[between] < LAYER[room])
    ]


def drawn() -> str:
    """The picture."""
    graph = arrows()
    floors = sorted({LAYER[room] for room in graph}, reverse=True)
    places: dict[str, tuple[float, float]] = {}
    for row, floor in enumerate(floors):
        rooms = [room for room in graph if LAYER[room] == floor]
        for at, room in enumerate(rooms):
            # A row with one room leans to one side or the other, so that long arrows pass beside it.
            share = (at + 0.5) / len(rooms) if len(rooms) > 1 else (0.36, 0.64)[row % 2]
            places[room] = (LEFT + share * (WIDTH - LEFT), 30 + row * ROW)
    height = 30 + len(floors) * ROW + BOX_H
    lines = [_arrow(places[one], places[other]) for one, other in reduced(graph)]
    for room, (x, y) in places.items():
        lines += [f'<rect x="{x - BOX_W / 2:.0f}" y="{y:.0f}" width="{BOX_W}" height="{BOX_H}" rx="6"/>']
        lines += [f'<text x="{x:.0f}" y="{y + 26:.0f}">{room}</text>']
    for row, floor in enumerate(floors):
        lines.append(f'<text class="dim" x="24" y="{30 + row * ROW + 25}">{floor:g}</text>')
    ground = height - BOX_H - 6
    lines.append(f'<rect x="{LEFT}" y="{ground}" width="{WIDTH - LEFT - 10}" height="{BOX_H}" rx="6"/>')
    lines.append(
        f'<text x="{(WIDTH + LEFT) / 2:.0f}" y="{ground + 26}">ground: records, ports, jobs, rundir, pools ...'
    )
    lines[-1] += f'</text><text class="dim" x="24" y="{ground + 25}">0</text>'
    tip = '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img">'
    title = "<title>The rooms of evosyn by layer; an arrow points to what a room imports</title>"
    tip += '<path d="M0 0L8 4L0 8z"/></marker></defs>'
    back = f'<rect class="back" width="{WIDTH}" height="{height}"/>'
    return "\n".join([head, title, f"<style>{STYLE}\n</style>", tip, back, *lines, "</svg>\n"])


def _arrow(start: tuple[float, float], end: tuple[float, float]) -> str:
    (x1, y1), (x2, y2) = start, end
    if y1 == y2:
        side = BOX_W / 2 if x2 > x1 else -BOX_W / 2
        return f'<path d="M{x1 + side:.0f} {y1 + BOX_H / 2:.0f}L{x2 - side:.0f} {y2 + BOX_H / 2:.0f}"/>'
    y1 += BOX_H
    bend = (y2 - y1) * 0.5
    return f'<path d="M{x1:.0f} {y1:.0f}C{x1:.0f} {y1 + bend:.0f} {x2:.0f} {y2 - bend:.0f} {x2:.0f} {y2:.0f}"/>'


if __name__ == "__main__":
    OUT.write_text(drawn(), encoding="utf-8")
