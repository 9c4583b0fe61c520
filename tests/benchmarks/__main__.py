"""`make bench` runs every benchmark, `make bench ONLY=import` those whose name contains a word."""

import importlib
import pkgutil
import sys
from pathlib import Path

from tests.benchmarks import harness

only = sys.argv[1] if len(sys.argv) > 1 else ""
names = [m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]) if m.name.startswith("bench_")]
chosen = [name for name in names if only in name]
if not chosen:
    raise SystemExit(f"no benchmark is called {only!r}; there are {', '.join(n.removeprefix('bench_') for n in names)}")
for name in chosen:
    rows = importlib.import_module(f"tests.benchmarks.{name}").run()
    harness.write(name.removeprefix("bench_"), rows)
