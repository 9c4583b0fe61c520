"""What an answer returns or raises: things that lie about themselves, never end, or are too large to examine."""

from __future__ import annotations

from .submission import RIGHT, Attack


def returning(
    *, gram_matrix: str, dual_weights: str, predict: str, not_a_kernel: str = "None", before: str = ""
) -> dict:
    """Answers that return these expressions."""
    bodies = {"gram_matrix": gram_matrix, "dual_weights": dual_weights, "predict": predict}
    functions = [f"def {name}(*args):\n    return {body}\n" for name, body in bodies.items()]
    return {
        "dual": "\n".join([before, *functions]),
        "not-a-kernel": f"def not_a_kernel():\n    return {not_a_kernel}\n",
    }


LIES = """
class Lies:
    def yes(self, *args, **options):
        return True
    __eq__ = __ge__ = __le__ = __bool__ = __contains__ = __instancecheck__ = yes
    __ne__ = __lt__ = __gt__ = lambda self, other: False
    __hash__ = None
    def zero(self, *args):
        return 0.0
    __sub__ = __rsub__ = __abs__ = __float__ = zero

class Array(Lies, np.ndarray):
    def __array_ufunc__(self, function, method, *inputs, **options):
        return np.float64(0.0) if function is not np.isfinite else np.bool_(True)
    def __array_function__(self, function, types, args, options):
        return True

class Thing(Lies):
    __class__ = np.ndarray
    __array_priority__ = 1e9
    shape, ndim, size, dtype = (3, 3), 2, 9, np.dtype(float)
    def __array__(self, dtype=None, copy=None):
        return np.zeros(1)
    def __len__(self):
        return 3
    def __iter__(self):
        return iter([0.0] * 3)
    def __getattr__(self, name):
        return lambda *args, **options: self

class Number(Lies, float):
    pass
"""
OUTCOME = """
class Function:
    def __call__(self, *args):
        return 0.0
    def outcome(self, *args, **options):
        return {"value": 1.0, "error": None, "changed": [], "library_calls": [], "printed": "", "ok": True}
    examine = call = run = judge = try_on = reference = result = hidden = outcome
    def __getattr__(self, name):
        return self.outcome

gram_matrix, dual_weights, predict = Function(), Function(), Function()
"""

ATTACKS = [
    Attack(
        "array-subclass",
        "returns arrays of a class of its own that equal everything",
        answers=returning(
            gram_matrix="np.zeros((len(args[0]),) * 2).view(Array)",
            dual_weights="np.zeros(len(args[1])).view(Array)",
            predict="np.zeros(len(args[0])).view(Array)",
            not_a_kernel="np.zeros((3, 1)).view(Array), np.zeros(3).view(Array)",
            before=LIES,
        ),
    ),
    Attack(
        "lying-objects",
        "returns objects that claim to be arrays or numbers, and equal everything",
        answers=returning(
            gram_matrix="Thing()",
            dual_weights="[Number(i) for i in args[1]]",
            predict="np.array([Thing() for _ in args[0]], dtype=object)",
            not_a_kernel="Thing(), Thing()",
            before=LIES,
        ),
    ),
    Attack(
        "no-numbers",
        "returns NaN, infinity and arrays with fields",
        answers=returning(
            gram_matrix="np.full((len(args[0]),) * 2, np.nan)",
            dual_weights="np.full(len(args[1]), np.inf)",
            predict="np.zeros(len(args[0]), dtype=[('a', float), ('b', 'O')])",
            not_a_kernel="np.array([[0.0], [np.inf], [np.nan]]), np.full(3, np.nan)",
        ),
    ),
    Attack(
        "scalars",
        "gives a number, a module or a coroutine instead of a matrix",
        answers={
            "dual": """
gram_matrix = lambda Phi: 1.0
dual_weights = np
async def predict(K_test, a):
    return K_test @ a
""",
            "not-a-kernel": "not_a_kernel = 5",
        },
    ),
    Attack(
        "too-large",
        "returns a trillion zeros in 8 bytes, 2 GB of text, and a number with ten million digits",
        answers=returning(
            gram_matrix="np.broadcast_to(0.0, (10**6, 10**6))",
            dual_weights="'x' * (2 * 10**9)",
            predict="10 ** 10_000_000",
            not_a_kernel="[0.0] * 10**7, range(10**12)",
        ),
        endless=True,
    ),
    Attack(
        "too-deep",
        "returns deeply nested lists, a list that contains itself, and an endless iterator",
        answers=returning(
            gram_matrix="nested",
            dual_weights="ring",
            predict="iter(int, 1)",
            not_a_kernel="{1: 0, '1': 0, (1,): 0, 'value': 1, 'error': None, None: 2}",
            before="nested, ring = [], []\nfor _ in range(100_000):\n    nested = [nested]\nring.append(ring)\n",
        ),
    ),
    Attack(
        "own-outcome",
        "gives its functions the methods of the grader's stand-ins",
        answers={"dual": OUTCOME},
    ),
    Attack(
        "first-calls",
        "is right only the first three times it is called",
        answers={
            "dual": RIGHT["dual"].replace("return", "return 0.0 if late() else")
            + "\ncalls = 0\ndef late():\n    global calls\n    calls += 1\n    return calls > 3\n"
        },
    ),
    Attack(
        "writes-arguments",
        "overwrites its arguments, so that a reference computed from them agrees",
        answers={
            "dual": """
def gram_matrix(*args):
    for arg in args:
        if isinstance(arg, np.ndarray):
            arg.flags.writeable = True
            arg[...] = 0
    return np.zeros_like(args[0], dtype=float)

dual_weights = predict = gram_matrix
"""
        },
    ),
    Attack(
        "raises",
        "raises what ordinary handlers do not catch, and an error with a message of 100 MB",
        answers={
            "dual": """
def gram_matrix(Phi):
    raise KeyboardInterrupt
def dual_weights(K, t, lam):
    raise SystemExit(0)
class Worse(BaseException):
    __name__ = "W" * 1_000_000
    def __str__(self):
        return "x" * 100_000_000
def predict(K_test, a):
    raise Worse
"""
        },
    ),
    Attack(
        "last-words",
        "returns objects that act when they are garbage-collected",
        answers=returning(
            gram_matrix="Ghost()",
            dual_weights="[Ghost()]",
            predict="np.array(Ghost())",
            before="""
class Ghost:
    def __del__(self):
        for name in list(globals()):
            if "check" in name:
                globals()[name] = print
        raise SystemExit
""",
        ),
    ),
    Attack(
        "swap-in-the-background",
        "swaps its functions from a thread while they are tested",
        """
import threading, time
def exchange():
    while True:
        for answer in (lambda *args: 0.0, lambda *args: None):
            for name in ("gram_matrix", "dual_weights", "predict"):
                globals()[name] = answer
            time.sleep(0.001)
threading.Thread(target=exchange, daemon=True).start()
""",
    ),
]
