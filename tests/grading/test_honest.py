"""Honest but unusual submissions lose nothing."""

import json
import shutil

import nbformat
import pytest

from tests.course.conftest import HERE
from tests.grading.hostile.classroom import classroom, once
from tests.grading.hostile.submission import POINTS, RIGHT, honest

pytestmark = pytest.mark.skipif(shutil.which("bwrap") is None, reason="no bubblewrap: tests/system.sh names it")

KERNEL, DUAL, CLAIM = RIGHT["kernel"], RIGHT["dual"], RIGHT["not-a-kernel"]

KERNELS = {
    "prints": KERNEL.replace("    return", "    print('x', x, 'z', z)\n    return"),
    "warns": KERNEL.replace("    return", "    import warnings\n    warnings.warn('careful')\n    return"),
    "recursion": """
def kernel(x, z, degree):
    return 1.0 if degree == 0 else 1.0 + x * z * kernel(x, z, degree - 1)
""",
    "generator": """
def powers(s, degree):
    value = 1.0
    for _ in range(degree + 1):
        yield value
        value *= s

def kernel(x, z, degree):
    return sum(powers(x * z, degree))
""",
    "lambda": "kernel = lambda x, z, degree: sum((x * z) ** i for i in range(degree + 1)) * 1.0",
    "partial-and-vectorize": """
from functools import partial

def polynomial(powers, x, z, degree):
    return float(np.sum(powers(x * z, np.arange(degree + 1))))

kernel = partial(polynomial, np.vectorize(lambda s, i: float(s) ** int(i)))
""",
    "scalar-of-numpy": KERNEL.replace("return float(", "return np.float64("),
    "array-without-axes": KERNEL.replace("return float(", "return np.array("),
    "standard-library": """
import itertools
import math
from collections import Counter

def kernel(x, z, degree):
    return math.fsum(itertools.accumulate([1.0] + [x * z] * degree, lambda a, b: a * b))
""",
    "types-decorators-walrus": """
from __future__ import annotations
from functools import lru_cache, wraps
from typing import Callable

def noted(function: Callable[..., float]) -> Callable[..., float]:
    @wraps(function)
    def inner(*args, **options):
        return function(*args, **options)
    return inner

@noted
@lru_cache(maxsize=None)
def kernel(x: float, z: float, degree: int = 3, /) -> float:
    if (s := x * z) == 0:
        return 1.0
    label = f"{s=:.3f} of {degree!r}"
    return float(sum(s**i for i in range(degree + 1)))
""",
    "global-state": """
calls = 0
memory = {}

def kernel(x, z, degree):
    global calls
    calls += 1
    memory[x, z, degree] = memory.get((x, z, degree)) or float(sum((x * z) ** i for i in range(degree + 1)))
    return memory[x, z, degree]
""",
    "slow": "import time\n" + KERNEL.replace("    return", "    time.sleep(0.1)\n    return"),
    "cell-that-fails-in-the-end": KERNEL + "\nkernel(1, 2, 3)\n1 / 0\n",
    "seeds-the-generator": "np.random.seed(0)\nrng = np.random.default_rng(7)\n" + KERNEL,
    "timed-by-a-magic": "%%time\n" + KERNEL.strip() + "\nif __name__ == '__main__':\n    print(kernel(1, 2, 3));\n",
    "awaits": "import asyncio\nawait asyncio.sleep(0)\n" + KERNEL.replace("    ", "\t"),
    "dataclass-and-defaults": """
from dataclasses import dataclass

@dataclass(frozen=True)
class Powers:
    degree: int = 3

    def __call__(self, s: float = 0.0) -> float:
        return float(sum(s**i for i in range(self.degree + 1)))

def kernel(x, z, degree=3, *, make=Powers):
    return make(degree)(x * z)
""",
}

