"""The benchmarks compare like with like: both sides of every job give the same answer, and tables can be written."""

import gc
import json
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks import bench_grading, bench_growth, bench_map, bench_peers, harness, jobs, map_jobs

README = Path(__file__).parents[1] / "README.md"
MEASURED = README.parent / "book" / "times" / "measured"
QUICK = [job for job in bench_peers.JOBS if "widths" not in job.name]


@pytest.mark.parametrize("job", QUICK, ids=lambda job: job.name)
def test_both_sides_of_a_job_agree(job):
    task = job.build(60)
    assert task.difference(task.ours(), task.peer()) <= job.tolerance


@pytest.mark.parametrize("job", [job for job in bench_peers.JOBS if "ridges" in job.name], ids=lambda job: job.name)
def test_searches_over_ridges_agree(job, monkeypatch):
    monkeypatch.setattr(bench_peers, "RIDGES", bench_peers.RIDGES[::20])
    task = job.build(40)
    assert task.difference(task.ours(), task.peer()) <= max(job.tolerance, 0.2 * ("leave" in job.name))


@pytest.mark.parametrize(
    ("lost", "counted"),
    [([0.0], 0), ([0.3, 0.0], 1), ([0.3, 0.1, 0.2, 0.4, 0.2, 0.0], 1)],
    ids=["quiet", "then quiet", "never quiet"],
)
def test_a_run_that_the_host_disturbed_is_done_again(monkeypatch, lost, counted):
    clock = {"taken": 0.0, "runs": 0}
    monkeypatch.setattr(harness, "timeit", lambda run, number: run())
    monkeypatch.setattr(harness, "taken_away", lambda: clock["taken"])
    monkeypatch.setattr(harness.os, "cpu_count", lambda: 2)

    def run():
        run_number, clock["runs"] = clock["runs"], clock["runs"] + 1
        took = 1.0 + run_number
        clock["taken"] += 2 * took * lost[run_number]
        return took

    assert harness.undisturbed(run) == 1.0 + counted
    assert clock["runs"] == min(len(lost), harness.ATTEMPTS)


def test_no_search_for_garbage_is_on_the_clock():
    seen = set()
    gc.enable()
    harness.undisturbed(lambda: seen.add(gc.isenabled()))
    assert seen == {False} and gc.isenabled()


def test_a_long_run_is_not_done_again(monkeypatch):
    taken = iter([0.0, 1e6])
    monkeypatch.setattr(harness, "taken_away", lambda: next(taken))
    monkeypatch.setattr(harness, "timeit", lambda run, number: 2 * harness.LONGEST)
    assert harness.undisturbed(print) == 2 * harness.LONGEST


def test_sides_that_differ_are_not_compared():
    job = replace(bench_peers.JOBS[0], size=30, repeats=2, memory=False, tolerance=-1.0)
    with pytest.raises(jobs.Differ, match="differ by"):
        jobs.measure(job)


def test_a_measured_job_makes_a_row_of_each_table():
    row = jobs.measure(replace(bench_peers.JOBS[0], size=50, repeats=2, memory=False))
    assert row["threads"].keys() == {"default", "1"}
    assert row["threads"]["default"]["compiled"]["ratio"] > 0
    assert bench_peers.line(row).count("|") == bench_peers.HEAD[0].count("|")


def test_the_book_shows_what_was_measured():
    for module, name in ((bench_peers, "peers"), (bench_growth, "growth")):
        record = json.loads((MEASURED / f"{name}.json").read_text(encoding="utf-8"))
        assert {"python", "cores", "numpy", "scipy"} <= record["machine"].keys()
        assert module.for_the_book(record) == (MEASURED / f"{name}.txt").read_text(encoding="utf-8")
    rows = [*json.loads((MEASURED / "map.json").read_text(encoding="utf-8"))["cells"].values()]
    assert bench_map.report(rows) + "\n" == (MEASURED / "map.txt").read_text(encoding="utf-8")
    assert bench_map.IN_README.findall(README.read_text(encoding="utf-8")) == [bench_map.for_the_readme(rows)]
    shown = MEASURED.parents[1] / "_data" / "grading"
    record = json.loads(shown.with_suffix(".json").read_text(encoding="utf-8"))
    assert bench_grading.for_the_book(record) == shown.with_suffix(".md").read_text(encoding="utf-8")


def test_a_short_run_of_the_map_has_seen_every_job_and_every_value():
    order = bench_map.plan(1000, None, seed=3)
    assert len(order) == len({bench_map.key(*cell) for cell in order})
    assert {job.name for job, *_ in order[: len(bench_map.JOBS)]} == {job.name for job in bench_map.JOBS}
    for job in bench_map.JOBS:
        early = [(how, cell) for one, how, cell in order if one is job][:12]
        assert {how for how, _ in early} == set(job.ways)
        seen = {value for _, cell in early for value in cell.items()}
        small = [cell for cell in job.grid() if cell.get("n", 0) <= 1000]
        assert {value for cell in small for value in cell.items()} <= seen, job.name


def test_the_growth_on_the_map_comes_from_cells_that_differ_in_n_alone():
    settings = [{"n": n, "d": d} for n in (100, 200, 800) for d in (1, 50)]
    rows = [{"cell": cell, "way": "1 thread", "ours": cell["n"] ** 2 * cell["d"] ** 3} for cell in settings]
    assert bench_map.growth(rows, "ours") == pytest.approx(2)
    assert bench_map.growth(rows[:2], "ours") is None


def test_the_fastest_peer_counts():
    clock = iter(range(100)).__next__  # one second between two readings
    calls = []
    cell = map_jobs.Cell(calls.clear, lambda: [clock() for _ in range(5)], map_jobs.close(0), {"other": calls.clear})
    cell, once = bench_map.fastest("peer", cell, clock)
    assert once["other"] < once["peer"] and cell.peer == calls.clear


def test_cells_of_the_map_agree_with_their_peer():
    for job in bench_map.JOBS:
        small = min(job.grid(), key=lambda cell: (cell.get("n", 2000), cell.get("d", 0)))
        for how in {"as installed", "float32"} & {*job.ways}:
            with map_jobs.given_as("float32" if how == "float32" else "float64"):
                cell = job.build(**small)
                agree, reached = cell.verdict(cell.ours(), cell.peer())
            assert agree, (job.name, how, reached)


def test_growth_is_counted_and_timed(monkeypatch, tmp_path):
    monkeypatch.setattr(bench_growth.harness, "RESULTS", tmp_path)
    short = [replace(family, sizes=[40, 80]) for family in bench_growth.FAMILIES if family.variable == "n"]
    monkeypatch.setattr(bench_growth, "FAMILIES", short)
    rows = bench_growth.run()
    assert len(rows) == len(short) and all(0.4 < row["counted"] < 3.1 for row in rows)
    assert (tmp_path / "growth.json").exists()
