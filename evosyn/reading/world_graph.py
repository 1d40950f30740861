"""The graph of a world's tools as a picture: where each tool stands, what leads from one to another. As data and SVG.

Tools stand on a circle in the order of the world: the same world gives the same picture. docs/worlds.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from xml.sax.saxutils import escape

from evosyn.worlds.tools.graph import ToolGraph
from evosyn.worlds.tools.records import ToolWorld

SIZE, MIDDLE, RADIUS, DOT, GAP = 900, 450, 300, 7, 12
COLOURS = {"data": "#1f6feb", "pre": "#bf3989", "state": "#9a6700"}
MEANS = {
    "data": "gives what the other takes",
    "pre": "must come before the other works",
    "state": "writes what the other reads",
}


@dataclass(frozen=True)
class NodeShown:
    """A tool; `x` and `y` within a square of `SIZE`, its name begins or ends at `label_x`."""

    name: str
    writes: bool
    x: float
    y: float
    label_x: float
    anchor: str


@dataclass(frozen=True)
class EdgeShown:
    """What leads from a tool to another: of one kind, through these parameters; `states` that show it."""

    kind: str
    first: str
    then: str
    parameters: str
    states: int
    x1: float
    y1: float
    x2: float
    y2: float


@dataclass(frozen=True)
class GraphShown:
    """A graph as it is drawn."""

    size: int
    nodes: tuple[NodeShown, ...]
    edges: tuple[EdgeShown, ...]
    colours: dict[str, str] = field(default_factory=lambda: COLOURS)
    means: dict[str, str] = field(default_factory=lambda: MEANS)


def shown_graph(world: ToolWorld, graph: ToolGraph) -> GraphShown:
    """Where everything stands; edges of a kind between the same two tools are one."""
    nodes = {}
    for number, tool in enumerate(world.tools):
        turn = 2 * math.pi * number / len(world.tools)
        x, y = MIDDLE + RADIUS * math.sin(turn), MIDDLE - RADIUS * math.cos(turn)
        right = x >= MIDDLE - 1
        label = round(x + (GAP if right else -GAP), 1)
        anchor = "start" if right else "end"
        nodes[tool.name] = NodeShown(tool.name, tool.name in graph.wrote, round(x, 1), round(y, 1), label, anchor)
    merged: dict[tuple[str, str, str], tuple[list[str], int]] = {}
    for edge in graph.edges:
        parameters, states = merged.setdefault((edge.kind, edge.first, edge.then), ([], 0))
        parameters += [edge.parameter] if edge.parameter and edge.parameter not in parameters else []
        merged[edge.kind, edge.first, edge.then] = (parameters, max(states, len(edge.states)))
    edges = []
    for (kind, first, then), (parameters, states) in sorted(merged.items()):
        a, b = nodes[first], nodes[then]
        away = math.hypot(b.x - a.x, b.y - a.y) or 1.0
        aside = 3.0 * (list(COLOURS).index(kind) - 1)  # kinds between the same two stand beside each other
        dx, dy = (b.x - a.x) / away, (b.y - a.y) / away
        ends = [a.x + DOT * dx - aside * dy, a.y + DOT * dy + aside * dx]
        ends += [b.x - (DOT + 5) * dx - aside * dy, b.y - (DOT + 5) * dy + aside * dx]
        edges.append(EdgeShown(kind, first, then, ", ".join(parameters), states, *(round(one, 1) for one in ends)))
    return GraphShown(SIZE, tuple(nodes.values()), tuple(edges))


def svg(found: GraphShown) -> str:
    """The picture."""
    marks = "".join(
        f'<marker id="{kind}" viewBox="0 0 8 8" refX="4" refY="4" markerWidth="6" markerHeight="6" orient="auto">'
        f'<path d="M0 0L8 4L0 8z" fill="{colour}"/></marker>'
        for kind, colour in found.colours.items()
    )
    lines = [
        f'<line x1="{one.x1}" y1="{one.y1}" x2="{one.x2}" y2="{one.y2}" stroke="{found.colours[one.kind]}" '
        f'stroke-opacity="0.6" marker-end="url(#{one.kind})"><title>{escape(told(one))}</title></line>'
        for one in found.edges
    ]
    dots = [
        f'<circle cx="{one.x}" cy="{one.y}" r="{DOT}" fill="{"#24292f" if one.writes else "#fff"}" stroke="#24292f"/>'
        f'<text x="{one.label_x}" y="{one.y + 4}" text-anchor="{one.anchor}">{escape(one.name)}</text>'
        for one in found.nodes
    ]
    legend = [
        f'<text x="16" y="{24 + 18 * number}" fill="{found.colours[kind]}">{kind}: {means}</text>'
        for number, (kind, means) in enumerate(found.means.items())
    ]
    legend.append(f'<text x="16" y="{24 + 18 * len(legend)}">filled: was seen to write</text>')
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {found.size} {found.size}" font-family="sans-serif"'
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    body = "\n".join([f"<defs>{marks}</defs>", ground, *lines, *dots, *legend])
    return f'{head} font-size="13">\n{body}\n</svg>\n'


def told(edge: EdgeShown) -> str:
    """An edge in words."""
    through = f" ({edge.parameters})" if edge.parameters else ""
    return f"{edge.kind}: {edge.first} -> {edge.then}{through}, shown by {edge.states} states"
