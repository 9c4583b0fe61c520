"""`make mutants` makes hundreds of small changes to the library and asks whether a test notices each.

`make mutants COUNT=600` draws that many changes from the modules of the library, in proportion to how much there is to
change; `ONLY=kernelcourse/kernels` tries those in one part. A map, measured first and updated for what has been edited
since, says which tests execute a changed line. These are run within a limit of seconds: one test of each function
first, and the quickest ones first; survivors are tried again with a higher limit. A test that runs the library in
another process does not see the change there. Each outcome is recorded in _build/mutants: a later run, after an
interruption or with more tests, tries what is new, what survived and what is in an edited module. A whole run writes
its table to CONTRIBUTING.md. A survivor that no test could notice is listed in equivalent.toml, with the reason.

The changed module is compiled in memory and imported by a fork of this process. Where bubblewrap is installed,
everything runs with the machine's files read-only: a changed program may delete what it should not.
"""

import argparse
import ast
import contextlib
import gc
import hashlib
import importlib
import importlib.abc
import importlib.util
import json
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
import tomllib
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from functools import _lru_cache_wrapper
from pathlib import Path
from types import CodeType, FunctionType

from tests.hard import ROOT, usable_cores
from tests.mutants.changes import changes

FOLDER = ROOT / "_build" / "mutants"
RECORD = FOLDER / "outcomes.txt"
EQUIVALENT = Path(__file__).with_name("equivalent.toml")
TABLE, MARKER = ROOT / "CONTRIBUTING.md", "<!-- make mutants -->\n"
# Whole pages, courses and classes, in separate browsers and processes; and the tests of this program.
ELSEWHERE = ("tests/book", "tests/lab", "tests/lite", "tests/course/test_assignments.py", "tests/test_hard.py")
ELSEWHERE += ("tests/test_mutants", "tests/test_environment.py", "tests/test_requirements.py")
ALL = "tests/test_architecture.py::test_values_do_not_change"  # concerns every module, whatever imported it
ELSEWHERE += tuple(f"tests/grading/test_{name}.py" for name in ("grade", "honest", "hostile"))
WARM = ["scipy.optimize", "scipy.spatial.distance", "scipy.stats", "pytest", "hypothesis.extra.numpy", "sklearn.svm"]
WARM += ["sklearn.utils.estimator_checks", "matplotlib.pyplot", "dask.array", "nbclient", "nbconvert"]
WARM += ["jupytext", "nbgrader.apps", "IPython", "coverage"]
# Parts of the library with their tests, which take minutes and are not needed for changes elsewhere.
CHECKING = ("kernelcourse/checking", "tests/checking", "tests/grading/test_plain", "tests/grading/test_variants")
COURSE = ("kernelcourse/course", "tests/course", "tests/grading")
OPTIONS = ["-q", "--assert=plain", "--tb=no", "--no-header", "--no-summary", "-p", "no:playwright"]
OPTIONS += ["-p", "no:unraisableexception", "-p", "no:threadexception"]  # which collect garbage after each run
# What runs in a sandbox or in a grader's process: these files test a changed copy of the course.
IN_A_COPY = {
    "kernelcourse/course/worker.py": ("tests/grading/test_verdict.py", "tests/grading/test_sandbox.py"),
    "kernelcourse/course/preprocessors.py": ("tests/grading/test_schedule.py",),
    "kernelcourse/course/submission.py": ("tests/grading/test_schedule.py",),
    "kernelcourse/course/schedule.py": ("tests/grading/test_schedule.py",),
}
SECONDS, MORE = 6.0, 20.0  # of tests that are run on a change, and once it has survived those
NOT_IN_PLACE = 98  # the code of a fork that could not make its change


@dataclass
class Mutant:
    path: str
    digest: str  # of the module
    number: int  # among its changes
    within: str
    lines: tuple  # the first and the last
    on_import: bool  # executed when the module is imported: outside functions, or in a signature
    before: str
    after: str
    outcome: str = ""
    tests: list = field(default_factory=list)
    allowed: float = 0.0  # seconds

    @property
    def key(self):
        return self.path, self.within, self.before, self.after

    @property
    def name(self):
        """An identifier that stays the same from run to run, as long as the module does."""
        return hashlib.sha256(repr((self.digest, self.lines, *self.key)).encode()).hexdigest()[:16]

    @property
    def killed(self):
        return self.outcome.startswith("killed")


