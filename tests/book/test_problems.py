"""The problems on paper: their files and their answers; no solution may reach the students' book."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "book/_problems"
FILES = sorted(path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.md"))
PARTS = [
    part for part in yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))["parts"] if "numbered" in part
]
NO_PROBLEMS = {"opening", "recap"}  # the first and the last page of a part
SECTIONS = [
    name
    for part in PARTS
    for chapter in part["chapters"]
    if (name := chapter["file"].removeprefix("book/")).split("/")[1] not in NO_PROBLEMS
]


@pytest.fixture
def module(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "book/_ext"))
    return importlib.import_module("coursebook.problems")


@pytest.fixture
def read(module):
    return lambda name: module.read_section(FOLDER, name)


@pytest.mark.parametrize("name", FILES)
def test_answers_are_right(read, name):
    checked = [problem for problem in read(name).problems if problem.check]
    assert checked
    for problem in checked:
        exec(compile(problem.check, f"{name}: {problem.title}", "exec"), {"__name__": "check"})


@pytest.mark.parametrize("name", SECTIONS)
def test_section_has_four_to_six_problems_of_different_levels(read, name):
    problems = read(name).problems
    assert 4 <= len(problems) <= 6
    assert len({problem.mark for problem in problems}) >= 2
    assert len({problem.title for problem in problems}) == len(problems)


def test_book_has_at_least_110_problems(read):
    assert sum(len(read(name).problems) for name in FILES) >= 110


def test_every_file_belongs_to_a_section():
    assert set(FILES) <= set(SECTIONS)


GOOD = """# Title

## ● First
Text.
### Answer
$2$
### Solution
Add. A `#` in a block is not a heading:
```text
# no heading
## nor this
```
### Check
```python
# a comment
assert 1 + 1 == 2
```

## ●●● Second (proof)
Text.
### Answer
It is.
### Solution
See above.
"""


def read_text(module, folder: Path, text: str):
    (folder / "part").mkdir(exist_ok=True)
    (folder / "part/section.md").write_text(text, encoding="utf-8")
    return module.read_section(folder, "part/section")


def test_file_is_read(module, tmp_path):
    section = read_text(module, tmp_path, GOOD)
    first, second = section.problems
    assert (section.title, first.number, first.mark, first.title) == ("Title", 1, "●", "First")
    assert first.text == "Text." and first.answer == "$2$"
    assert first.solution.endswith("## nor this\n```")
    assert first.check == "# a comment\nassert 1 + 1 == 2\n"
    assert (second.number, second.mark, second.check) == (2, "●●●", "")


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ("### Answer\n$2$", "", r"'● First': there is no ### Answer"),
        ("### Answer\n$2$", "### Answer\n", r"'● First': there is no ### Answer"),
        ("### Solution\nSee above.", "", r"Second \(proof\)': there is no ### Solution"),
        ("## ● First\nText.", "## ● First", r"'● First': there is no text"),
        ("## ● First", "## ●●●● First", r"begins with '●●●●'; expected a level, one of ● ●● ●●●"),
        ("## ● First", "## First", r"'First': the title begins with 'First'"),
        (" (proof)", "", r"'●●● Second': there is no ### Check"),
        ("assert 1", "print 1", r"'● First': ### Check must be one block of Python with an assert"),
        ("### Answer\n$2$", "### Anwser\n$2$", r"'● First': unknown part 'Anwser'"),
        ("## ● First\n", "", r"### Answer is outside a problem"),
        ("# Title", "Title", r"the first heading must be #"),
        (GOOD, "# Title\n", r"it has no problem; expected a heading"),
        (GOOD, "", r"the first heading must be #"),
    ],
)
def test_damaged_file_is_refused_by_name(module, tmp_path, old, new, complaint):
    assert old in GOOD
    with pytest.raises(ValueError, match=rf"book/_problems/part/section\.md.*{complaint}"):
        read_text(module, tmp_path, GOOD.replace(old, new))


def test_missing_file_is_refused_by_name(module, tmp_path):
    with pytest.raises(ValueError, match=r"there is no file book/_problems/part/none\.md"):
        module.read_section(tmp_path, "part/none")


# ------------------------------------------------------------------------------------------------ the built book


def plain(text: str) -> str:
    """The words of a text in HTML or MyST, without tags, formulas, markup or white space."""
    text = re.sub(r'<span class="katex.*?</math>|<[^>]*>|\$[^$]*\$', "", text, flags=re.DOTALL)
    return re.sub(r"[^a-z]+", "", text.lower())


def longest_sentence(text: str) -> str:
    """The longest run of words in a text that no formula or markup interrupts."""
    return plain(max(re.split(r"\$+[^$]*\$+|[^\w\s,;:'’-]|[^\x00-\x7f]", text), key=len))


def test_page_has_its_problems_and_the_back_has_their_answers(html, read):
    back = {path.name: path.read_text(encoding="utf-8") for path in (html / "book/appendix").glob("answers*.html")}
    for name in FILES:
        page = (html / f"book/{name}.html").read_text(encoding="utf-8")
        for problem in read(name).problems:
            label = f"{name.replace('/', '-')}-{problem.number}"
            assert f'id="problem-{label}"' in page
            (there,) = (file for file, text in back.items() if f'id="answer-{label}"' in text)
            assert f'appendix/{there}#answer-{label}"' in page
            assert f'{name}.html#problem-{label}"' in back[there]


def test_solutions_are_not_in_the_book(html, read):
    assert not list(html.rglob("*solutions.html")) and not list(html.rglob("*_problems*"))
    assert "book/solutions" not in (html / "searchindex.js").read_text(encoding="utf-8")
    texts = {path: plain(path.read_text(encoding="utf-8")) for path in html.rglob("*.html")}
    looked_for = 0
    for name in FILES:
        for problem in read(name).problems:
            words = longest_sentence(problem.solution)
            if len(words) < 25 or words in plain(problem.text + problem.answer):
                continue
            looked_for += 1
            found = [path.name for path, text in texts.items() if words in text]
            assert not found, f"{name}, {problem.title}: its solution is in {found}"
    assert looked_for > len(FILES)
