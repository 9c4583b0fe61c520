"""The licence of each part that the site ships, as a separate page: licences.txt."""

from __future__ import annotations

from pathlib import Path

import lock

# Parts that are not wheels, and wheels whose metadata name no licence.
KNOWN = {
    "Pyodide": "MPL-2.0 (https://github.com/pyodide/pyodide)",
    "Python's standard library": "PSF-2.0 (https://docs.python.org/3/license.html)",
    "JupyterLite": "BSD-3-Clause (https://github.com/jupyterlite/jupyterlite)",
    "numpy": "BSD-3-Clause",
    "kernelcourse": "MIT",
    "matplotlib": "MIT (the course's own stand-in, which draws nothing)",
    "ssl": "MIT (the course's own empty package)",
    "sqlite3": "MIT (the course's own empty package)",
    "ipykernel": "BSD-3-Clause (the stand-in of jupyterlite-pyodide-kernel)",
    "piplite": "BSD-3-Clause",
    "pyodide-kernel": "BSD-3-Clause",
}
HEAD = """The exercises in the browser are made of these parts. The text of a wheel's licence is in the wheel, in
static/pyodide; the licences of JupyterLite's scripts are in the files third-party-licenses.json beside them.

"""


def licence(wheel: Path) -> str:
    """What a wheel says about its licence, in one line."""
    about = lock.metadata(wheel)
    name = about["Name"].lower().replace("_", "-")
    classified = [text.split(" :: ")[-1] for text in about.get_all("Classifier", []) if text.startswith("License ::")]
    found = KNOWN.get(name) or about["License-Expression"] or about["License"] or " or ".join(classified)
    if not found:
        raise ValueError(f"{wheel.name} names no licence: find out which it is and add it to book/lite/licences.py")
    return found.splitlines()[0]


def table(site: Path) -> dict[str, str]:
    rows = {name: KNOWN[name] for name in ("Pyodide", "Python's standard library", "JupyterLite")}
    for wheel in sorted((site / "static/pyodide").glob("*.whl")):
        about = lock.metadata(wheel)
        rows[f"{about['Name']} {about['Version']}"] = licence(wheel)
    return rows


def write(site: Path) -> None:
    lines = [f"{part}: {words}\n" for part, words in table(site).items()]
    (site / "licences.txt").write_text(HEAD + "".join(lines), encoding="utf-8")