# ---------------------------------------------------------------- processes


def in_fork(work, seconds, log):
    """Start work() in a fork with this many seconds of processor time; its exit code says how it ended."""
    pid = os.fork()
    if pid:
        return pid
    code = 99
    try:
        os.setsid()
        with open(log, "wb") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        resource.setrlimit(resource.RLIMIT_CPU, (int(seconds) + 1, int(seconds) + 3))
        resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))
        signal.alarm(int(20 * seconds))  # for endless waits; a busy machine must not trigger it
        code = int(work())
    finally:
        os._exit(code)


def run_all(jobs, workers):
    """Run jobs, each (name, start) with start() -> pid; yield name and exit code as they end. Jobs may be added."""
    running = {}
    while jobs or running:
        while jobs and len(running) < workers:
            name, start = jobs.pop(0)
            running[start()] = name
        pid, status, usage = os.wait4(-1, 0)
        if pid in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(pid, signal.SIGKILL)  # processes it left behind
            yield running.pop(pid), os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime


def warm_up():
    """Import what the tests import, except for the library itself, so that the forks have it."""
    sys.modules.setdefault("rfc3987_syntax", None)  # as kernelcourse.course does: saves three seconds
    os.environ |= {"MPLBACKEND": "Agg", "OPENBLAS_NUM_THREADS": "1", "SCIPY_ARRAY_API": "1"}  # as tests/conftest.py
    os.environ["MPLCONFIGDIR"] = str(FOLDER / "matplotlib")  # its list of fonts takes seconds, and a cage has no home
    for name in WARM:
        importlib.import_module(name)
    assert not any(name.startswith("kernelcourse") for name in sys.modules)
    sys.pycache_prefix, sys.dont_write_bytecode = str(FOLDER / "pycache"), False  # the source tree is read-only
    gc.freeze()  # a fork need not scan all this again


def in_a_cage():
    """Run this program again where it can write only to its own folder, if bubblewrap is installed."""
    if shutil.which("bwrap") is None:
        return False
    scratch = FOLDER / "tmp"
    shutil.rmtree(scratch, ignore_errors=True)
    (scratch / "home").mkdir(parents=True)
    cage = ["bwrap", "--ro-bind", "/", "/", "--dev-bind", "/dev", "/dev", "--proc", "/proc", "--unshare-pid"]
    cage += ["--bind", str(scratch), "/tmp", "--ro-bind", str(ROOT), str(ROOT), "--bind", str(FOLDER), str(FOLDER)]
    cage += ["--bind", "/run", "/run"]  # where sandboxes agree on who uses which user
    cage += ["--die-with-parent", "--chdir", str(ROOT), "--setenv", "HOME", "/tmp/home"]
    cage += ["--setenv", "MUTANTS_CAGED", "1"]
    code = subprocess.run([*cage, sys.executable, "-m", "tests.mutants", *sys.argv[1:]]).returncode
    if code:
        sys.exit(code)
    return True


# ---------------------------------------------------------------- which test executes which line


class Tracer:
    """A pytest plugin: the lines of the library that each test executes, and its seconds."""

    def __init__(self):
        import coverage

        self.coverage = coverage.Coverage(data_file=None, config_file=False, source=[str(ROOT / "kernelcourse")])
        self.seconds, self.outcomes = {}, defaultdict(set)

    def pytest_sessionstart(self):
        self.coverage.start()
        self.coverage.switch_context("collect")

    def pytest_runtest_logstart(self, nodeid):
        self.coverage.switch_context("setup")
        self.started = sum(os.times()[:4])  # of the processor: the machine may be busy with something else

    def pytest_fixture_setup(self, fixturedef, request):
        # What a test's own fixtures execute belongs to that test; fixtures of a file or a run serve all tests in the
        # file.
        shared = fixturedef.scope != "function"
        self.coverage.switch_context("setup" if shared else f"call|{request.node.nodeid}")

    def pytest_runtest_call(self, item):
        self.coverage.switch_context(f"call|{item.nodeid}")

    def pytest_runtest_logreport(self, report):
        self.outcomes[report.nodeid].add(report.outcome)

    def pytest_runtest_logfinish(self, nodeid):
        self.seconds[nodeid] = round(sum(os.times()[:4]) - self.started, 3)

    def pytest_runtest_teardown(self, item):
        self.coverage.switch_context("setup")

    def result(self):
        self.coverage.stop()
        data = self.coverage.get_data()
        good = {test: seconds for test, seconds in self.seconds.items() if self.outcomes[test] == {"passed"}}
        lines = defaultdict(dict)  # file -> line -> tests, "" for all tests of the file
        for path in data.measured_files():
            name = str(Path(path).relative_to(ROOT))
            for line, contexts in data.contexts_by_lineno(path).items():
                tests = {context.partition("|")[2] if context.startswith("call|") else "" for context in contexts}
                lines[name][line] = sorted(test for test in tests if test == "" or test in good)
        return {"seconds": good, "lines": lines}


