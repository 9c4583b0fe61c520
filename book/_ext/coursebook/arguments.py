r"""What a public name takes, returns and refuses, read from its signature, its checks and its comments.

The library checks its arguments with a few functions, `points`, `square`, `vector`, `real`, `whole` and so on, and a
name such as `K` or `ridge` means the same everywhere. So the type and the default come from the signature, the limits
from the checks in the source, and the meaning from the table below.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
import textwrap
from functools import cache
from typing import Any, NamedTuple

from kernelcourse.kernels.vectors import Stationary

MEANINGS = {
    "A": "(n, k): one column of weights per class",
    "Bilinear.A": "(d, d): a symmetric positive semidefinite matrix",
    "C": "the factor in front of the sum of the losses",
    "D": "(m, n): distances from m test points to n training points",
    "K": "(n, n): the Gram matrix, symmetric and positive semidefinite",
    "is_psd.K": "(n, n): the matrix to test, symmetric",
    "gram_heatmap.K": "(n, n): the Gram matrix",
    "Verdict.K": "(m, m): the matrix of the counterexample",
    "center.K": "(n, n), or (m, n) between test and training points: see `K_train`",
    "centre.K": "(n, n), or (m, n) between test and training points: see `K_train`",
    "K_test": "(m, n): the kernel between m test points and n training points",
    "K_train": "(n, n): the Gram matrix of the training points, if K belongs to test points",
    "L": "(n, n): the other Gram matrix",
    "P": "(n, k): one row of probabilities per point",
    "Phi": "(n, M): the design matrix, one row of features per point",
    "W": "(k, d): one row of weights per perceptron",
    "Layer.W": "(inputs, outputs): the weights",
    "Network.activation": '"tanh", "relu" or "sigmoid": the function after each hidden layer',
    "X": "(n, d): one point per row",
    "Y": "(n, k): the targets, one row per point",
    "Z": "(n, k): the scores, one row per point",
    "leverage_scores.Z": "(m, d): the landmarks",
    "LandmarkFeatures.Z": "(m, d), or m objects: the landmarks",
    "a": "(n,): the dual weights",
    "activation": '"tanh", "relu" or "sigmoid": the function after each hidden layer',
    "alpha": "(n,): the dual weights, one per point",
    "RationalQuadratic.alpha": "the spread of the widths",
    "alpha0": "(n,): where to start",
    "alphabet": "the symbols that may occur; if given, the features are finite",
    "arrows": "pairs of names, or triples whose third entry is written beside the arrow",
    "averaged": "whether the answer is the mean over the steps",
    "ax": "the matplotlib axes to draw on",
    "b": "the offset",
    "Layer.b": "(outputs,): the offsets",
    "batch_size": "points per step",
    "bayes": "the function whose sign gives the best boundary, which is drawn too",
    "boxes": "(x, y) or (x, y, text), by name",
    "c": "(n,): the coefficients",
    "Constant.c": "the value of the kernel",
    "novikoff_bound.c": "(n,): the coefficients of a function that separates the classes",
    "cells": "squares per side",
    "centers": "(M,): the centres of the basis functions",
    "coefficients": "one per power, starting with the constant",
    "colorbar": "whether to draw the scale",
    "d": "the number of inputs",
    "Subsequence.decay": "the factor for every place from the first symbol to the last",
    "Hamming.decay": "the factor for every position that differs",
    "degree": "the highest degree",
    "depth": "rounds",
    "ell": "the number of points",
    "epochs": "passes over the points",
    "estimator": "the model, which is copied and not changed",
    "f": "(n,): the values of the function at the points",
    "features": "a feature map, such as `LandmarkFeatures` or the result of `random_fourier`",
    "folds": "pairs of training and held-out indices, as returned by `k_fold`",
    "frequencies": "the frequencies",
    "gamma": "the factor in front of the squared norm, which is added to the mean of the losses",
    "gap": "the relative duality gap at which to stop",
    "grams": "Gram matrices (n, n), one per kernel",
    "grid_search.grid": "the values to try, by the parameter's name",
    "held_out": "the fraction to hold out",
    "hidden": "units of each hidden layer",
    "idf": "the weights, by word",
    "iterations": "the number of steps",
    "k": "the number of folds",
    "is_valid_kernel.k": "a kernel, or a function of two points or of two arrays of points",
    "k_test": "(m,): the values k(x, x) of the test points",
    "k_train": "(n,): the values k(x, x) of the training points",
    "kappa": "the number of neighbours",
    "kernel": "the kernel",
    "kernels": "the kernels to choose from",
    "labels": "(n,): classes, numbered from 0",
    "vote.labels": "(m, kappa): the labels of the neighbours, the nearest first",
    "lam": "the factor in front of the squared norm, which is added to the mean of the losses",
    "landmarks": 'how they are chosen: "uniform", "kmeans++" or "leverage"',
    "larger_is_better": "whether the metric is a score; by default only the estimator's own is",
    "layers": "the layers, from the inputs to the outputs",
    "legend": "whether to draw the legend",
    "length": "the distance over which the kernel falls",
    "loss": "a function for the loss and its gradient: `squared_error` or `softmax_cross_entropy`",
    "m": "the number of features",
    "uniform_landmarks.m": "the number of landmarks",
    "kmeans_landmarks.m": "the number of landmarks",
    "leverage_landmarks.m": "the number of landmarks",
    "margins": "whether to draw the lines where f is -1 and +1",
    "max_epochs": "the largest number of passes over the points",
    "max_iterations": "the largest number of iterations",
    "max_passes": "the largest number of passes over the points",
    "max_products": "the largest number of multiplications by K",
    "max_steps": "the largest number of steps",
    "memory": "the bytes that a block of rows may take",
    "metric": "a function of targets and predictions; by default the estimator's own score",
    "model": "a fitted estimator",
    "momentum": "the share of the last step that is added to the next",
    "multiclass": '"ovo", one problem per pair of classes, or "ovr", each class against the rest',
    "n": "the number of points",
    "slope.n": "(r,): the sizes",
    "loglog_times.n": "(r,): the sizes",
    "n_classes": "the number of classes; by default one more than the largest label",
    "network": "the network",
    "noise": "the standard deviation of the noise",
    "nu": "how smooth the functions are",
    "offset": '"none", "penalised" or "free"',
    "options": "arguments of matplotlib's `Axes.annotate`",
    "Polynomial.offset": "what is added to the inner product",
    "monomials.offset": "what is added to the inner product",
    "order": "(n,): the order of rows and columns",
    "overwrite_K": "whether K may be overwritten to save memory",
    "p": "the highest degree",
    "parametric": "the kernel of the part with few parameters",
    "path": "the file",
    "period": "the distance after which the function repeats",
    "phi": "the feature map, from n points to (n, M)",
    "prediction": "(n,): the predictions",
    "repeats": "the number of repetitions",
    "resolution": "points per side of the grid",
    "ridge": "what is added to the diagonal of K",
    "primal_weights.ridge": "what is added to the diagonal of the normal equations",
    "sgd.ridge": "n times the factor in front of half the squared weights",
    "ridges": "the values of `ridge` to try",
    "rng": "a seed or a generator",
    "sample": "the number of points to examine",
    "is_valid_kernel.sample": "points to choose from, or a function `sample(n, rng)` that draws n",
    "seconds": "(r,): the times",
    "loglog_times.seconds": "the times, (r,) for each method by name",
    "shuffle": "whether each epoch has its own order",
    "sigma": "the width",
    "size": "the length of the substrings",
    "sizes": "units per layer, from the inputs to the outputs",
    "state": '"on", "off" or "always": whether the fast twins are used',
    "step": "the step size",
    "steps": "the number of steps",
    "t": "(n,): the targets",
    "target": "the column that becomes the target",
    "text": "the text",
    "tol": "the accuracy at which to stop",
    "is_psd.tol": "how far below 0 rounding may move an eigenvalue",
    "is_valid_kernel.tol": "how far below 0 rounding may move a value",
    "trials": "how many matrices to try",
    "universe": "all elements; if given, the features are finite",
    "v": "(k,): the weight of each perceptron's vote",
    "vocabulary": "the words that count; if given, the features are finite",
    "w": "(M,): the weights of the features",
    "width": "the width of each function",
    "x": "(n,): points on a line",
    "y": "(n,): the labels",
    "regularization_network.y": "(n,): the targets",
    "z": "numbers, in an array of any shape",
}
ALWAYS = {"K", "X", "a", "alpha", "layers", "network", "t", "w", "y"}  # also as fields of results
SIGNED = "-1 or +1"


class Argument(NamedTuple):
    name: str
    default: str  # as in the source, or ""
    kind: str  # "", "by name only"
    meaning: str
    limits: str


class Refusal(NamedTuple):
    error: str
    message: str


def signature(value: Any) -> inspect.Signature | None:
    try:
        return inspect.signature(value)
    except ValueError:  # an exception without its own constructor
        return None


def has_fields(value: Any) -> bool:
    return dataclasses.is_dataclass(value) or hasattr(value, "_fields")


def is_result(value: Any) -> bool:
    """Whether a class is one that functions return and not one that users create."""
    makes = {"Kernel", "Estimator"}
    return inspect.isclass(value) and has_fields(value) and not makes & {base.__name__ for base in value.__mro__}


def arguments(value: Any) -> list[Argument]:
    found = signature(value)
    if found is None or (inspect.isclass(value) and not has_fields(value)):
        return []  # an abstract class, or an exception
    limits = checks(value)
    return [
        Argument(
            name=parameter.name,
            default="" if parameter.default is parameter.empty else shown_default(parameter.default),
            kind="by name only" if parameter.kind is parameter.KEYWORD_ONLY and inspect.isfunction(value) else "",
            meaning=meaning(value, parameter.name),
            limits=limits.get(parameter.name, ""),
        )
        for parameter in found.parameters.values()
    ]


def meaning(value: Any, name: str) -> str:
    return MEANINGS.get(f"{value.__name__}.{name}") or MEANINGS.get(name, "")


def shown_default(value: Any) -> str:
    """A default as it would be typed: a function by its name, a large number as a power.

    >>> shown_default(2**27), shown_default(1e-06), shown_default("none")
    ('2**27', '1e-06', "'none'")
    """
    if inspect.isfunction(value) or inspect.isclass(value):
        return value.__name__
    if isinstance(value, int) and not isinstance(value, bool) and value > 1 << 16 and value & (value - 1) == 0:
        return f"2**{value.bit_length() - 1}"
    return "..." if repr(value).startswith("<") else repr(value)


# -------------------------------------------------------------------------------------------------------- checks


@cache
def parsed(value: Any) -> ast.AST:
    value = inspect.unwrap(value)
    return ast.parse(textwrap.dedent(inspect.getsource(value))).body[0]


def checks(value: Any) -> dict[str, str]:
    """The limits of the arguments by name, from the checks in the body, or in helpers that get the same arguments."""
    tree = parsed(value)
    functions = [tree]
    if isinstance(tree, ast.ClassDef):
        functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    module = inspect.getmodule(inspect.unwrap(value))
    found: dict[str, str] = {}
    for function in functions:
        found = {**_checks_in(function, vars(module), 2), **found}
    if inspect.isclass(value) and issubclass(value, Stationary):  # the base class checks the parameters
        found = {field.name: "a number > 0" for field in dataclasses.fields(value)} | found
    return found


def _checks_in(function: ast.AST, names: dict[str, Any], depth: int) -> dict[str, str]:
    found = {}
    for call in (node for node in ast.walk(function) if isinstance(node, ast.Call)):
        if not isinstance(call.func, ast.Name):
            continue
        given = {index: _argument_name(argument) for index, argument in enumerate(call.args)}
        helper = names.get(call.func.id)
        if call.func.id in LIMITS and given.get(0):
            options = {keyword.arg: ast.unparse(keyword.value) for keyword in call.keywords}
            found[given[0]] = found.get(given[0]) or LIMITS[call.func.id](options)
        elif depth and inspect.isfunction(helper) and helper.__module__.startswith("kernelcourse."):
            parameters = dict(enumerate(inspect.signature(helper).parameters))
            given |= {keyword.arg: _argument_name(keyword.value) for keyword in call.keywords}
            inner = _checks_in(parsed(helper), vars(inspect.getmodule(inspect.unwrap(helper))), depth - 1)
            for place, name in given.items():
                parameter = parameters.get(place, place)
                if name and parameter in inner:
                    found.setdefault(name, inner[parameter])
    return found


def _argument_name(node: ast.expr) -> str:
    """`ridge` for the expressions `ridge` and `self.ridge`."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _range(options: dict[str, str]) -> str:
    for word, sign in (("above", ">"), ("at_least", "≥")):
        if re.fullmatch(r"[\d.]+", options.get(word, "")):
            return f"{sign} {options[word]}"
    return ""


