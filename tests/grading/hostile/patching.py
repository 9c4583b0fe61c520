"""Python's, numpy's, Jupyter's and our own functions, replaced by others."""

from __future__ import annotations

from .submission import Attack, returning

ATTACKS = [
    Attack(
        "builtins",
        "makes `enumerate` yield nothing whenever our checks count mistakes",
        """
import builtins, sys
original = builtins.enumerate
def nothing(*args, **options):
    judging = sys._getframe(1).f_globals.get("__name__", "").endswith("checking.piece")
    return [] if judging else original(*args, **options)
builtins.enumerate = nothing
""",
    ),
    Attack(
        "numpy-functions",
        "makes numpy find everything close and equal",
        """
import sys
import numpy as np
def polite(original, answer):
    def function(*args, **options):
        judging = "checking" in sys._getframe(1).f_globals.get("__name__", "")
        return answer if judging else original(*args, **options)
    return function
for name in ("allclose", "array_equal", "isclose", "array_equiv", "isfinite"):
    setattr(np, name, polite(getattr(np, name), np.bool_(True)))
for name in ("abs", "max", "subtract"):
    setattr(np, name, polite(getattr(np, name), np.float64(0.0)))
""",
    ),
    Attack(
        "check-functions",
        "replaces the judgement of our checks",
        """
import kernelcourse.checking as checking
from kernelcourse.checking import comparing, piece
comparing.difference = piece.difference = lambda *args: ""
piece.Piece._problem = lambda *args: ""
def examine(self, function, rng, hidden=False):
    return piece.Result(self.name, self.points, 1)
piece.Claim.examine = piece.Piece.examine = examine
""",
    ),
    Attack(
        "check-object",
        "rewrites the object `check`",
        """
def everything_right(self=None, **answers):
    return None
for owner in (type(check), check):
    for name in ("__call__", "hidden", "_judge"):
        try:
            setattr(owner, name, everything_right)
        except (AttributeError, TypeError):
            pass
check = everything_right
check.hidden = everything_right
""",
    ),
    Attack(
        "check-module",
        "replaces our checks by a module of its own",
        """
import sys, types
fake = types.ModuleType("kernelcourse.checking")
fake.__getattr__ = lambda name: (lambda *args, **options: None)
for name in list(sys.modules):
    if name.startswith("kernelcourse"):
        sys.modules[name] = fake
""",
    ),
    Attack(
        "input-transformer",
        "turns every cell with a check into `pass` before it is read",
        """
get_ipython().input_transformers_cleanup.append(
    lambda lines: ["pass\\n"] if any("check" in line for line in lines) else lines)
""",
    ),
    Attack(
        "ast-transformer",
        "removes calls of `check` from the syntax tree",
        """
import ast
class NoChecks(ast.NodeTransformer):
    def visit_Expr(self, node):
        return ast.copy_location(ast.Pass(), node) if "check" in ast.dump(node) else node
get_ipython().ast_transformers.append(NoChecks())
""",
    ),
    Attack(
        "run-cell",
        "replaces the shell's way of running a cell",
        """
shell = get_ipython()
def quiet(self, original=type(shell).run_cell):
    return lambda code, *args, **options: original(self, "None" if "check" in code else code, *args, **options)
shell.run_cell = quiet(shell)
original_async = type(shell).run_cell_async
async def run_cell_async(raw_cell, *args, **options):
    return await original_async(shell, "None" if "check" in raw_cell else raw_cell, *args, **options)
shell.run_cell_async = run_cell_async
""",
    ),
    Attack(
        "kernel-execute",
        "answers execution requests with success",
        """
kernel = getattr(get_ipython(), "kernel", None)
async def do_execute(code, *args, **options):
    return {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}
if kernel is not None:
    original = kernel.do_execute
    async def polite(code, *args, **options):
        return await (do_execute if "check" in code else original)(code, *args, **options)
    kernel.do_execute = polite
""",
    ),
    Attack(
        "kernel-send",
        "drops every error message that the kernel wants to send",
        """
kernel = getattr(get_ipython(), "kernel", None)
if kernel is not None:
    send = kernel.session.send
    def no_errors(stream, kind, content=None, *args, **options):
        name = kind.get("msg_type") if isinstance(kind, dict) else kind
        if name == "execute_reply":
            content = {"status": "ok", "execution_count": 1, "payload": [], "user_expressions": {}}
        return None if name == "error" else send(stream, kind, content, *args, **options)
    kernel.session.send = no_errors
""",
    ),
    Attack(
        "clear-output",
        "clears the output after every cell",
        """
from IPython.display import clear_output
def tidy(result):
    result.error_in_exec = result.error_before_exec = None
    clear_output()
get_ipython().events.register("post_run_cell", tidy)
""",
    ),
    Attack(
        "error-handler",
        "handles all errors itself",
        """
shell = get_ipython()
shell.showtraceback = shell._showtraceback = lambda *args, **options: None
async def run_code(code, result=None, *, async_=False):
    try:
        exec(code, shell.user_global_ns, shell.user_ns)
    except BaseException:
        pass
    return False
shell.run_code = run_code
""",
    ),
    Attack(
        "forged-display",
        "publishes records of passed checks, and a number as its result",
        """
import sys
from IPython.display import display
record = {"piece": "dual_weights", "points": 2, "earned": 2, "problem": "", "hint": "", "mistake": ""}
def boast(result=None):
    display({"text/plain": "4"}, raw=True, metadata={"kernelcourse": [record]})
get_ipython().events.register("post_run_cell", boast)
sys.displayhook = lambda value: boast()
""",
    ),
    Attack(
        "json-and-arrays",
        "changes how answers are encoded when they are sent",
        """
import json, builtins
encode = json.JSONEncoder.encode
json.JSONEncoder.encode = lambda self, value: encode(self, value).replace("false", "true")
json.dumps = lambda value, *args, **options: json.JSONEncoder().encode(value)
""",
        hurts_itself=True,
    ),
    Attack(
        "time",
        "stops the clocks",
        """
import time, datetime
for name in ("time", "monotonic", "perf_counter", "process_time", "time_ns", "monotonic_ns"):
    setattr(time, name, lambda: 0)
""",
    ),
    Attack(
        "trace",
        "traces every call and changes what functions return",
        """
import sys, threading
def watch(frame, event, argument):
    if "want" in frame.f_locals:
        globals()["stolen"] = frame.f_locals["want"]
    if frame.f_code.co_name in ("difference", "_problem", "_same"):
        frame.f_locals["return"] = ""
    return watch
sys.settrace(watch)
threading.settrace(watch)
""",
        returning("globals().get('stolen', 0.0)"),
    ),
    Attack(
        "frames",
        "looks for the reference in the frames of its callers",
        answers={
            "dual": """
import sys
def look(*args):
    frame = sys._getframe()
    while frame is not None:
        for value in list(frame.f_locals.values()):
            reference = getattr(value, "reference", None)
            if callable(reference):
                try:
                    return reference(*args)
                except Exception:
                    pass
        frame = frame.f_back
    return 0.0
gram_matrix = dual_weights = predict = look
"""
        },
    ),
    Attack(
        "garbage",
        "looks for the reference among all objects in memory",
        answers={
            "dual": """
import gc
def search(name):
    def answer(*args):
        for thing in gc.get_objects():
            if type(thing).__name__ == "Piece" and getattr(thing, "name", "") == name:
                return thing.reference(*args)
        return 0.0
    return answer
gram_matrix, dual_weights, predict = map(search, ("gram_matrix", "dual_weights", "predict"))
"""
        },
    ),
    Attack(
        "random-numbers",
        "replaces numpy's generators, so that all cases are the same",
        """
import numpy as np
np.random.default_rng = lambda seed=None, make=np.random.default_rng: make(0)
np.random.seed(0)
np.random.Generator = None
""",
    ),
    Attack(
        "namespace",
        "fills the namespace with names that the grader may use",
        """
for name in ("piece", "call", "outcome", "examine", "reference", "PIECES", "Case", "want", "json", "hidden", "result"):
    globals()[name] = lambda *args, **options: True
__name__ = "kernelcourse.checking"
""",
    ),
]