def digest(path):
    return hashlib.sha256((ROOT / path).read_bytes()).hexdigest()[:16]


def map_files(paths, saved):
    """Run the tests in some files and save what they execute; in a fork."""
    import pytest

    tracer = Tracer()
    code = pytest.main([*OPTIONS, f"--basetemp=/tmp/pytest-{os.getpid()}", *paths], plugins=[tracer])
    result = tracer.result()
    result["digests"] = {name: digest(name) for name in [*paths, *result["lines"]]}
    saved.write_text(json.dumps(result))
    return code


def measure(paths, workers, tell):
    """The map for the test files: what was measured before is kept as long as the files concerned are the same."""
    files = [*sorted((ROOT / "tests").rglob("test_*.py")), *sorted((ROOT / "kernelcourse").rglob("*.py"))]
    names = [str(path.relative_to(ROOT)) for path in files]
    names = [name for name in names if parts_of(name) & set().union(*map(parts_of, paths))]
    names = [name for name in names if not name.startswith(ELSEWHERE)]
    names = [name for name in names if name.startswith("tests") or ">>> " in (ROOT / name).read_text()]
    together = defaultdict(list)  # a file of tests, or the doctests of a package
    for name in names:
        together[name if name.startswith("tests") else str(Path(name).parent)].append(name)
    folder = FOLDER / "map"
    folder.mkdir(parents=True, exist_ok=True)
    saved = {name: folder / (name.replace("/", "-") + ".json") for name in together}
    stale = [name for name, files in together.items() if not is_fresh(saved[name], files)]
    if stale:
        tell(f"measuring which lines the tests of {len(stale)} files and packages execute")
    jobs = [(name, lambda name=name: start_map(together[name], saved[name])) for name in stale]
    for name, code, seconds in run_all(jobs, workers):
        found = len(json.loads(saved[name].read_text())["seconds"]) if saved[name].exists() else 0
        tell(f"  {name}: {found} tests in {seconds:.0f} s" + (f", ended with {code}" if code else ""))
    return {name: json.loads(saved[name].read_text()) for name in together if saved[name].exists()}


def parts_of(name):
    return {part for part in (CHECKING, COURSE) if name.startswith(part)} or {"the rest"}


def start_map(files, saved):
    saved.unlink(missing_ok=True)
    return in_fork(lambda: map_files(files, saved), 600, saved.with_suffix(".log"))


def is_fresh(saved, files):
    if not saved.exists():
        return False
    digests = json.loads(saved.read_text())["digests"]
    return set(files) <= digests.keys() and all(
        (ROOT / name).exists() and digest(name) == old for name, old in digests.items()
    )


