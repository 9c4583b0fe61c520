"""Where the book explains a piece: links to the published book, or to a build on this machine.

The address of the published book is in the environment variable KERNELCOURSE_BOOK, which the first cell of a released
notebook sets (`c.StudentCopy.book` in nbgrader_config.py). Without it, links lead to a build in `_build/html` above the
notebook; without either there are no links.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path

VARIABLE = "KERNELCOURSE_BOOK"
BUILD = Path("_build", "html")

# The pages, by the prefix of their equations' labels: `eq-dual-gram` is on the page `dual`.
PAGES = {
    "two-ways": ("introduction/two-ways", "Two ways to predict"),
    "dual": ("dual/representation", "The dual representation"),
    "algorithm": ("dual/algorithm", "The algorithm from both ends"),
    "definition": ("kernels/definition", "What is a kernel?"),
    "features": ("kernels/features", "From features to kernels, and back"),
    "rules": ("kernels/rules", "Rules that build new kernels"),
    "gaussian": ("kernels/gaussian", "The Gaussian kernel"),
    "objects": ("kernels/objects", "Kernels on sets, strings, texts and graphs"),
    "recipe": ("trick/recipe", "A recipe for kernelising an algorithm"),
    "perceptron": ("trick/perceptron", "The perceptron"),
    "neighbours": ("trick/neighbours", "Nearest neighbours"),
    "ridge": ("trick/ridge", "Kernel ridge regression"),
    "logistic": ("trick/logistic", "Kernel logistic regression"),
    "svm": ("trick/svm", "The support vector machine"),
    "representer": ("representer/theorem", "The representer theorem"),
    "networks": ("representer/networks", "Regularization networks"),
    "semi": ("representer/semiparametric", "Semi-parametric models"),
    "times": ("times/running-times", "Running times"),
    "beyond": ("times/beyond", "Beyond n²"),
    "validation": ("choosing/validation", "Validation"),
    "leave-one-out": ("choosing/leave-one-out", "Leave-one-out"),
    "overfitting": ("choosing/overfitting", "Learned kernels and overfitting"),
    "chimeras": ("choosing/chimeras", "Designing proteins: P450 chimeras"),
    "mlp": ("networks/mlp", "Multilayer perceptrons"),
    "graphs": ("networks/graphs", "Computational graphs"),
    "learned": ("networks/learned-features", "Learned features, learned kernels"),
}

# For each catalogue: the page that explains its pieces, the pieces that another page or a single equation explains
# better, and the equations that its hints cite.
PLACES: dict[str, tuple[str, dict[str, str], dict[int, str]]] = {
    "dual_representation": (
        "dual",
        {
            "kernel": "eq-two-ways-kernel",
            "objective": "eq-dual-primal-objective",
            "gradient": "eq-dual-primal-gradient",
            "primal_weights": "eq-dual-primal-solution",
            "dual_from_primal": "eq-dual-span",
            "primal_from_dual": "eq-dual-span",
            "dual_objective": "eq-dual-objective",
            "gram_matrix": "eq-dual-gram",
            "dual_weights": "eq-dual-solution",
            "predict": "eq-dual-prediction",
            "multiplications": "eq-dual-costs",
            "dual_pays": "eq-dual-costs",
            "kernel_regression": "algorithm",
            "not_a_kernel": "definition",
        },
        {
            1: "eq-two-ways-kernel",
            2: "eq-dual-primal-objective",
            3: "eq-dual-primal-gradient",
            5: "eq-dual-primal-solution",
            6: "eq-dual-span",
            8: "eq-dual-objective",
            9: "eq-dual-gram",
            10: "eq-dual-solution",
            11: "eq-dual-prediction",
        },
    ),
    "constructing_kernels": (
        "rules",
        {
            "polynomial_features": "eq-features-bases",
            "square_features": "eq-features-square",
            "gaussian": "eq-gaussian-kernel",
            "laplacian": "eq-gaussian-laplacian",
            "is_psd": "definition",
            "product_features": "eq-rules-product",
            "gaussian_by_rules": "eq-rules-gaussian",
            "season_kernel": "eq-rules-periodic",
            "subset_features": "eq-objects-subset",
            "spectrum": "eq-objects-spectrum",
        },
        {14: "eq-features-square", 16: "eq-rules-gaussian", 17: "eq-rules-gaussian", 18: "eq-objects-subset"},
    ),
    "perceptron_and_neighbours": (
        "perceptron",
        {
            "scores": "eq-perceptron-score",
            "kernel_perceptron": "eq-perceptron-update",
            "squared_distances": "eq-neighbours-distance",
            "nearest": "neighbours",
            "vote": "neighbours",
            "soft_label": "eq-neighbours-soft",
        },
        {},
    ),
    "kernel_ridge": (
        "ridge",
        {
            "centred": "eq-ridge-centre",
            "ridge_predict": "eq-ridge-normal",
            "dual_ridge": "eq-ridge-verify",
            "mean_risk_weights": "eq-ridge-mean-solution",
            "mean_risk_linear": "eq-ridge-mean",
            "monomial_count": "features",
            "polynomial_kernel": "eq-features-monomials",
            "monomial_weight": "eq-features-monomials",
            "monomial_features": "eq-features-monomials",
            "gaussian_features": "eq-gaussian-features",
            "testing_costs": "eq-times-testing",
            "primal_testing_pays": "eq-times-testing",
        },
        {},
    ),
    "kernel_logistic_regression": (
        "logistic",
        {
            "logistic": "eq-logistic-s",
            "objective": "eq-logistic-objective",
            "primal_step": "eq-logistic-primal-step",
            "dual_step": "eq-logistic-dual-step",
            "train": "eq-logistic-dual-step",
            "sgd": "eq-logistic-q",
        },
        {1: "eq-logistic-s", 2: "eq-logistic-objective", 3: "eq-logistic-primal-step", 4: "eq-logistic-q"},
    ),
    "support_vector_machines": (
        "svm",
        {
            "hinge_losses": "eq-svm-primal",
            "objective": "eq-svm-objective",
            "classify": "eq-svm-span",
            "coordinate_step": "eq-svm-step",
            "train": "eq-svm-step",
            "gap": "eq-svm-gap",
        },
        {1: "eq-svm-span", 2: "eq-svm-objective", 3: "eq-svm-dual", 4: "eq-svm-step"},
    ),
    "representer_theorem": (
        "representer",
        {
            "inner_product": "eq-representer-inner",
            "norm": "eq-representer-inner",
            "project": "eq-representer-projection",
            "rest": "eq-representer-projection",
            "fit_with_offset": "eq-representer-offset",
            "network": "eq-networks-system",
            "descend": "eq-networks-descent",
        },
        {
            1: "eq-representer-inner",
            2: "eq-representer-risk",
            3: "eq-representer-projection",
            4: "eq-representer-offset",
            5: "eq-networks-risk",
            6: "eq-networks-descent",
        },
    ),
    "running_times": (
        "times",
        {"perceptron_evaluations": "eq-perceptron-cost", "slower_than_claimed": "eq-perceptron-cost"},
        {},
    ),
    "choosing_kernels": (
        "validation",
        {
            "leave_one_out": "leave-one-out",
            "parts": "eq-semi-split",
            "pair_kernel": "chimeras",
            "alignments": "overfitting",
        },
        {},
    ),
    "kernels_to_networks": (
        "mlp",
        {
            "pool": "eq-mlp-pool",
            "xor_network": "eq-mlp-and",
            "softmax": "eq-graphs-softmax",
            "cross_entropy": "eq-graphs-softmax",
            "forward": "eq-mlp-tanh",
            "backward": "eq-graphs-backward",
            "learned_kernel": "eq-learned-kernel",
            "stuck": "graphs",
        },
        {},
    ),
    "beyond_n_squared": (
        "beyond",
        {"nystrom_weights": "eq-beyond-nystrom", "fourier_features": "eq-beyond-fourier"},
        {},
    ),
}

_EQUATION = re.compile(r"\beq\. \((\d+)\)(?: and \((\d+)\))?")


@dataclass(frozen=True)
class Links:
    """Links to the book for one piece; empty if there are none."""

    title: str = ""
    address: str = ""
    equations: tuple[tuple[int, str], ...] = ()

    def in_html(self, text: str, as_html: Callable[[str], str] = escape) -> str:
        """The text as HTML, with its equations as links."""

        def link(match: re.Match[str]) -> str:
            known = dict(self.equations)
            return re.sub(
                r"(?:eq\. )?\((\d+)\)",
                lambda one: _anchor(one[0], known[int(one[1])]) if int(one[1]) in known else one[0],
                match[0],
            )

        return _EQUATION.sub(link, as_html(text))

    @property
    def html(self) -> str:
        """A line that says where to read; empty without an address."""
        return f"<p>Read: {_anchor(self.title, self.address)}</p>" if self.address else ""

    @property
    def text(self) -> str:
        return f"Read: {self.title}, {self.address}" if self.address else ""


NO_LINKS = Links()


def _anchor(words: str, address: str) -> str:
    return f'<a href="{escape(address)}" target="_blank" rel="noopener" style="color:inherit">{escape(words)}</a>'


def book() -> str:
    """The address of the book: the published one, else a build above this folder, else an empty string."""
    published = os.environ.get(VARIABLE, "").strip()
    if published:
        known = published.startswith(("https://", "http://"))
        return published.rstrip("/") + "/" if known else ""  # any other value switches the links off
    here = Path.cwd()
    for steps, folder in enumerate((here, *here.parents)):
        if (folder / BUILD / "index.html").is_file():
            return "../" * steps + BUILD.as_posix() + "/"  # a relative path, since the notebook may be handed in
    return ""


def address(label: str, base: str) -> str:
    """The address of a page or of an equation.

    >>> address("eq-dual-gram", "https://example.org/")
    'https://example.org/book/dual/representation.html#equation-eq-dual-gram'
    """
    anchor = f"#equation-{label}" if label.startswith("eq-") else ""
    return f"{base}book/{PAGES[page_of(label)][0]}.html{anchor}"


def page_of(label: str) -> str:
    """The key of the page that a label is on."""
    bare = label.removeprefix("eq-")
    return next(page for page in PAGES if bare == page or bare.startswith(f"{page}-"))


def links_for(catalogue: str, piece: str) -> Links:
    """The links to the book for a piece of a catalogue, such as `dual_representation`."""
    base = book()
    if not base or catalogue not in PLACES:
        return NO_LINKS
    page, pieces, equations = PLACES[catalogue]
    label = pieces.get(piece, page)
    known = tuple((number, address(place, base)) for number, place in equations.items())
    return Links(PAGES[page_of(label)][1], address(label, base), known)
