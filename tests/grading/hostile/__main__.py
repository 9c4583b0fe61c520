"""Write the list of attacks, ATTACKS.md: `python -m tests.grading.hostile`.

Each attack is tried on plain nbgrader, then on our grader. Plain nbgrader takes about ten seconds per attack; if
attacks are named as arguments, only these are run, and the others keep their rows.
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import nbgrader
from tqdm import tqdm

from kernelcourse.course.folder import Course
from kernelcourse.course.notebooks import replace_file

from . import ATTACKS, FAMILIES
from .classroom import classroom
from .stock import stock, stock_course
from .submission import HONEST, POINTS, RIGHT, honest

ROOT = Path(__file__).parents[3]
TABLE = Path(__file__).with_name("ATTACKS.md")
OUTCOMES = Path(__file__).with_name("outcomes.json")  # what was measured: attack -> [plain nbgrader, ours]


def main(names: list[str]) -> None:
    logging.disable(logging.CRITICAL)
    attacks = [attack for attack in ATTACKS if not names or attack.name in names]
    measured = outcomes() if names else {}
    with TemporaryDirectory() as folder:
        course, released = stock_course(Path(folder), Course(ROOT))
        for attack in tqdm(attacks, desc="nbgrader", unit="attack"):
            measured[attack.name] = [stock(attack, course, released), ""]
    with TemporaryDirectory() as folder, classroom(Path(folder) / "class", Course(ROOT)) as room:
        room.submit({"honest-1": honest(room.released, RIGHT)})
        room.submit({attack.name: attack.submission(room.released, room.place) for attack in attacks})
        room.grade({attack.name for attack in attacks if attack.endless})
        scores = room.scores()
    for attack in attacks:
        measured[attack.name][1] = f"{sum(scores[attack.name].values()):g}"
    write(measured)


def outcomes() -> dict[str, list[str]]:
    """The last measured outcomes."""
    return json.loads(OUTCOMES.read_text(encoding="utf-8"))["attacks"]


def write(measured: dict[str, list[str]]) -> None:
    measured = {attack.name: measured[attack.name] for attack in ATTACKS}
    content = {"nbgrader": nbgrader.__version__, "attacks": measured}
    replace_file(OUTCOMES, (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode())
    replace_file(TABLE, table(measured, nbgrader.__version__).encode())


def table(measured: dict[str, list[str]], version: str) -> str:
    """The outcomes as Markdown, with one table per family."""
    stolen = sum("**" in before for before, _ in measured.values())
    harmful = sum(";" in before or before.startswith(("no ", "the ")) for before, _ in measured.values())
    parts = [
        "# Attacks on the grader",
        f"Of {len(measured)} attacks, {stolen} get more than they earn from nbgrader {version} (in bold); {harmful} "
        "get no grade, stop the run, or change something outside. A submission can get "
        f"{sum(POINTS.values())} points; the honest code in it earns {HONEST:g}, or the number in brackets.",
    ]
    for family, attacks in FAMILIES.items():
        rows = [f"## {family[0].upper()}{family[1:]} ({len(attacks)})", ""]
        rows += ["| it … | plain nbgrader | `kernelcourse grade` |", "|---|---|---|"]
        for attack in attacks:
            before, ours = measured[attack.name]
            earns = "" if attack.earns == HONEST else f" ({attack.earns:g})"
            rows.append(f"| {attack.tries}{earns} | {before} | {ours} |")
        parts.append("\n".join(rows))
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