class Map:
    """Which tests execute a line, beginning with those that reveal most per second."""

    def __init__(self, measured):
        self.seconds = {test: seconds for one in measured.values() for test, seconds in one["seconds"].items()}
        self.lines = defaultdict(lambda: defaultdict(set))
        self.shared = defaultdict(lambda: defaultdict(set))  # by fixtures and imports: any test of the file may notice
        self.executed = defaultdict(Counter)  # test -> file -> lines
        for one in measured.values():
            for path, lines in one["lines"].items():
                for line, tests in lines.items():
                    self.lines[path][int(line)] |= set(tests) - {""}
                    for test in tests:
                        self.executed[test][path] += 1
                    if "" in tests:
                        self.shared[path][int(line)] |= set(one["seconds"])

    def of(self, path, first, last, everywhere=False):
        """The tests of some lines in order; with `everywhere`, of the file and more, for what happens on import."""
        lines = range(first, last + 1)
        if everywhere:
            direct = set().union(*self.lines[path].values())
            files = {test.partition("::")[0] for test in direct}
            # What no test executes itself is what all import: its laws are those of the whole package.
            laws = [test for test in self.seconds if test.startswith(ALL if direct else ALL.partition("::")[0])]
            near = {test for test in self.seconds if test.partition("::")[0] in files}  # may only read a table
            rest = self.in_turns(path, direct) + self.in_turns(path, near - direct - set(laws))
            own = f"/test_{Path(path).stem}.py::"  # the tests named after it come first
            return self.in_turns(path, laws) + sorted(rest, key=lambda test: own not in test)
        direct = set().union(*[self.lines[path][line] for line in lines])
        shared = set().union(*[self.shared[path][line] for line in lines])
        return self.in_turns(path, direct) + self.in_turns(path, shared - direct)

    def in_turns(self, path, tests):
        """One test of each function, then the second of each, and so on; quick ones about the file come first."""

        def price(test):
            about = self.executed[test][path] / max(1, self.executed[test].total())
            return (self.seconds[test] + 0.01) / (about + 0.01), test

        turns = defaultdict(list)
        for test in sorted(tests, key=price):
            turns[test.partition("[")[0]].append(test)
        turn = {test: number for group in turns.values() for number, test in enumerate(group)}
        return sorted(turn, key=lambda test: (turn[test], price(test)))


# ---------------------------------------------------------------- the changed library


class Changed(importlib.abc.MetaPathFinder, importlib.abc.InspectLoader):
    """Imports one module of the library with a change, and all others unchanged."""

    def __init__(self, mutant):
        self.path = ROOT / mutant.path
        parts = Path(mutant.path).with_suffix("").parts
        self.name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        self.number = mutant.number

    def find_spec(self, name, path=None, target=None):
        if name == self.name:
            return importlib.util.spec_from_file_location(name, self.path, loader=self)
        return None

    def is_package(self, name):
        return self.path.name == "__init__.py"

    def get_source(self, name):
        return self.path.read_text(encoding="utf-8")

    def get_filename(self, name):
        return str(self.path)

    def get_code(self, name):
        tree = ast.parse(self.get_source(name))
        changes(tree)[self.number].make()
        return compile(ast.fix_missing_locations(tree), str(self.path), "exec")


class Chosen:
    """A pytest plugin: the chosen tests in order; hypothesis does not look for the smallest example."""

    def __init__(self, tests):
        self.order = {test: number for number, test in enumerate(tests)}

    def pytest_sessionstart(self):
        from hypothesis import Phase, settings

        settings.register_profile("mutants", settings(), phases=[Phase.explicit, Phase.generate], deadline=None)
        settings.load_profile("mutants")

    def pytest_collection_modifyitems(self, items):
        items[:] = sorted((item for item in items if item.nodeid in self.order), key=lambda i: self.order[i.nodeid])


class InPlace(Chosen):
    """A pytest plugin: every test is collected once, then each mutant runs its own tests in a fork of this process."""

    def __init__(self, mutants, workers, tell):
        super().__init__(test for mutant in mutants for test in mutant.tests)
        self.mutants, self.workers, self.tell = mutants, workers, tell

    def pytest_runtestloop(self, session):
        items = {item.nodeid: item for item in session.items}
        self.tell(f"{len(items)} tests collected for {len(self.mutants)} mutants")

        def job(number, mutant):
            def work():
                if not change_in_place(mutant):
                    return NOT_IN_PLACE
                session.items = [items[test] for test in mutant.tests if test in items]
                with contextlib.suppress(session.Failed):
                    from _pytest.main import pytest_runtestloop

                    pytest_runtestloop(session)
                return 1 if session.testsfailed else 0

            return number, lambda: in_fork(work, mutant.allowed, log_of(mutant))

        spent = 0.0
        jobs = [job(number, mutant) for number, mutant in enumerate(self.mutants)]
        for done, (number, code, seconds) in enumerate(run_all(jobs, self.workers), 1):
            spent += seconds
            if code != NOT_IN_PLACE:
                decide(self.mutants[number], code, self.tell)
            if done % 25 == 0:
                self.tell(f"{done} of {len(self.mutants)} tried, {spent:.0f} s of processor time")
        return True


