"""The measured data sets: what they contain and where it is from, that damage is noticed, and that they are shipped."""

from __future__ import annotations

import gzip
import importlib.metadata
import shutil
import subprocess
import sys
from dataclasses import FrozenInstanceError, fields
from pathlib import Path

import numpy as np
import pytest

import kernelcourse
from kernelcourse import datasets
from kernelcourse.datasets import files
from tests.data.extracts import EXTRACTS

PACKAGE = Path(kernelcourse.__file__).parent
DATA = PACKAGE / "data"
README = (DATA / "README.md").read_text(encoding="utf-8")
DIGITS = dict(enumerate([178, 182, 177, 183, 181, 182, 181, 179, 174, 180]))
# The loader, its file, the number of points, the kind of X, and how many of each class.
SETS = {
    "load_co2": ("co2.csv", 521, (521, 1), None),
    "load_sunspots": ("sunspots.csv", 309, (309, 1), None),
    "load_penguins": ("penguins.csv", 342, (342, 4), {0: 151, 1: 68, 2: 123}),
    "load_digits": ("digits.csv.gz", 1797, (1797, 64), DIGITS),
    "load_splice_sites": ("splice_sites.csv.gz", 10723, str, None),
    "load_scipy_summaries": ("scipy_summaries.csv", 294, str, dict.fromkeys(range(7), 42)),
    "load_southern_women": ("southern_women.csv", 18, frozenset, None),
    "load_mutag": ("mutag.tsv", 188, datasets.Graph, {-1: 63, 1: 125}),
}  # fmt: skip
LOADERS = [getattr(datasets, name) for name in SETS]


@pytest.mark.parametrize("name", SETS)
def test_a_measured_set_has_its_shape_its_source_and_its_licence(name):
    file, n, kind, classes = SETS[name]
    data = getattr(datasets, name)()
    assert len(data) == len(data.X) == n
    if isinstance(kind, tuple):
        assert data.X.shape == kind and data.X.dtype == np.float64 and np.isfinite(data.X).all()
        assert len(data.names) == kind[1]
    else:
        assert all(type(x) is kind for x in data.X) and len(data.names) in (0, n)
    if classes:
        labels, counts = np.unique(data.y, return_counts=True)
        assert dict(zip(labels.tolist(), counts.tolist(), strict=True)) == classes
        assert data.y.dtype == np.int64 and len(data.classes) == len(classes)
    elif data.t is not None:
        assert data.t.shape == (n,) and data.t.dtype == np.float64 and np.isfinite(data.t).all()
    package, version, _ = EXTRACTS[file]
    assert f"{package}=={version}" in data.source and data.licence
    assert f"`{file}` | {package}=={version}" in README
    assert f"`{file}` | {files.hashes()[file]}" in README
    lines = str(data).splitlines()
    assert len(lines) == 5 and data.source in lines[3] and data.licence in lines[4] and repr(data) == str(data)


def test_a_set_with_two_classes_is_printed_with_its_labels_and_the_size_of_each_class():
    data = datasets.load_mutag()
    measurements = str(data).splitlines()[2]
    assert measurements == f"y: labels -1 to 1: 63 {data.classes[0]}, 125 {data.classes[1]}"


def test_every_file_has_a_hash_and_all_of_them_are_small():
    assert {path.name for path in DATA.iterdir()} == {*files.hashes(), "README.md"}
    assert set(EXTRACTS) == set(files.hashes()) - {"small_texts.txt"} == {file for file, *_ in SETS.values()}
    assert sum(path.stat().st_size for path in DATA.iterdir()) < 300_000
    for name in files.hashes():
        assert files.read_text(name)


@pytest.mark.parametrize("load", LOADERS, ids=lambda f: f.__name__)
def test_a_loader_returns_fresh_data_that_cannot_be_reassigned(load):
    first, second = load(), load()
    for field in fields(first):
        one, other = getattr(first, field.name), getattr(second, field.name)
        if isinstance(one, np.ndarray):
            one[...] = 0
            assert not np.shares_memory(one, other) and other.any()
        elif isinstance(one, list):
            one.clear()
            assert other
    with pytest.raises(FrozenInstanceError):
        first.X = None


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("co2.csv", lambda content: content.replace(b"316.1", b"361.1", 1)),
        ("co2.csv", lambda content: b""),
        ("digits.csv.gz", lambda content: content[:-100]),
        ("digits.csv.gz", lambda content: b"no archive"),
        ("digits.csv.gz", lambda content: gzip.compress(b"0,1,2\n")),
        ("digits.csv.gz", lambda content: content[:100] + b"\0\0\0\0" + content[104:]),
    ],
)
def test_a_damaged_file_is_named(monkeypatch, tmp_path, name, damage):
    (tmp_path / "data").mkdir()
    shutil.copy(DATA / "README.md", tmp_path / "data")
    (tmp_path / "data" / name).write_bytes(damage((DATA / name).read_bytes()))
    monkeypatch.setattr(files, "files", lambda package: tmp_path)
    with pytest.raises(ValueError, match=rf"kernelcourse/data/{name} is damaged"):
        files.read_text(name)


