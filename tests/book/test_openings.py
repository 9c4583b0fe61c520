"""How pages begin and end: reading time, prerequisites, recap, exercise; a part's opening page lists its sections."""

import importlib
import re
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
OPENINGS = sorted((ROOT / "book").glob("*/opening.md"))
ROW = re.compile(r"^\| \[\]\(([\w-]+)\) \|.*\| (\d+) \|$", re.MULTILINE)
TOC = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
SECTIONS = [chapter["file"] for part in TOC["parts"] if part.get("numbered") for chapter in part["chapters"]]
RECAP = re.compile(
    r"```\{admonition\} Recap\n:class: recap\n"
    r"- \*\*Keep:\*\* (?P<keep>.+?)\n- \*\*Use it\*\* (?P<use>.+?)\n- \*\*Next:\*\* (?P<next>.+?)\n```\n\n"
    r"## Check yourself\n",
    re.DOTALL,
)


def read(page: str) -> str:
    return (ROOT / f"{page}.md").read_text(encoding="utf-8")


def sections(folder: Path) -> dict[str, int]:
    """The label of each section of a part, and its reading time."""
    texts = [path.read_text(encoding="utf-8") for path in folder.glob("*.md") if path.stem not in ("opening", "recap")]
    return {
        re.search(r"^\((sec-[\w-]+)\)=\n# ", text, re.MULTILINE)[1]: int(minutes[1])
        for text in texts
        if (minutes := re.search(r"^\*(\d+) minutes[.,]", text, re.MULTILINE))
    }


@pytest.mark.parametrize("path", OPENINGS, ids=lambda path: path.parent.name)
def test_sections_and_their_minutes(path):
    rows = {label: int(minutes) for label, minutes in ROW.findall(path.read_text(encoding="utf-8"))}
    assert rows == sections(path.parent)


@pytest.mark.parametrize("path", OPENINGS, ids=lambda path: path.parent.name)
def test_part_that_opens_also_ends(path):
    recap = path.with_name("recap.md").read_text(encoding="utf-8")
    assert recap.count("```{dropdown}") == 3


@pytest.mark.parametrize("page", SECTIONS)
def test_a_section_says_how_long_it_takes_and_what_to_know_before(page):
    before = [read(name) for name in SECTIONS[: SECTIONS.index(page)]]
    known = {label for text in before for label in re.findall(r"^\((sec-[\w-]+)\)=$", text, re.MULTILINE)}
    head = re.search(r"^# .+\n\n\*\d+ minutes(?:, optional)?\. Before this: (.+?)\.\*$", read(page), re.M | re.S)
    assert head
    assert set(re.findall(r"\]\((sec-[\w-]+)\)", head[1])) <= known


@pytest.mark.parametrize("page", SECTIONS)
def test_a_section_ends_with_a_recap_and_its_exercise(page):
    text = read(page)
    (recap,) = RECAP.finditer(text)
    assert "$" in recap["keep"] or "{eq}" in recap["keep"] or "{prf:ref}" in recap["keep"]
    assert len(recap["use"].split()) > 5
    assert "](sec-" in recap["next"]
    assert len(re.findall(r"\{exercise\}`\d\d`", text[recap.end() :])) == 1


# ------------------------------------------------------------------------------------------------- the exercises


@pytest.fixture(scope="module")
def exercises():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "book/_ext"))
        return importlib.import_module("coursebook.exercises")


def numbers(text: str) -> list[int]:
    """The numbers in "sections 4 to 6 and 8"."""
    found = []
    for first, last in re.findall(r"(\d+)(?: to (\d+))?", text):
        found += range(int(first), int(last or first) + 1)
    return found


def test_notebooks_name_their_sections_by_title_and_number(exercises):
    titles = [re.search(r"^# (.+)$", read(page), re.MULTILINE)[1] for page in SECTIONS]
    for exercise in exercises.read_exercises(ROOT):
        first = (ROOT / exercise.path).read_text(encoding="utf-8")
        stated = re.search(r"\*\*Read first:\*\* (.*?)\*\*How to work", first.replace("\\n", " "), re.DOTALL)[1]
        listed = [titles.index(title) + 1 for title in exercise.titles]
        said = re.findall(r"sections? ((?:\d+(?:, | and | to )?)+)", stated)
        assert [number for words in said for number in numbers(words)] == listed, exercise.path


def test_sections_lead_to_an_exercise_and_exercises_to_such_sections(exercises):
    leads = {page: re.findall(r"\{exercise\}`(\d\d)`", read(page)) for page in SECTIONS}
    for exercise in exercises.read_exercises(ROOT):
        there = [page for page, found in leads.items() if f"{exercise.number:02}" in found]
        titles = {re.search(r"^# (.+)$", read(page), re.MULTILINE)[1] for page in there}
        assert titles & set(exercise.titles), exercise.path


def test_an_exercise_is_named_with_its_points_and_minutes(exercises):
    exercise = exercises.read_exercise(ROOT, "06")
    source = (ROOT / "solutions/06-support-vector-machines/support-vector-machines.md").read_text(encoding="utf-8")
    stated = re.search(r"\*\*Points:\*\* (\d+) · \*\*Time:\*\* about (\d+) minutes", source)
    assert exercise.name == "Exercise 6: support vector machines"
    assert exercise.size == f"{stated[1]} points, about {stated[2]} minutes"


def test_a_notebook_that_names_an_unknown_section_is_refused(exercises):
    exercise = exercises.read_exercise(ROOT, "06")
    with pytest.raises(ValueError, match="names sections that the book does not have: The support vector machine"):
        exercises.table([exercise], {})


@pytest.mark.parametrize("repository", ["", "https://github.com/me/course"])
def test_below_the_minutes_a_page_leads_to_its_notebook_and_its_exercise(exercises, repository):
    """If the repository has an address, there are also links to run it in the browser, on Colab and on Binder."""
    page = "book/trick/svm"
    link = exercises.download_reference("", "Exercise 6", reftarget=f"/{exercises.read_exercise(ROOT, '06').path}")
    doctree = exercises.nodes.section()
    doctree += [
        exercises.nodes.paragraph("", "40 minutes. Before this: more."),
        exercises.nodes.paragraph("", "", link),
    ]
    app = SimpleNamespace(
        builder=SimpleNamespace(name="html", get_target_uri=lambda name: f"{name}.html"),
        config=SimpleNamespace(
            html_theme_options={"repository_url": repository} if repository else {}, root_doc="book/intro"
        ),
        env=SimpleNamespace(docname=page, doc2path=lambda name: ROOT / f"{name}.md"),
    )
    exercises.add_buttons(app, doctree)
    line = doctree[1]
    assert line["classes"] == ["page-links"]
    words = re.findall(r">([^<]+)</a>", " ".join(node.astext() for node in line))
    more = ["Your browser", "Colab", "Binder"] if repository else []
    assert words == ["This page as a notebook", *more]
    assert 'href="../../notebooks/trick/svm.ipynb"' in line[0].astext()
    assert line[1].astext() == "Exercise 6"