DUALS = {
    "warnings-of-numpy": DUAL.replace("    return Phi", "    np.log(np.array([0.0, -1.0])) / 0\n    return Phi"),
    "writes-to-stderr": "import sys\n" + DUAL.replace("    return", "    print('note', file=sys.stderr)\n    return"),
    "class": """
class Ridge:
    def __init__(self, lam: float = 1.0) -> None:
        self.lam = lam

    def fit(self, K, t):
        self.a_ = np.linalg.solve(K + self.lam * np.eye(len(K)), t)
        return self

    @staticmethod
    def gram(Phi):
        return np.einsum("im,jm->ij", Phi, Phi)

    def __call__(self, K_test):
        return K_test @ self.a_

gram_matrix = Ridge.gram

def dual_weights(K, t, lam):
    return Ridge(lam).fit(K, t).a_

def predict(K_test, a):
    model = Ridge()
    model.a_ = a
    return model(K_test)
""",
    "callable-object": DUAL
    + "\nclass Gram:\n    def __call__(self, Phi):\n        return Phi @ Phi.T\ngram_matrix = Gram()\n",
    "lambdas": """
gram_matrix = lambda P: P @ P.T
dual_weights = lambda K, t, lam: np.linalg.inv(K + lam * np.eye(len(t))) @ t
predict = np.dot
""",
    "lists": DUAL.replace("Phi @ Phi.T", "(Phi @ Phi.T).tolist()").replace(
        "return K_test @ a", "return list(K_test @ a)"
    ),
    "loops": DUAL.replace("Phi @ Phi.T", "np.array([[sum(a * b for a, b in zip(p, q)) for q in Phi] for p in Phi])"),
    "scipy": "import scipy.linalg\n" + DUAL.replace("np.linalg.solve(", "scipy.linalg.solve("),
    "unicode": """
def gram_matrix(Φ):
    return Φ @ Φ.T

def dual_weights(K, t, λ):
    größe = len(K)
    return np.linalg.solve(K + λ * np.eye(größe), t)  # Lösung ✓ 解

def predict(K_test, α):
    return K_test @ α
""",
    "slow-cell": "import time\ntime.sleep(1.5)\n" + DUAL,
    "tries-and-catches": DUAL.replace(
        "    return np.lin", "    try:\n        [][1]\n    except IndexError:\n        pass\n    return np.lin"
    ),
    "works-on-a-copy": DUAL.replace(
        "    return np.linalg.solve(K + lam * np.eye(len(K)), t)",
        "    A = K.astype(float)\n    A[np.diag_indices_from(A)] += lam\n    return np.linalg.solve(A, t)",
    ),
    "imports-all-of-numpy": """
from numpy import *
from numpy.linalg import *
import numpy.typing as npt

def gram_matrix(Phi: npt.NDArray[float64]) -> matrix:
    return matrix(Phi) * matrix(Phi).T

def dual_weights(K: npt.ArrayLike, t: npt.ArrayLike, lam: float) -> npt.NDArray[float64]:
    return ma.array(solve(K + lam * eye(len(K)), t))

def predict(K_test, a):
    return asfortranarray(K_test) @ a
""",
    "processes-and-threads": """
from concurrent.futures import ThreadPoolExecutor
from multiprocessing import Pool

def product(pair):
    return pair[0] @ pair[1]

def gram_matrix(Phi):
    with Pool(2) as pool:
        return np.array(pool.map(product, [(Phi, p) for p in Phi]))

def dual_weights(K, t, lam):
    with ThreadPoolExecutor(4) as pool:
        return pool.submit(np.linalg.solve, K + lam * np.eye(len(K)), t).result()

def predict(K_test, a):
    return np.fromiter((k @ a for k in K_test), float)
""",
    "captured-and-strict": "%%capture noise\nimport warnings\nnp.seterr(all='raise')\nwarnings.simplefilter('error')\n"
    + DUAL.strip(),
    "forks": DUAL + "\nimport os\nif os.fork() == 0:\n    child = True\n",
    "half-a-character": DUAL.replace("    return Phi", "    print('\\ud800')\n    return Phi") + "\nprint('\\udcff')\n",
}

