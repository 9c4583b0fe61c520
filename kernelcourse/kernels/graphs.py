"""Kernels on undirected graphs with labelled nodes (B16).

A graph is a symmetric 0/1 adjacency matrix, a pair (adjacency, labels) such as `kernelcourse.datasets.Graph`, or a
networkx graph, whose node attribute "label" is read if there is one. Without labels, all nodes are alike. A label
is a string, a number, or a tuple of these.
"""

from __future__ import annotations

import numbers
from collections import Counter
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np

from ..validation import Array, numeric, whole
from .counts import CountKernel, symbols
from .kernel import Objects, _set

__all__ = ["ShortestPath", "WeisfeilerLehman"]

LONGEST_NAME = 64


class GraphKernel(CountKernel):
    """A kernel that counts parts of graphs; the numbering of the nodes never matters."""

    finite_with = None

    def prepare(self, X: Any, name: str = "X") -> Objects:
        if _is_networkx(X) or hasattr(X, "adjacency") or (isinstance(X, np.ndarray) and X.ndim == 2):
            raise TypeError(f"{name} must be a list of graphs, got one {type(X).__name__}: pass [{name}]")
        return super().prepare(X, name)


@dataclass(frozen=True)
class WeisfeilerLehman(GraphKernel):
    r"""$k(G, G') = \sum_{h=0}^{\text{depth}} \sum_\ell \#_\ell^{(h)}(G)\, \#_\ell^{(h)}(G')$ (B16).

    $\#_\ell^{(h)}(G)$ counts the nodes with the label $\ell$ after h rounds. In each round a node's label absorbs the
    labels of its neighbours, so that two nodes share a label after h rounds only if all walks of h steps from them meet
    the same labels (Shervashidze et al., *Weisfeiler-Lehman graph kernels*, JMLR 2011).

    >>> water = ([[0, 1, 1], [1, 0, 0], [1, 0, 0]], "OHH")
    >>> WeisfeilerLehman(1).counts(water)
    Counter({"'H'": 2, "'H'('O')": 2, "'O'": 1, "'O'('H','H')": 1})
    >>> WeisfeilerLehman(1)([water])
    array([[10.]])
    """

    depth: int
    tex = r"\sum_{{h=0}}^{{{depth}}} \sum_{{\ell}} \#_\ell^{{(h)}}({x})\, \#_\ell^{{(h)}}({z})"

    def __post_init__(self) -> None:
        _set(self, depth=whole(self.depth, "depth"))

    def counts(self, obj: Any) -> Counter[str]:
        """How many nodes carry each label, over all rounds."""
        labels, neighbours = read_graph(obj)
        counts = Counter(labels)
        for _ in range(self.depth):
            met = [",".join(sorted(map(labels.__getitem__, around))) for around in neighbours]
            named = [f"{label}({around})" for label, around in zip(labels, met, strict=True)]
            labels = [name if len(name) <= LONGEST_NAME else _digest(name) for name in named]
            counts.update(labels)
        return counts


@dataclass(frozen=True)
class ShortestPath(GraphKernel):
    r"""$k(G, G') = \sum \#_{a, d, b}(G)\, \#_{a, d, b}(G')$, over all labels a, b and distances d (B16).

    $\#_{a, d, b}(G)$ counts the pairs of nodes labelled a and b whose shortest path has d edges (Borgwardt and Kriegel,
    *Shortest-path kernels on graphs*, ICDM 2005). Two nodes without a path between them are not counted.

    >>> path, triangle = [[0, 1, 0], [1, 0, 1], [0, 1, 0]], [[0, 1, 1], [1, 0, 1], [1, 1, 0]]
    >>> ShortestPath()([path], [path, triangle])
    array([[5., 6.]])
    """

    tex = r"\sum_{{a, d, b}} \#_{{a,d,b}}({x})\, \#_{{a,d,b}}({z})"

    def counts(self, obj: Any) -> Counter[tuple[str, int, str]]:
        """The number of pairs of nodes for each pair of labels and each distance."""
        labels, neighbours = read_graph(obj)
        pairs: Counter[tuple[str, int, str]] = Counter()
        for i, label in enumerate(labels):
            for j, d in distances_from(i, neighbours).items():
                if (label, i) < (labels[j], j):  # so that every pair is counted once, as (a, d, b) with a <= b
                    pairs[label, d, labels[j]] += 1
        return pairs