def test_a_missing_file_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(files, "files", lambda package: tmp_path)
    with pytest.raises(FileNotFoundError, match=r"mutag\.tsv"):
        datasets.load_mutag()


def installed(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return ""


# `make data` installs the packages that the tests do not need, and compares their extracts.
HERE = [name for name, (package, version, _) in EXTRACTS.items() if installed(package) == version]


@pytest.mark.parametrize("name", HERE)
def test_an_extract_can_be_made_again_from_the_package_that_is_installed_here(name):
    package, _, build = EXTRACTS[name]
    place = importlib.metadata.distribution(package).locate_file("")
    assert build(Path(place)) == files.read_text(name)


# --- what is special about each


def test_penguins_by_sex_and_by_nothing_else():
    penguins = datasets.load_penguins(target="sex")
    assert penguins.classes == ("female", "male")
    assert (
        np.mean(penguins.X[penguins.y == 1], axis=0).tolist() > np.mean(penguins.X[penguins.y == -1], axis=0).tolist()
    )
    with pytest.raises(ValueError, match="target must be 'species' or 'sex', got 'island'"):
        datasets.load_penguins(target="island")


def test_time_rises_by_a_month_but_for_the_missing_ones():
    step = np.diff(datasets.load_co2().X[:, 0]) * 12
    np.testing.assert_allclose(step, np.round(step))
    assert int(np.round(step).sum()) + 1 - 521 == 5


def test_splice_sites_are_different_strings_with_gu_and_t_is_the_mean_of_two():
    sites = datasets.load_splice_sites()
    assert len(set(sites.X)) == len(sites)
    assert {len(site) for site in sites.X} == {9} and {site[3:5] for site in sites.X} == {"GU"}
    assert set("".join(sites.X)) == set("ACGU")
    np.testing.assert_allclose(sites.t, sites.repeats.mean(axis=1))
    assert 0.85 < np.corrcoef(sites.repeats.T)[0, 1] < 0.95


def test_molecules_are_connected_graphs_of_atoms():
    import networkx

    for graph in datasets.load_mutag().X:
        np.testing.assert_array_equal(graph.adjacency, graph.adjacency.T)
        assert not np.diag(graph.adjacency).any() and len(graph.labels) == len(graph.adjacency)
        assert networkx.is_connected(networkx.from_numpy_array(graph.adjacency))
        assert set(graph.labels) <= {"C", "N", "O", "F", "I", "Cl", "Br"}


def test_events_are_those_of_the_invitation_list():
    women = datasets.load_southern_women()
    assert len(set().union(*women.X)) == 14 and len(set(women.names)) == 18
    assert sum(map(len, women.X)) == 89


# --- splits


@pytest.mark.parametrize(
    "name", ["load_penguins", "load_digits", "load_splice_sites", "load_scipy_summaries", "load_mutag"]
)
def test_a_random_split_deals_every_row_once(name):
    data = getattr(datasets, name)()
    train, test = data.split(test=0.25, rng=0)
    assert len(test) == round(0.25 * len(data)) and len(train) + len(test) == len(data)
    again = data.split(test=0.25, rng=0)[1]
    other = data.split(test=0.25, rng=1)[1]
    attribute = "y" if data.t is None else "t"
    values = np.concatenate([getattr(part, attribute) for part in (train, test)])
    np.testing.assert_array_equal(np.sort(values), np.sort(getattr(data, attribute)))
    np.testing.assert_array_equal(getattr(test, attribute), getattr(again, attribute))
    assert not np.array_equal(getattr(test, attribute), getattr(other, attribute))
    assert type(test) is type(data) and test.source == data.source and len(getattr(test, attribute)) == len(test.X)


def test_a_split_keeps_rows_together():
    summaries = datasets.load_scipy_summaries()
    known = dict(zip(summaries.names, zip(summaries.X, summaries.y, strict=True), strict=True))
    for part in summaries.split(test=0.5, rng=0):
        assert all(known[name] == (x, y) for name, x, y in zip(part.names, part.X, part.y, strict=True))
    sites = datasets.load_splice_sites()
    known = dict(zip(sites.X, sites.t, strict=True))
    train, _ = sites.split(test=0.5, rng=0)
    assert [known[x] for x in train.X] == train.t.tolist() == train.repeats.mean(axis=1).tolist()


@pytest.mark.parametrize(("test", "error"), [(0, ValueError), (1, ValueError), (1.5, ValueError), (-0.2, ValueError),
                                             (1e-9, ValueError), ("half", TypeError)])  # fmt: skip
def test_a_share_that_leaves_nothing_is_refused_by_name(test, error):
    with pytest.raises(error, match="test must be"):
        datasets.load_mutag().split(test=test, rng=0)


def test_a_series_is_split_in_time():
    past, future = datasets.load_co2().split(test=1990)
    assert past.X.max() < 1990 <= future.X.min() and len(past) + len(future) == 521
    assert len(past.t) == len(past.X) and len(future.t) == len(future.X)
    for year in (1900, 2010, float("nan")):
        with pytest.raises(ValueError, match="test must be"):
            past.split(test=year)


# --- a published table of chimeras


@pytest.mark.parametrize(
    "text",
    [
        "chimera,T50\n22312333,57.6\n21311233,54.1\n",
        "22312333,57.6\n21311233,54.1",
        "sequence\tT50 (C)\n22312333\t57.6\n\n21311233\t54.1\n",
        "22312333   57.6\r\n21311233   54.1\r\n",
        "\ufeffchimera, T50\n\"22312333\", 57.6\n\"21311233\", 54.1\n",
    ],
)  # fmt: skip
def test_a_table_of_chimeras_is_read_however_its_columns_are_parted(tmp_path, text):
    (tmp_path / "table.txt").write_text(text, encoding="utf-8")
    chimeras = datasets.read_chimeras(tmp_path / "table.txt")
    assert chimeras.sequences == ["22312333", "21311233"]
    np.testing.assert_array_equal(chimeras.t, [57.6, 54.1])
    assert chimeras.origin == "read from table.txt" and chimeras.part is None and chimeras.truth is None
    assert chimeras.parents == datasets.p450_chimeras(1, rng=0).parents
    assert chimeras._fields == datasets.p450_chimeras(1, rng=0)._fields


def test_letters_and_the_words_train_and_test_are_kept(tmp_path):
    (tmp_path / "table.csv").write_text("ABACCABA,51,Train\nCCCCCCCC,49.4,test\n", encoding="utf-8")
    chimeras = datasets.read_chimeras(str(tmp_path / "table.csv"))
    assert chimeras.part == ("train", "test") and chimeras.interacting == ()
    assert chimeras.parents == {"parent A": "AAAAAAAA", "parent B": "BBBBBBBB", "parent C": "CCCCCCCC"}


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("chimera,T50\n2231233,57.6\n", 2),
        ("22312333,57.6\n2231-333,57.6\n", 2),
        ("22312333,57.6\n\n21311233,n.d.\n", 3),
        ("22312333,inf\n", 1),
        ("ABACCABA,n.d.\nABACCABC,55\n", 1),
        ("22312333\n", 1),
        ("22312333,57.6,test,x\n", 1),
        ("22312333,57.6,unsure\n", 1),
        ("22312333,57.6,test\n21311233,54.1\n", 2),
    ],
)
def test_a_line_that_cannot_be_read_is_named(tmp_path, text, line):
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    expected = "expected eight digits or letters, a temperature in degrees Celsius, and 'train' or 'test'"
    got = text.splitlines()[line - 1][:7]
    with pytest.raises(ValueError, match=rf"table\.csv, line {line}: {expected}.*, got '{got}"):
        datasets.read_chimeras(tmp_path / "table.csv")


@pytest.mark.parametrize("text", ["", "\n", "chimera,T50\n"])
def test_a_table_without_chimeras_is_refused(tmp_path, text):
    (tmp_path / "table.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"table\.csv holds no chimera"):
        datasets.read_chimeras(tmp_path / "table.csv")


# --- what ships the data


def test_importing_reads_no_data():
    code = (
        "import sys; opened = []\n"
        "sys.addaudithook(lambda event, arguments: opened.append(str(arguments[0])) if event == 'open' else None)\n"
        "import kernelcourse, kernelcourse.datasets; before = len(opened)\n"
        "kernelcourse.load_co2(); print(*(any(f'{chr(47)}data{chr(47)}' in name.replace(chr(92), chr(47)) "
        "and name.endswith('.csv') for name in part) for part in (opened[:before], opened[before:])))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