CLAIMS = {
    "plain": CLAIM,
    "lists": "def not_a_kernel():\n    return [[0.0], [1.0], [2.0]], [1, 0, -1]",
    "whole-numbers": "def not_a_kernel():\n    return np.arange(6).reshape(3, 2), np.array([1, 0, -1])",
    "named": """
from collections import namedtuple
Witness = namedtuple("Witness", "X y")

def not_a_kernel():
    return Witness([(0,), (1,), (2,)], range(1, -2, -1))
""",
    "fractions": """
from decimal import Decimal
from fractions import Fraction

def not_a_kernel():
    return [[Fraction(0)], [Fraction(1, 3)], [Fraction(1, 2)]], [Decimal("1.5"), True, -1]
""",
    "small-floats": CLAIM.replace("])", "], dtype=np.float32)"),
}

CELLS = {
    "plots": "import matplotlib.pyplot as plt\nplt.plot([0, 1], [0, 1])\nplt.show()",
    "magics": "%matplotlib inline\n%timeit -n 1 -r 1 sum(range(10))\n%time 1 + 1\n%who",
    "shell-escapes": "!ls /no/such/folder\nfiles = !echo hello\n!pip --version",
    "bad-magic": "%no_such_magic",
    "asks": "name = input('Your name? ')",
    "own-tests": "assert abs(1 - 1) < 1e-9\nfor i in range(3):\n    print(i)",
    "fails": "undefined_name + 1",
    "does-not-parse": "def f(:\n    pass",
    "helper-functions": "def helper(A):\n    return A.copy()\n\nclass Helper:\n    pass",
    "uses-check": "check(kernel=lambda x, z, degree: 0.0)",
    "pandas-or-not": "try:\n    import pandas as pd\nexcept ImportError:\n    pd = None",
    "interrupts": "raise KeyboardInterrupt",
    "exits": "exit()",
    "rebinds-np": "import numpy.linalg as la\nimport scipy, scipy.linalg, scipy.spatial.distance",
    "writes-a-file": "with open('notes.txt', 'w') as file:\n    file.write('x')\nprint(open('notes.txt').read())",
    "html-cell": "%%html\n<b>hello</b>",
    "long-output": "print('line\\n' * 5000)",
}


def line_ends(made):
    made.raw = json.dumps(made.notebook, indent=1).replace("\n", "\r\n").encode()
    made.raw = made.raw.replace(b"\\n", b"\\r\\n")


def byte_order_mark(made):
    made.raw = b"\xef\xbb\xbf" + json.dumps(made.notebook).encode()


def out_of_order(made):
    for count, cell in enumerate(cell for cell in made.cells if cell["cell_type"] == "code"):
        cell["execution_count"] = (7 * count) % 5 + 40


def with_outputs(made):
    warning = {"output_type": "stream", "name": "stderr", "text": "RuntimeWarning: divide by zero"}
    error = {"output_type": "error", "ename": "CheckFailed", "evalue": "not yet", "traceback": ["not yet"]}
    for cell in made.checks():
        cell["outputs"] = [warning, error]


def without_ids(made):
    made.notebook["nbformat_minor"] = 0
    for cell in made.cells:
        cell.pop("id")


def source_as_lines(made):
    for cell in made.cells:
        cell["source"] = cell["source"].splitlines(keepends=True) if isinstance(cell["source"], str) else cell["source"]


def more_text(made):
    for position in (0, 3, 5):
        text = {
            "cell_type": "markdown",
            "id": f"text-{position}",
            "metadata": {},
            "source": "# Notes\n$x^2$ <b>bold</b>",
        }
        made.cells.insert(position, text)