def distances_from(start: int, neighbours: list[list[int]]) -> dict[int, int]:
    """The number of edges to each node that can be reached, by breadth-first search.

    >>> distances_from(0, [[1], [0, 2], [1], []])
    {0: 0, 1: 1, 2: 2}
    """
    distance, queue = {start: 0}, [start]
    for i in queue:
        for j in neighbours[i]:
            if j not in distance:
                distance[j] = distance[i] + 1
                queue.append(j)
    return distance


def read_graph(graph: Any) -> tuple[list[str], list[list[int]]]:
    """The printed names of the nodes' labels, and the neighbours of each node.

    >>> read_graph(([[0, 1], [1, 0]], ["C", "N"]))
    (["'C'", "'N'"], [[1], [0]])
    """
    labels: Any = None
    if _is_networkx(graph):
        graph, labels = _from_networkx(graph)
    elif isinstance(graph, (tuple, list)) and len(graph) == 2 and np.ndim(graph[0]) == 2:
        graph, labels = graph
    adjacency = _adjacency(graph)
    labels = (None,) * len(adjacency) if labels is None else symbols(labels)
    if len(labels) != len(adjacency):
        raise ValueError(f"the graph has {len(adjacency)} nodes, but {len(labels)} labels")
    names = {label: _name(label) for label in set(labels)}
    neighbours: list[list[int]] = [[] for _ in labels]
    for i, j in np.argwhere(adjacency).tolist():
        neighbours[i].append(j)
    return [names[label] for label in labels], neighbours


def _is_networkx(graph: Any) -> bool:
    return hasattr(graph, "nodes") and hasattr(graph, "adj")


def _from_networkx(graph: Any) -> tuple[Array, list[Any]]:
    nodes = list(graph.nodes)
    number = {node: i for i, node in enumerate(nodes)}
    adjacency = np.zeros((len(nodes), len(nodes)))
    for node in nodes:
        for other, edge in graph.adj[node].items():
            adjacency[number[node], number[other]] = edge.get("weight", 1)
    return adjacency, [graph.nodes[node].get("label") for node in nodes]


def _adjacency(values: Any) -> Array:
    A = numeric(values, "the adjacency matrix")
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError(f"the adjacency matrix must be square, got shape {A.shape}")
    if A.size == 0:
        raise ValueError("the graph is empty: expected at least one node")
    if not ((A == 0) | (A == 1)).all():
        i, j = np.argwhere(~np.isin(A, (0, 1)))[0]
        raise ValueError(f"the adjacency matrix must be 0 or 1 (edges have no weights), got {A[i, j]:g} at [{i}, {j}]")
    if (A != A.T).any():
        i, j = np.argwhere(A > A.T)[0]
        raise ValueError(f"the adjacency matrix must be symmetric, but there is an edge from {i} to {j} and none back")
    return A


def _name(label: Any) -> str:
    """A printed form that is the same for equal labels and differs for different ones."""
    if isinstance(label, str):
        return str.__repr__(label)
    if isinstance(label, tuple):
        return f"({','.join(map(_name, label))})"
    if isinstance(label, numbers.Integral):
        return repr(int(label))
    if isinstance(label, numbers.Real):
        number = float(label)
        return repr(int(number) if number.is_integer() else number)
    if label is None:
        return "None"
    raise TypeError(f"a label must be a string, a number or a tuple of these, got {type(label).__name__} {label!r:.60}")


def _digest(name: str) -> str:
    """A short form of a long name, the same in every call. Without it, names would grow with every round."""
    return "#" + blake2b(name.encode(), digest_size=16).hexdigest()