def change_in_place(mutant):
    """Give the functions of an already imported module the code of the changed one; return whether any changed."""
    changed = Changed(mutant)
    new, twice = {}, set()

    def walk(code):
        for part in code.co_consts:
            if isinstance(part, CodeType):
                key = part.co_qualname, part.co_firstlineno
                (twice.add if key in new else lambda _: None)(key)
                new[key] = part
                walk(part)

    walk(changed.get_code(changed.name))
    found = False
    gc.unfreeze()  # tests/conftest.py has frozen what was imported, and get_objects would leave it out
    for thing in gc.get_objects():
        if isinstance(thing, FunctionType) and thing.__code__.co_filename == str(changed.path):
            key = thing.__code__.co_qualname, thing.__code__.co_firstlineno
            code = new.get(key)
            if code is None or key in twice or code == thing.__code__:
                continue
            if code.co_freevars != thing.__code__.co_freevars:
                return False
            thing.__code__, found = code, True
        elif isinstance(thing, _lru_cache_wrapper):
            thing.cache_clear()  # its cache was computed before the change
    return found


def try_in_place(mutants, workers, tell):
    import pytest

    files = list(dict.fromkeys(test.partition("::")[0] for mutant in mutants for test in mutant.tests))
    return pytest.main([*OPTIONS, "-x", *files], plugins=[InPlace(mutants, workers, tell)])


def try_mutant(mutant):
    """Run its tests on the changed library; in a fork. The code is pytest's, 0 if no test noticed."""
    import pytest

    tests = mutant.tests

    sys.meta_path.insert(0, Changed(mutant))
    files = list(dict.fromkeys(test.partition("::")[0] for test in tests))
    code = pytest.main([*OPTIONS, "-x", f"--basetemp=/tmp/pytest-{os.getpid()}", *files], plugins=[Chosen(tests)])
    shutil.rmtree(f"/tmp/pytest-{os.getpid()}", ignore_errors=True)
    return 0 if code == pytest.ExitCode.NO_TESTS_COLLECTED else code


