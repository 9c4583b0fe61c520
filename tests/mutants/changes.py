"""The small changes to a module that a test should notice."""

import ast
import copy
import re
from dataclasses import dataclass

COMPARISONS = {  # the boundary moved, or the comparison reversed
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
ARITHMETIC = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
BLOCKS = ("body", "orelse", "handlers", "finalbody", "cases")
UNSEEN = ("annotation", "returns", "type_params")  # for readers and type checkers; without effect
# Keywords that set how a figure looks, that inform people or type checkers, that matter only on other systems or for
# speed, or that assert what holds anyway.
FREE = re.compile(
    "alpha|bbox|bound|colors?|cmap|dpi|edgecolors?|facecolor|figsize|fontsize|framealpha|ha|labelpad|layout|linestyles?|"
    "linewidths?|loc|lw|marker|markersize|pad|s|va|zorder|help|metavar|description|encoding|check_finite|overwrite_.*|"
    "strict|tolerance_reason"
)


@dataclass
class Change:
    """A node in the tree, with another that can replace it."""

    within: str  # the function or class, "" for the module itself
    statement: ast.stmt
    parent: ast.AST
    field: str
    index: int | None
    node: object

    def make(self):
        """Make the change in the tree."""
        if self.index is None:
            setattr(self.parent, self.field, self.node)
        else:
            getattr(self.parent, self.field)[self.index : self.index + 1] = [self.node] if self.node else []

    def texts(self):
        """The statement before and after the change; the tree is restored."""
        before, value = head(self.statement), getattr(self.parent, self.field)
        if self.index is not None:
            setattr(self.parent, self.field, list(value))  # to be changed instead of the first
        self.make()
        after = "pass" if isinstance(self.node, ast.Pass) else head(self.statement)
        setattr(self.parent, self.field, value)
        return before, after


def head(statement):
    """A statement as text, without the blocks below it."""
    bare = copy.copy(statement)
    for name in BLOCKS:
        if hasattr(bare, name):
            setattr(bare, name, [ast.Pass()] if name == "body" else [])
    return ast.unparse(bare).removesuffix("pass").strip()


def changes(tree):
    """Every change to a module, in the order of its source: always the same list for the same source."""
    found = []
    catalogue = any(isinstance(node, ast.Assign) and "PIECES" in ast.unparse(node.targets[0]) for node in tree.body)

    def walk(node, within, statement, examples=False):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            within = f"{within}.{node.name}".lstrip(".")
            examples = examples or (catalogue and deals_out_examples(node))
        if isinstance(node, ast.stmt):
            statement = node
        if not examples or isinstance(node, ast.Compare | ast.BoolOp | ast.If):
            for field, index, new in replacements(node):
                found.append(Change(within, statement, node, field, index, new))
        for field, value in ast.iter_fields(node):
            if field in UNSEEN:
                continue
            for index, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if not isinstance(child, ast.AST) or unseen(child):
                    continue
                if not examples:
                    if isinstance(child, ast.stmt) and does_something(child):
                        found.append(Change(within, child, node, field, index, ast.copy_location(ast.Pass(), child)))
                    for new in instead(child):
                        found.append(Change(within, statement, node, field, index, ast.copy_location(new, child)))
                if not is_message(child):
                    walk(child, within, statement, examples)

    walk(tree, "", None)
    for change in found:
        if change.statement is None:
            change.statement = tree.body[0]
    return found


def instead(node):
    """What can replace an expression."""
    if isinstance(node, ast.Constant):
        if isinstance(node.value, bool):
            yield ast.Constant(not node.value)
        elif isinstance(node.value, int | float) and node.value + 1 != node.value:
            yield ast.Constant(node.value + 1)
            if isinstance(node.value, int) and node.value != 0:
                yield ast.Constant(node.value - 1)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        yield node.operand


def replacements(node):
    """What can replace a part of a node: (field, index in the field or None, new part or None to leave it out)."""
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            for other in COMPARISONS[type(operator)]:
                yield "ops", index, other()
    elif isinstance(node, ast.BinOp | ast.AugAssign) and type(node.op) in ARITHMETIC:
        sides = [getattr(node, side) for side in ("left", "right", "value") if hasattr(node, side)]
        if not any(is_text(side) for side in sides):
            yield "op", None, ARITHMETIC[type(node.op)]()
    elif isinstance(node, ast.BoolOp):
        yield "op", None, ast.Or() if isinstance(node.op, ast.And) else ast.And()
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        if isinstance(node.test, ast.Call | ast.Name | ast.Attribute | ast.NamedExpr):
            yield "test", None, ast.copy_location(ast.UnaryOp(ast.Not(), node.test), node.test)
    elif isinstance(node, ast.comprehension):
        for index, test in enumerate(node.ifs):
            if not isinstance(test, ast.Compare | ast.BoolOp | ast.UnaryOp):
                yield "ifs", index, ast.copy_location(ast.UnaryOp(ast.Not(), test), test)
    elif isinstance(node, ast.Call):
        for index, keyword in enumerate(node.keywords):
            if keyword.arg and not FREE.fullmatch(keyword.arg):
                yield "keywords", index, None
    elif isinstance(node, ast.Return) and node.value is not None:
        if not (isinstance(node.value, ast.Constant) and (node.value.value is None or node.value.value is False)):
            yield "value", None, ast.copy_location(ast.Constant(None), node.value)
        if isinstance(node.value, ast.BinOp) and not is_text(node.value.left):
            yield "value", None, ast.copy_location(ast.UnaryOp(ast.USub(), node.value), node.value)


def does_something(statement):
    """Whether a program without the statement may still run."""
    if isinstance(statement, ast.Assign):
        return not all(isinstance(target, ast.Name | ast.Tuple) for target in statement.targets)
    if isinstance(statement, ast.Raise):
        return "NotImplementedError" not in ast.unparse(statement)
    return isinstance(statement, ast.Expr | ast.AugAssign | ast.Continue | ast.Break | ast.Delete)


def unseen(node):
    """Whether no test should notice it: docstrings, what only type checkers read, messages, and how figures look."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test) in ("TYPE_CHECKING", "__name__ == '__main__'")
    if isinstance(node, ast.FunctionDef):
        return any("overload" in ast.unparse(decorator) for decorator in node.decorator_list)
    if isinstance(node, ast.keyword):
        return bool(node.arg and FREE.fullmatch(node.arg))
    is_docstring = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)  # or three dots
    return is_docstring or isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom)


def deals_out_examples(node):
    """In a catalogue of exercises, a function that takes `rng` or nothing produces examples: others are no worse."""
    if not isinstance(node, ast.FunctionDef):
        return False
    names = [argument.arg for argument in node.args.args]
    return "rng" in names or not names


def is_message(node):
    """An error or a warning: it must occur, but its wording is free."""
    return isinstance(node, ast.Raise) or (isinstance(node, ast.Call) and ast.unparse(node.func).endswith("warn"))


def is_text(node):
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))