def answer_in_a_new_cell(made):
    answer = made.cell("dual")["source"]
    made.cell("dual")["source"] = "# below"
    made.insert(answer, before="check-dual")


def format_three(made):
    made.raw = nbformat.writes(nbformat.convert(nbformat.from_dict(made.notebook), 3), version=3).encode()


def other_metadata(made):
    made.notebook["metadata"] |= {"kernelspec": {"name": "course-env", "display_name": "My env", "language": "python"}}
    made.notebook["metadata"]["vscode"] = {"interpreter": {"hash": "0" * 64}}
    for cell in made.cells:
        cell["metadata"] |= {"collapsed": True, "ExecuteTime": {"end_time": "2027-01-01"}, "scrolled": True}


def data_beside(made):
    made.files["notes.csv"] = b"a,b\n1,2\n"
    made.files[".ipynb_checkpoints/dual-representation-checkpoint.ipynb"] = json.dumps(made.notebook).encode()


def colab(made):
    """Save it as Google's notebooks do: in an old format, with the cells' ids in their metadata."""
    made.notebook["nbformat_minor"] = 0
    made.notebook["metadata"] = {"colab": {"provenance": []}, "kernelspec": {"name": "python3", "display_name": "3"}}
    for number, cell in enumerate(made.cells):
        cell.pop("id")
        cell["metadata"] |= {"id": f"Xy{number}", "colab": {"base_uri": "https://localhost:8080/"}, "outputId": "0"}


def vscode(made):
    made.notebook["metadata"] = {"language_info": {"name": "python"}, "orig_nbformat": 4, "vscode": {"interpreter": {}}}
    made.notebook["nbformat_minor"] = 2
    for cell in made.cells:
        cell.pop("id")
        cell["metadata"]["vscode"] = {"languageId": "python"}


def without_metadata(made):
    """Save it as some editors do: without any identifiers of the cells."""
    made.notebook["nbformat_minor"] = 2
    for cell in made.cells:
        cell.pop("id")
        cell["metadata"] = {}


def without_metadata_but_ids(made):
    for cell in made.cells:
        cell["metadata"] = {}


def utf_16(made):
    made.raw = json.dumps(made.notebook, ensure_ascii=False).encode("utf-16")


def all_in_one_cell(made):
    made.cell("kernel")["source"] = "\n\n".join(made.cell(name)["source"] for name in RIGHT)
    for name in list(RIGHT)[1:]:
        made.cells.remove(made.cell(name))


EDITS = [
    colab,
    vscode,
    without_metadata,
    without_metadata_but_ids,
    utf_16,
    all_in_one_cell,
    line_ends,
    byte_order_mark,
    out_of_order,
    with_outputs,
    without_ids,
    source_as_lines,
    more_text,
    answer_in_a_new_cell,
    format_three,
    other_metadata,
    data_beside,
]


def mixture(number):
    """The names of the parts of a submission: every extra cell appears once, everything else at least once."""
    parts = (KERNELS, DUALS, CLAIMS, CELLS, EDITS)
    return [list(part)[number % len(part)] for part in parts]


STUDENTS = range(max(map(len, (KERNELS, DUALS, CLAIMS, CELLS, EDITS))))


def grade_them(folder):
    with classroom(folder, HERE) as room:
        for number in STUDENTS:
            kernel, dual, claim, cell, edit = mixture(number)
            answers = {"kernel": KERNELS[kernel], "dual": DUALS[dual], "not-a-kernel": CLAIMS[claim]}
            submission = honest(room.released, answers)
            submission.insert(CELLS[cell])
            edit(submission)
            room.submit({f"student-{number}": submission})
        room.grade()
        return room.scores()


@pytest.fixture(scope="module")
def scores(tmp_path_factory):
    return once(tmp_path_factory, "honest", grade_them)


@pytest.mark.parametrize("number", STUDENTS)
def test_full_marks(scores, number):
    assert scores[f"student-{number}"] == POINTS, mixture(number)