def try_in_a_copy(mutant):
    """Run its tests in a copy of the repository that contains the change; in a fork."""
    copy = Path(f"/tmp/copy-{os.getpid()}")
    copy.mkdir()
    for name in ("kernelcourse", "tests", "solutions", "nbgrader_config.py", "pyproject.toml"):
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, copy / name)
    tree = ast.parse((ROOT / mutant.path).read_text(encoding="utf-8"))
    changes(tree)[mutant.number].make()
    (copy / mutant.path).write_text(ast.unparse(ast.fix_missing_locations(tree)), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", *OPTIONS, "-x", f"--basetemp={copy}/tmp", *mutant.tests]
    code = subprocess.run(command, cwd=copy, env=os.environ | {"PYTHONPATH": str(copy)}).returncode
    shutil.rmtree(copy, ignore_errors=True)
    return code


def draw(paths, count, seed):
    """This many changes, from every module in proportion to how much there is to change, and at least two."""
    trees = {path: ast.parse((ROOT / path).read_text(encoding="utf-8")) for path in paths}
    found = {path: changes(tree) for path, tree in trees.items()}
    total = sum(map(len, found.values()))
    mutants = []
    for path, tree in trees.items():
        share = min(len(found[path]), max(2, round(count * len(found[path]) / total)))
        bodies = {
            part for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for s in f.body for part in ast.walk(s)
        }
        shuffled = random.Random(f"{seed} {path}").sample(range(len(found[path])), len(found[path]))
        for number in sorted(shuffled[:share]):  # a larger draw includes all of a smaller one
            change = found[path][number]
            lines, on_import = lines_of(change.statement), change.statement not in bodies
            mutants.append(Mutant(path, digest(path), number, change.within, lines, on_import, *change.texts()))
    return mutants


def lines_of(statement):
    """The first and the last line of a statement, without the block below it."""
    below = getattr(statement, "body", None)
    return statement.lineno, max(statement.lineno, below[0].lineno - 1) if below else statement.end_lineno


def within_seconds(tests, seconds, limit):
    """The first tests that together take this many seconds, at least one."""
    chosen, total = [], 0.0
    for test in tests:
        total += seconds[test] + 0.02
        if chosen and total > limit:
            break
        chosen.append(test)
    return chosen


def try_all(mutants, tests_of, seconds_of, limit, workers, tell):
    """Try every mutant: in place where possible, otherwise by importing the library anew."""
    elsewhere = []
    for mutant in mutants:
        mutant.tests = within_seconds(tests_of[id(mutant)], seconds_of, limit)
        copied = not mutant.tests and mutant.path in IN_A_COPY
        if copied:
            mutant.tests = [test for test in seconds_of if test.startswith(IN_A_COPY[mutant.path])]
            mutant.tests.sort(key=lambda test: seconds_of[test])
            elsewhere.append(mutant)
        mutant.allowed = 5 + 3 * sum(seconds_of[test] for test in mutant.tests)
        mutant.outcome = ""
        if not mutant.tests:
            note(mutant, "no test executes it", tell)
    in_place = [m for m in mutants if m.tests and not m.on_import and m not in elsewhere]
    if in_place:
        before = len(RECORD.read_text().splitlines())
        pid = in_fork(lambda: try_in_place(in_place, workers, tell), 10**6, FOLDER / "in-place.log")
        os.waitpid(pid, 0)
        recall(in_place, before)
    rest = [m for m in mutants if m.tests and not m.outcome]
    tell(f"{len(rest)} mutants need an import of their own, {len(elsewhere)} of them a copy of the course")
    how = {id(m): try_in_a_copy if m in elsewhere else try_mutant for m in rest}
    jobs = [(m, lambda m=m: in_fork(lambda: how[id(m)](m), m.allowed, log_of(m))) for m in rest]
    for mutant, code, _ in run_all(jobs, workers):
        decide(mutant, code, tell)


def decide(mutant, code, tell):
    """Record what the exit code of its tests means."""
    note(mutant, "survived" if code == 0 else "killed" if code > 0 else f"killed by signal {-code}", tell)


def note(mutant, outcome, tell):
    mutant.outcome = outcome
    with RECORD.open("a") as file:
        print(mutant.name, outcome, file=file)
    if not mutant.killed:
        tell(described(mutant))


def recall(mutants, skip=0):
    """Give mutants the last outcome recorded for them, below the first lines."""
    lines = RECORD.read_text().splitlines()[skip:]
    outcomes = dict(line.split(" ", 1) for line in lines)
    for mutant in mutants:
        mutant.outcome = outcomes.get(mutant.name, "")


def log_of(mutant):
    return FOLDER / "logs" / f"{mutant.path.replace('/', '-')}-{mutant.number}.log"


# ---------------------------------------------------------------- the report


def described(m):
    same = next((i for i, (a, b) in enumerate(zip(m.before, m.after, strict=False)) if a != b), 0)
    start = max(0, same - 100)
    before, after = (("…" if start else "") + text[start : start + 300] for text in (m.before, m.after))
    return f"{m.path}:{m.lines[0]} ({m.within}): {m.outcome}, {len(m.tests)} tests\n    {before}\n  → {after}"


def table(mutants, equivalent, name_of=lambda mutant: mutant.path):
    """By module: mutants, noticed, equivalent, survivors, and the survivors' share of those that are not equivalent."""
    rows = defaultdict(Counter)
    for mutant in mutants:
        kind = "killed" if mutant.killed else "equivalent" if mutant.key in equivalent else "survived"
        rows[name_of(mutant)][kind] += 1
    total = sum(rows.values(), Counter())
    lines = ["| module | mutants | noticed | equivalent | survive | share |", "|---|---:|---:|---:|---:|---:|"]
    for name, row in [*rows.items(), ("all", total)]:
        share = row["survived"] / max(1, row["killed"] + row["survived"])
        lines.append(
            f"| {name} | {row.total()} | {row['killed']} | {row['equivalent']} | {row['survived']} | {share:.1%} |"
        )
    return "\n".join(lines)


def package_of(mutant):
    """`kernels/` for a module in that package, `gram.py` for one outside packages."""
    name = mutant.path.split("/", 2)[1]
    return name if name.endswith(".py") else name + "/"


def with_table(text, mutants, equivalent):
    """The text of CONTRIBUTING.md with new tables between the marker and the next heading."""
    before, marker, after = text.partition(MARKER)
    assert marker, f"{TABLE.name} has no line {MARKER}"
    by_package, by_module = table(mutants, equivalent, package_of), table(mutants, equivalent)
    details = f"<details><summary>Module by module</summary>\n\n{by_module}\n\n</details>"
    return f"{before}{marker}{by_package}\n\n{details}\n\n{after[after.index('## ') :]}"


def known_equivalents():
    """The listed changes that no test could notice: (file, within, before, after)."""
    listed = tomllib.loads(EQUIVALENT.read_text(encoding="utf-8")).get("equivalent", []) if EQUIVALENT.exists() else []
    return {(one["file"], one["within"], one["before"], one["after"]) for one in listed}


def main():
    parser = argparse.ArgumentParser(prog="tests.mutants", description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", default=["kernelcourse"], help="files or folders of the library")
    parser.add_argument("--count", type=int, default=600, help="changes drawn from the whole library")
    parser.add_argument("--seed", default="13")
    parser.add_argument("--jobs", type=int, default=usable_cores(), help="processes at a time")
    parser.add_argument("--table", action="store_true", help="try nothing; tell what runs, part by part, have found")
    parser.add_argument("--fresh", action="store_true", help="forget what earlier runs have found")
    options = parser.parse_args()
    paths = [str(p.relative_to(ROOT)) for p in sorted((ROOT / "kernelcourse").rglob("*.py"))]
    drawn = draw(paths, options.count, options.seed)
    mutants = [mutant for mutant in drawn if any(Path(mutant.path).is_relative_to(part) for part in options.only)]
    if not mutants:
        parser.error(f"--only expects files or folders below kernelcourse, got {' '.join(options.only)}")
    (FOLDER / "logs").mkdir(parents=True, exist_ok=True)
    caged = "MUTANTS_CAGED" in os.environ
    if options.fresh and not caged:
        RECORD.unlink(missing_ok=True)
    RECORD.touch()
    if not options.table and (caged or not in_a_cage()):
        try_again(mutants, options.jobs)
    if caged:
        return
    recall(mutants)
    if untried := {package_of(mutant) for mutant in mutants if not mutant.outcome}:
        parser.error(f"not tried yet: changes in {', '.join(sorted(untried))}")
    equivalent = known_equivalents()
    alive = [mutant for mutant in mutants if not mutant.killed and mutant.key not in equivalent]
    text = "\n".join(described(mutant) for mutant in alive)
    (FOLDER / "survivors.txt").write_text(text + "\n", encoding="utf-8")
    print(text, table(mutants, equivalent), sep="\n\n")
    if len(mutants) == len(drawn) >= 600:
        TABLE.write_text(with_table(TABLE.read_text(encoding="utf-8"), mutants, equivalent), encoding="utf-8")


def try_again(mutants, workers):
    """Try what was not tried before; then what has survived, now or before, with more tests."""
    started, out = time.monotonic(), os.fdopen(os.dup(1), "w")

    def tell(line):
        print(f"{time.monotonic() - started:5.0f} s  {line}", file=out, flush=True)

    warm_up()
    where = Map(measure({mutant.path for mutant in mutants}, workers, tell))
    tests_of = {id(mutant): where.of(mutant.path, *mutant.lines, mutant.on_import) for mutant in mutants}
    recall(mutants)
    new = [mutant for mutant in mutants if not mutant.outcome]
    tell(f"{len(mutants)} mutants, {len(new)} are new")
    try_all(new, tests_of, where.seconds, SECONDS, workers, tell)
    equivalent = known_equivalents()
    alive = [mutant for mutant in mutants if not mutant.killed and mutant.key not in equivalent]
    for mutant in alive:
        met = set(mutant.tests)
        tests_of[id(mutant)] = [test for test in tests_of[id(mutant)] if test not in met]
    alive = [mutant for mutant in alive if tests_of[id(mutant)] or mutant not in new]
    tell(f"{len(alive)} have survived and meet more tests")
    try_all(alive, tests_of, where.seconds, MORE, workers, tell)


if __name__ == "__main__":
    main()
