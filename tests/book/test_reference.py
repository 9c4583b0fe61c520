"""The reference: its tables are complete and correct, and every public name has a page."""

from __future__ import annotations

import dataclasses
import doctest
import importlib
import inspect
import re
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from docutils import nodes
from docutils.utils import new_document
from sphinx import addnodes

import kernelcourse

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "book/_ext"))
OURS = ("api", "arguments", "docstrings", "library", "names", "print", "search", "tables", "thumbnails", "uses")
PARTS = {name: importlib.import_module(f"coursebook.{name}") for name in OURS}
sys.path.remove(str(ROOT / "book/_ext"))
api, arguments, library, names, printed, tables = (
    PARTS[name] for name in ("api", "arguments", "library", "names", "print", "tables")
)

PUBLIC = {(module, name) for module in library.modules().values() for name in library.public_names(module)}
PUBLIC_IDS = sorted((module.__name__, name) for module, name in PUBLIC)


@pytest.mark.parametrize("part", PARTS)
def test_examples_in_the_machinery_are_right(part):
    result = doctest.testmod(PARTS[part], optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def filled(group: str) -> str:
    """A page of the reference with its tables."""
    source = [(ROOT / f"book/appendix/api/{group}.md").read_text(encoding="utf-8")]
    api.fill_blocks(None, group, source)
    return source[0]


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    return {group: filled(group) for group in library.GROUPS}


def test_every_public_name_is_in_one_table(pages):
    listed = [address for page in pages.values() for address in api.LINK.findall(page)]
    assert sorted(listed) == sorted(library.address(module, name) for module, name in PUBLIC)


def test_only_listed_names_are_public():
    assert {name for _, name in PUBLIC} >= set(kernelcourse.__all__)
    assert not [module for module, _ in PUBLIC_IDS if ".checking" in module or ".course" in module]


def cells(page: str, name: str) -> list[str]:
    row = next(line for line in page.splitlines() if f"{{lib}}`{name} <" in line)
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]]


KERNELS = [value for _, _, value in tables.in_group("kernels") if tables.is_kernel(value)]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: kernel.__name__)
def test_table_of_kernels_tells_the_truth(pages, kernel):
    _, formula, parameters, stationary, radial, finite, _ = cells(pages["kernels"], kernel.__name__)
    assert formula.startswith("$")
    assert [field.name for field in dataclasses.fields(kernel)] == re.findall(r"`(\w+)", parameters)
    k = tables.example(kernel)
    assert stationary == ("yes" if k.is_stationary else "no")
    assert radial == ("yes" if k.is_radial else "no")
    if k.on_vectors:
        X = np.random.default_rng(0).normal(size=(4, 2))
        moved, turned = X + 0.7, X @ np.array([[0.6, -0.8], [0.8, 0.6]])
        assert np.allclose(k(moved), k(X)) == (stationary == "yes")
        assert np.allclose(k(turned), k(X)) or radial == "no"
        if finite == "yes":
            assert np.allclose(k.features(X) @ k.features(X).T, k(X))


ESTIMATORS = [v for _, _, v in tables.in_group("estimators") if dataclasses.is_dataclass(v)]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_table_of_estimators_tells_the_truth(pages, estimator):
    _, _, fitted, closed_form = cells(pages["estimators"], estimator.__name__)
    assert closed_form
    targets = [0, 1, 0, 1] if estimator.kind == "classifier" else [0.0, 1.0, 2.0, 1.0]
    model = estimator().fit([[0.0], [1.0], [2.0], [3.0]], targets)
    learned = re.findall(r"`(\w+)`", fitted)
    assert learned
    assert [name for name in learned if not hasattr(model, name)] == []


def test_table_of_algorithms_has_every_solver(pages):
    """The cost is stated for every function that takes a Gram matrix or features with targets and returns a fit."""
    kinds = "_weights|_with_offset|_descent|_sgd|_newton|_cg|softmax|perceptron|_svm|_network"
    solves = re.compile(rf"({kinds})(_by_the_book)?$")
    missing = []
    for _, name, value in tables.in_group("algorithms"):
        given = tables.takes(value).split(", ") if inspect.isfunction(value) else []
        if given[:1] in (["K"], ["Phi"]) and len(given) == 2 and solves.search(name):
            missing += [] if len(cells(pages["algorithms"], name)) == 4 else [name]
    assert missing == []


