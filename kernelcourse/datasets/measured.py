"""Measured data sets: small extracts of published ones, read from `kernelcourse/data`, never downloaded.

Every function returns a frozen dataclass with fresh arrays. Points are rows of a float array `X`, or a list of strings,
sets or graphs; targets are a float vector `t`, labels an integer vector `y` as in the generated sets: -1 and +1 where
there are two classes, 0, 1, 2, ... where there are more. `source` and `licence` belong under every figure that shows
the data, and `print(data)` describes the set in five lines. `kernelcourse/data/README.md` says how each file was made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from ..validation import Array, generator, real
from .files import read_text
from .generated import Graph, Labels, Seed

__all__ = [
    "load_co2", "load_digits", "load_mutag", "load_penguins", "load_scipy_summaries", "load_southern_women",
    "load_splice_sites", "load_sunspots",
]  # fmt: skip

BSD = "BSD-3-Clause"


@dataclass(frozen=True, kw_only=True, eq=False, repr=False)
class Measured:
    """Points X, an array (n, d) or a list of n objects, with targets t or labels y, and where they come from.

    `names` holds the names of an array's columns, or of a list's objects if they have names. `classes` names the labels
    in the order of their numbers, and `repeats` (n, r) holds the individual measurements where t is their mean.
    """

    title: str
    X: Any
    t: Array | None = None
    repeats: Array | None = None
    y: Labels | None = None
    names: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()
    source: str
    licence: str

    def __len__(self) -> int:
        return len(self.X)

    def __str__(self) -> str:
        origin = f"Source: {self.source}\nLicence: {self.licence}"
        return "\n".join([self.title, self._points(), self._measurements(), origin])

    __repr__ = __str__

    def _points(self) -> str:
        if isinstance(self.X, np.ndarray):
            columns = ", ".join(self.names) if len(self.names) <= 8 else f"{self.names[0]} to {self.names[-1]}"
            return f"X: {len(self)} rows of {self.X.shape[1]}: {columns}"
        return f"X: {len(self)} objects of type {type(self.X[0]).__name__}"

    def _measurements(self) -> str:
        if self.t is not None:
            return f"t: {len(self.t)} targets from {self.t.min():g} to {self.t.max():g}"
        if self.y is None:
            return "No targets and no labels."
        labels = (-1, 1) if len(self.classes) == 2 else range(len(self.classes))
        counts = [f"{np.sum(self.y == label)} {name}" for label, name in zip(labels, self.classes, strict=True)]
        return f"y: labels {labels[0]} to {labels[-1]}: {', '.join(counts)}"

    def _rows(self, rows: NDArray[np.int64]) -> Self:
        """The data set with some of its rows."""
        taken = {name: column[rows] for name in ("t", "repeats", "y") if (column := getattr(self, name)) is not None}
        if isinstance(self.X, np.ndarray):
            return replace(self, X=self.X[rows], **taken)
        names = tuple(self.names[i] for i in rows) if self.names else ()
        return replace(self, X=[self.X[i] for i in rows], names=names, **taken)

    def split(self, *, test: float, rng: Seed = None) -> tuple[Self, Self]:
        """Two data sets, one for training and one for testing: `test` is the share of rows held out at random."""
        held_out = round(real(test, "test", above=0) * len(self))
        if not 0 < held_out < len(self):
            raise ValueError(f"test must be the share of rows to hold out, between 0 and 1, got {test}")
        order = generator(rng).permutation(len(self))
        return self._rows(np.sort(order[held_out:])), self._rows(np.sort(order[:held_out]))


class MeasuredSeries(Measured):
    """Times X (n, 1) in years, increasing, with targets t (n,)."""

    def split(self, *, test: float, rng: Seed = None) -> tuple[Self, Self]:
        """Two data sets, the past and the future: `test` is the year in which the future begins."""
        first, last = self.X[0, 0], self.X[-1, 0]
        if not first < real(test, "test") <= last:
            raise ValueError(f"test must be a year after {first:g} and up to {last:g}, got {test}")
        future = self.X[:, 0] >= test
        return self._rows(np.flatnonzero(~future)), self._rows(np.flatnonzero(future))


def _table(name: str, delimiter: str = ",") -> list[dict[str, str]]:
    from csv import DictReader

    return list(DictReader(read_text(name).splitlines(), delimiter=delimiter))


def _column(rows: list[dict[str, str]], name: str) -> Array:
    return np.array([float(row[name]) for row in rows])


def load_co2() -> MeasuredSeries:
    """Carbon dioxide in the air over Mauna Loa: the mean of each month from March 1958 to December 2001, in ppm.

    The time of a mean is the middle of its month, in years. Five months are missing. `split(test=1990)`
    separates the years before 1990 from the rest.

    >>> co2 = load_co2()
    >>> co2.X.shape, co2.t[[0, -1]], [len(part) for part in co2.split(test=1990)]
    ((521, 1), array([316.1 , 371.02]), [377, 144])
    """
    rows = _table("co2.csv")
    months = [row["month"].split("-") for row in rows]
    return MeasuredSeries(
        title="Carbon dioxide over Mauna Loa, monthly means in ppm, 1958 to 2001",
        X=np.array([[int(year) + (int(month) - 0.5) / 12] for year, month in months]),
        t=_column(rows, "ppm"),
        names=("year",),
        source="Keeling and Whorf 2004, Scripps Institution of Oceanography; from statsmodels==0.15.0",
        licence="public domain",
    )


def load_sunspots() -> MeasuredSeries:
    """The mean sunspot number of each year from 1700 to 2008.

    >>> sunspots = load_sunspots()
    >>> sunspots.X.shape, sunspots.X[[0, -1], 0], sunspots.t[:3]
    ((309, 1), array([1700., 2008.]), array([ 5., 11., 16.]))
    """
    rows = _table("sunspots.csv")
    return MeasuredSeries(
        title="Yearly mean sunspot number, 1700 to 2008",
        X=_column(rows, "YEAR")[:, None],
        t=_column(rows, "SUNACTIVITY"),
        names=("year",),
        source="National Geophysical Data Center (NOAA); from statsmodels==0.15.0",
        licence="public domain",
    )


PENGUIN_COLUMNS = ("bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g")


def load_penguins(target: str = "species") -> Measured:
    """Penguins of three species near Palmer Station, Antarctica: bill length and depth, flipper length, body mass.

    The labels are the species (0, 1, 2: Adelie, Chinstrap, Gentoo) or, with `target="sex"`, the sex (-1 female,
    +1 male). Penguins without the measurements or without the label are left out.

    >>> penguins = load_penguins()
    >>> penguins.X.shape, np.bincount(penguins.y), penguins.classes
    ((342, 4), array([151,  68, 123]), ('Adelie', 'Chinstrap', 'Gentoo'))
    >>> load_penguins(target="sex").X.shape
    (333, 4)
    """
    if target not in ("species", "sex"):
        raise ValueError(f"target must be 'species' or 'sex', got {target!r}")
    rows = [row for row in _table("penguins.csv") if "NA" not in [row[name] for name in (*PENGUIN_COLUMNS, target)]]
    classes = tuple(sorted({row[target] for row in rows}))
    y = np.array([classes.index(row[target]) for row in rows])
    return Measured(
        title=f"Palmer penguins, labelled by {target}",
        X=np.column_stack([_column(rows, name) for name in PENGUIN_COLUMNS]),
        y=2 * y - 1 if target == "sex" else y,
        names=tuple(name.replace("_", " ") for name in PENGUIN_COLUMNS),
        classes=classes,
        source="Gorman, Williams and Fraser 2014; from palmerpenguins==0.1.6",
        licence="CC0",
    )


def load_digits() -> Measured:
    """Handwritten digits: 1,797 images of 8 x 8 pixels, each pixel a whole number from 0 to 16.

    Rows near each other are more alike than rows far apart, probably because they come from the same writer. A random
    split is therefore easier than training on the first half and testing on the second.

    >>> digits = load_digits()
    >>> digits.X.shape, np.bincount(digits.y)
    ((1797, 64), array([178, 182, 177, 183, 181, 182, 181, 179, 174, 180]))
    """
    rows = np.array([line.split(",") for line in read_text("digits.csv.gz").splitlines()], dtype=np.int64)
    return Measured(
        title="Handwritten digits, 8 x 8 pixels",
        X=rows[:, :64].astype(float),
        y=rows[:, 64].copy(),
        names=tuple(f"pixel {i},{j}" for i in range(8) for j in range(8)),
        classes=("zeros", "ones", "twos", "threes", "fours", "fives", "sixes", "sevens", "eights", "nines"),
        source="Alpaydin and Kaynak 1998, UCI Machine Learning Repository; from scikit-learn==1.9.1",
        licence=BSD,
    )


def load_splice_sites() -> Measured:
    r"""How well 10,723 splice sites work: strings of nine letters with GU in the middle, and the log of a percentage.

    A splice site is where an RNA is cut. The percentage (PSI, percent spliced in) says how often an exon that ends
    with this site is kept in the finished RNA; t is its $\log_{10}$. Everything was measured twice: t is the mean of
    the two logarithms, and `repeats` (n, 2) holds both.

    >>> sites = load_splice_sites()
    >>> len(sites.X), sites.X[0], sites.repeats.shape
    (10723, 'AAAGUAAAU', (10723, 2))
    """
    rows = _table("splice_sites.csv.gz")
    repeats = np.column_stack([_column(rows, "first"), _column(rows, "second")])
    return Measured(
        title="Splice sites of nine letters and how often they are used, in log10 of percent",
        X=[row["site"] for row in rows],
        t=repeats.mean(axis=1),
        repeats=repeats,
        source="Wong, Kinney and Krainer 2018; from mavenn==1.1.4",
        licence="MIT",
    )


def load_scipy_summaries() -> Measured:
    """The opening words of SciPy's documentation of 294 functions and classes, 42 from each of seven modules.

    >>> summaries = load_scipy_summaries()
    >>> len(summaries.X), summaries.classes
    (294, ('interpolate', 'linalg', 'ndimage', 'optimize', 'signal', 'special', 'stats'))
    >>> summaries.names[154], summaries.X[154]
    ('optimize.linear_sum_assignment', 'Solve the linear sum assignment problem.')
    """
    rows = _table("scipy_summaries.csv")
    classes = tuple(sorted({row["module"] for row in rows}))
    return Measured(
        title="Opening words of SciPy's documentation, labelled by module",
        X=[row["text"] for row in rows],
        y=np.array([classes.index(row["module"]) for row in rows]),
        names=tuple(f"{row['module']}.{row['name']}" for row in rows),
        classes=classes,
        source="the SciPy developers, docstrings of scipy==1.17.1",
        licence=BSD,
    )


def load_southern_women() -> Measured:
    """Eighteen women of Natchez, Mississippi, and the set of social events that each attended, out of fourteen.

    >>> women = load_southern_women()
    >>> len(women.X), women.names[17], sorted(women.X[17])
    (18, 'Flora Price', ['E11', 'E9'])
    """
    rows = _table("southern_women.csv")
    return Measured(
        title="Southern women, each given by the events that she attended",
        X=[frozenset(row["events"].split()) for row in rows],
        names=tuple(row["woman"] for row in rows),
        source="Davis, Gardner and Gardner 1941, Deep South; from networkx==3.6.1",
        licence=BSD,
    )


def load_mutag() -> Measured:
    """MUTAG: 188 nitro compounds as graphs of atoms and bonds, in two classes by their effect on a bacterium's genes.

    Hydrogen atoms and the types of bonds are left out. The package calls the classes only -1 and +1; the names follow
    King et al. 1996, who count 125 compounds of high and 63 of low activity.

    >>> mutag = load_mutag()
    >>> len(mutag.X), mutag.X[0].labels[:3], mutag.X[0].adjacency.shape
    (188, ('C', 'C', 'C'), (17, 17))
    """
    rows = _table("mutag.tsv", "\t")
    return Measured(
        title="MUTAG, molecules as graphs, labelled by their effect on a bacterium",
        X=[_molecule(row["atoms"].split(), row["bonds"].split()) for row in rows],
        y=np.array([int(row["class"]) for row in rows]),
        classes=("of low activity", "of high activity"),
        source="Debnath et al. 1991; from grakel==0.1.11",
        licence=f"{BSD} (the package); none is stated for the data themselves",
    )


def _molecule(atoms: list[str], bonds: list[str]) -> Graph:
    adjacency = np.zeros((len(atoms), len(atoms)), dtype=np.int64)
    for bond in bonds:
        i, j = map(int, bond.split("-"))
        adjacency[i, j] = adjacency[j, i] = 1
    return Graph(adjacency, tuple(atoms))
