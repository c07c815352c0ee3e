"""The tree in a graph of bodies and joints: which way each joint carries, and which joints close a loop.

The same tree as in OpenSim, which leaves the choice to Simbody's MultibodyGraphMaker: breadth first from the ground, in
the order of the joints. Behind a moving body without mass on to one that has mass, the heaviest first.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from myoquat.core.records import dataclass
from myoquat.data.osim.frames import GROUND

__all__ = ["Edge", "Way", "spanning_tree"]


class Way(Enum):
    """What a joint does in the tree: it carries its child, its parent, or neither, since both are carried already."""

    FORWARD = "forward"
    BACKWARD = "backward"
    LOOP = "loop"


@dataclass(frozen=True)
class Edge:
    """A joint between two bodies, by their names; `moves` unless it is a weld."""

    parent: str
    child: str
    moves: bool


def spanning_tree(masses: Mapping[str, float], edges: Sequence[Edge]) -> tuple[tuple[Way, ...], tuple[str, ...]]:
    """The way of each joint, and the bodies that must be hung on the ground for the tree to hold all of them.

    masses: of all bodies but the ground [kg], by their names.
    """
    growth = _Growth(masses, edges)
    growth.grow()
    hung = []
    for name in _bases(masses, edges):
        if name not in growth.levels:
            hung.append(name)
            growth.add_body(name, 1)
            growth.grow()
    return tuple(growth.ways.get(i, Way.LOOP) for i in range(len(edges))), tuple(hung)


def _bases(names: Iterable[str], edges: Sequence[Edge]) -> list[str]:
    """Bodies in the order in which they are joined to the ground. First come those without a joint, then those that are
    no child of another body, then the others. In each group the parents of most joints come first."""
    parents, children = Counter(edge.parent for edge in edges), {edge.child for edge in edges}
    linked = {*children, *parents}
    return sorted(names, key=lambda name: (name in linked, name in children, -parents[name]))


class _Growth:
    """A tree as it grows: the level of each body in it, and the way of each joint that is used."""

    def __init__(self, masses: Mapping[str, float], edges: Sequence[Edge]) -> None:
        self.masses, self.edges = masses, edges
        self.levels: dict[str, int] = {}
        self.ways: dict[int, Way] = {}
        self._at: dict[int, list[str]] = defaultdict(list)  # the bodies of each level
        self._of: dict[str, list[int]] = defaultdict(list)  # the joints of each body
        for i, edge in enumerate(edges):
            self._of[edge.parent].append(i)
            self._of[edge.child].append(i)
        self.add_body(GROUND, 0)

    def add_body(self, name: str, level: int) -> None:
        """Place a body."""
        self.levels[name] = level
        self._at[level].append(name)

    def grow(self) -> None:
        """Level by level, from bodies that were not grown from before."""
        while self._at:
            bodies = self._at.pop(min(self._at))
            for i in sorted({i for name in bodies for i in self._of[name]}):
                edge = self.edges[i]
                if (edge.parent in self.levels) != (edge.child in self.levels):
                    self._grow_from(i)

    def _grow_from(self, i: int) -> None:
        """Use a joint, and where it moves a body without mass, joints beyond it up to one with mass."""
        moves = self.edges[i].moves
        end = self._use(i)
        while moves and self.masses[end] == 0.0:
            beyond = [j for j in self._of[end] if self._other(j, end) not in self.levels]
            if not beyond:
                return
            forward = [j for j in beyond if self.edges[j].parent == end]
            heavy = [j for j in beyond if self.masses[self._other(j, end)] > 0.0]
            chosen = [j for j in heavy if j in forward] or heavy or forward or beyond
            masses = [self.masses[self._other(j, end)] for j in chosen]
            end = self._use(chosen[masses.index(max(masses))])

    def _use(self, i: int) -> str:
        """Let a joint carry the one of its bodies that is not in the tree; its name."""
        edge = self.edges[i]
        inner, self.ways[i] = (edge.parent, Way.FORWARD) if edge.parent in self.levels else (edge.child, Way.BACKWARD)
        outer = self._other(i, inner)
        self.add_body(outer, self.levels[inner] + 1)
        return outer

    def _other(self, i: int, name: str) -> str:
        edge = self.edges[i]
        return edge.child if edge.parent == name else edge.parent