def test_every_data_set_has_a_picture(pages):
    drawn = set(PARTS["thumbnails"].DATA)
    assert {name for _, name, _ in tables.in_group("data")} - drawn == {"read_chimeras"}
    assert all(re.match(r"!\[.+\]\(.+\.png\)|`.+`", cells(pages["data"], name)[0]) for name in drawn)


def test_a_line_for_no_name_is_reported(caplog):
    source = ["```{library-algorithms}\nno_such | a | $n$\n```\n"]
    with pytest.MonkeyPatch.context() as patch:
        said = []
        patch.setattr(api.logger, "warning", lambda *words, **_: said.append(words))
        api.fill_blocks(None, "page", source)
    assert "no_such" in said[0]


# ---------------------------------------------------------------------------------------------------------- pages


def test_every_argument_has_a_meaning_and_every_meaning_an_argument():
    unsaid, used = [], set()
    for module, name in PUBLIC:
        value = getattr(module, name)
        for argument in arguments.arguments(value):
            keys = {f"{name}.{argument.name}", argument.name} & set(arguments.MEANINGS)
            unsaid += [] if keys or arguments.is_result(value) else [f"{name}.{argument.name}"]
            used |= keys
    assert unsaid == []
    assert set(arguments.MEANINGS) - used == set()


def test_page_of_every_name_is_complete():
    lacking = {}
    for module, name in PUBLIC_IDS:
        value = getattr(sys.modules[module], name)
        headings = set(re.findall(r"^(.+)\n-+$", names.page(sys.modules[module], name, ["book/intro"]), re.MULTILINE))
        expected = {"Used in", "Source"}
        if inspect.isfunction(value):
            expected |= {"Example", "Returns"} | ({"Parameters"} if inspect.signature(value).parameters else set())
        elif arguments.is_result(value):
            expected |= {"Fields"}
        elif dataclasses.is_dataclass(value):
            expected |= {"Example", "Methods and properties"} | ({"Parameters"} if dataclasses.fields(value) else set())
        if expected - headings:
            lacking[name] = expected - headings
    assert lacking == {}


def test_limits_and_errors_come_from_the_source():
    limits = {argument.name: argument.limits for argument in arguments.arguments(kernelcourse.kernel_svm)}
    assert limits["y"] == "-1 or +1"
    assert limits["lam"] == "a number > 0"
    assert limits["gap"] == "a number > 0", "found through the helper that receives it by name"
    assert arguments.refusals(kernelcourse.k_fold) == [
        ("ValueError", "k must be at most n = …, the number of points, got …")
    ]
    assert "def kernel_svm(" in arguments.source_without_docstring(kernelcourse.kernel_svm)
    assert '"""' not in arguments.source_without_docstring(kernelcourse.kernel_svm)


def test_addresses_of_the_pages_differ_also_where_case_does_not_count():
    addresses = [names.docname(module, name).casefold() for module, name in PUBLIC_IDS]
    assert len(set(addresses)) == len(addresses)


def test_search_keeps_the_prose_of_a_section():
    path = nodes.container("", nodes.paragraph("", "Reference"), classes=["reference-path"])
    cell = nodes.container("", nodes.literal_block("", "x = 1"), nodes.caption("", "A line."), nb_element="cell_code")
    formula = nodes.paragraph("", "", nodes.Text("Where "), nodes.math("", "x^2"), nodes.Text(" is large."))
    inner = nodes.section("", nodes.title("", "Inside"), nodes.paragraph("", "Deeper."), ids=["inside"])
    page = nodes.section(
        "", nodes.title("", "Title"), path, formula, cell, nodes.comment("", "no"), inner, ids=["title"]
    )
    document = new_document("page")
    document += page
    found = PARTS["search"].sections(document)
    assert found == [["", "Title", "Where x² is large. A line.", ""], ["inside", "Inside", "Deeper.", ""]]