LIMITS = {
    "real": lambda options: f"a number {_range(options)}".strip(),
    "whole": lambda options: f"a whole number {_range({'at_least': '0', **options})}".strip(),
    "signs": lambda _: SIGNED,
    "zero_one": lambda _: "0 or 1",
    "square": lambda _: "",
    "points": lambda _: "",
    "vector": lambda _: "",
    "numeric": lambda _: "",
}


# ------------------------------------------------------------------------------------------------- raises, returns


def refusals(value: Any) -> list[Refusal]:
    """What the body itself raises, with its message."""
    found = []
    for node in ast.walk(parsed(value)):
        if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name):
            error = node.exc.func.id
            if error in ("NotImplementedError", "AttributeError") or not node.exc.args:
                continue
            if message := _message(node.exc.args[0], value.__name__):
                found.append(Refusal(error, message))
    return list(dict.fromkeys(found))


def _message(node: ast.expr, own_name: str) -> str:
    """A message with dots in place of its values."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if not isinstance(node, ast.JoinedStr):
        return ""
    parts = []
    for part in node.values:
        if isinstance(part, ast.Constant):
            parts.append(part.value)
        else:
            name = ast.unparse(part.value)
            parts.append(own_name if name == "self" else "…")
    return "".join(parts)


def checked(value: Any) -> bool:
    """Whether a function or class checks its arguments and refuses invalid ones."""
    return bool(checks(value))


class Field(NamedTuple):
    name: str
    meaning: str


def fields(value: Any) -> list[Field]:
    """The fields of a named tuple or a dataclass, with the comments beside them."""
    lines = inspect.getsource(value).splitlines()
    own = {}
    for line in lines:
        if found := re.match(r"    (\w+): [^#=]+(?:= [^#]*)?(?:# (.*))?$", line):
            own.setdefault(found[1], found[2] or "")
    known = getattr(value, "_fields", None) or [field.name for field in dataclasses.fields(value)]
    return [Field(name, own.get(name) or field_meaning(value, name)) for name in known]


def field_meaning(value: Any, name: str) -> str:
    """The meaning of a field without a comment: what its name always means."""
    return MEANINGS.get(f"{value.__name__}.{name}") or (MEANINGS[name] if name in ALWAYS else "")


def result(value: Any) -> Any:
    """The class that a function returns, if it is one of the library's tuples or dataclasses; else None."""
    annotation = str(inspect.unwrap(value).__annotations__.get("return", ""))
    found = vars(inspect.getmodule(inspect.unwrap(value))).get(annotation)
    return found if inspect.isclass(found) and has_fields(found) else None


WORDS = {
    "Array": "an array of floats",
    "Labels": "an array of whole numbers",
    "None": "nothing",
    "str": "a text",
    "float": "a number",
    "int": "a whole number",
    "bool": "`True` or `False`",
    "list[Split]": "pairs of index arrays: training points, points held out",
    "Axes": "the matplotlib axes",
}


def result_words(value: Any) -> str:
    annotation = str(inspect.unwrap(value).__annotations__.get("return", ""))
    return WORDS.get(annotation) or (f"`{annotation}`" if annotation and annotation != "Any" else "")


# -------------------------------------------------------------------------------------------------------- source


def source_without_docstring(value: Any) -> str:
    """The definition in the library, without the docstring, which the page already shows."""
    lines, node = textwrap.dedent(inspect.getsource(inspect.unwrap(value))).splitlines(), parsed(value)
    docstring, *rest = node.body
    if rest and ast.get_docstring(node, clean=False) is not None:
        end = docstring.end_lineno
        lines[docstring.lineno - 1 : end + (not lines[end].strip())] = []
    return "\n".join(lines)