# ------------------------------------------------------------------------------------------------- PDF and EPUB


def for_builder(name: str, **numbers: tuple[int, ...]) -> SimpleNamespace:
    env = SimpleNamespace(toc_secnumbers={doc: {"": number} for doc, number in numbers.items()})
    return SimpleNamespace(builder=SimpleNamespace(name=name, format=name), env=env)


def test_chapters_without_a_number_on_the_web_have_none_in_the_pdf():
    book = nodes.section("", *(addnodes.start_of_file(docname=name) for name in ("opening", "first")))
    app = for_builder("latex", first=(1,))
    app.env.toc_fignumbers = {"opening": {"figure": {"a": (2,), "b": (3,)}}, "first": {"figure": {"c": (1, 1)}}}
    printed.number_as_on_the_web(app, book, "book")
    opening, first = (node.astext() for node in book.findall(nodes.raw))
    assert opening.startswith(r"\setcounter{secnumdepth}{-1}\setcounter{figure}{1}\def\thefigure{\arabic{figure}}")
    assert first.startswith(r"\setcounter{secnumdepth}{2}\let\thefigure\figureofchapter")


def test_theorems_are_counted_per_chapter_in_the_pdf():
    numbers = {"theorem": {"a": (4, 1, 1), "b": (4, 2, 1), "c": (4, 2, 2)}, "figure": {"d": (4, 1, 1)}}
    env = SimpleNamespace(toc_fignumbers={"page": numbers})
    printed.count_per_chapter(for_builder("latex"), env)
    assert numbers == {"theorem": {"a": (4, 1), "b": (4, 2), "c": (4, 3)}, "figure": {"d": (4, 1, 1)}}


def test_a_proof_is_text_in_the_pdf():
    box = nodes.admonition("", nodes.paragraph("", "Proof. Multiply."), nodes.paragraph("", "Add."))
    proof = printed.proof_node("", box)
    printed.unbox_proofs(for_builder("latex"), nodes.section("", proof), "book")
    assert [child.astext() for child in proof] == ["Proof. Multiply.", "Add."]
    assert proof[0][0].tagname == "emphasis"


def test_links_lead_to_problems_and_answers_in_the_pdf():
    book = nodes.section(
        "", nodes.container("", nodes.paragraph("", "Problem 1"), classes=["problem"], ids=["problem-1"])
    )
    printed.mark_boxes(for_builder("latex"), book, "book")
    assert [target["ids"] for target in book.findall(nodes.target)] == [["problem-1"]]


def test_a_chapter_ends_with_its_problems_in_the_pdf():
    problem = nodes.container("", nodes.paragraph("", "Problem 1"), classes=["problem"])
    box = nodes.admonition("", nodes.paragraph("", "Exercise"), classes=["seealso"])
    chapter = nodes.section("", nodes.paragraph("", "Question"), nodes.section("", problem, box))
    printed.end_with_problems(for_builder("latex"), chapter, "book")
    assert chapter.astext().split() == ["Question", "Exercise", "Problem", "1"]


def test_columns_have_room_for_their_longest_words_in_the_pdf():
    rows = [["points", "what it is about"], ["100", "a long sentence " * 8], ["9", "nothing"]]
    entries = [[nodes.entry("", nodes.paragraph("", text)) for text in row] for row in rows]
    columns = [nodes.colspec(colwidth=50) for _ in rows[0]]
    table = nodes.table("", nodes.tgroup("", *columns, *(nodes.row("", *row) for row in entries)), classes=[])
    printed.fit_tables(for_builder("latex"), table, "page")
    narrow, wide = (column["colwidth"] * printed.LINE / sum(each["colwidth"] for each in columns) for column in columns)
    assert len("points") + printed.BESIDE <= narrow < wide
    assert table["classes"] == ["colwidths-given"]  # three rows need not break


def test_names_in_tables_may_break_in_the_pdf():
    table = nodes.table("", nodes.literal("", "dual_weights KernelRidge"), classes=[])
    printed.fit_tables(for_builder("latex"), table, "page")
    assert table.astext() == "dual_\u200bweights Kernel\u200bRidge"
