"""Light pages: one style sheet with the rules that some page uses, one script, icons as inline SVG, no search index.

The theme and the extensions link 25 files to every page, 2.3 MB. Most of it is a font of 2,000 icons, of which the book
uses ten, and the search index, which only one page needs.
"""

from __future__ import annotations

import hashlib
import json
import posixpath
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import pydata_sphinx_theme
import tinycss2
from sphinx.application import Sphinx

STYLE = re.compile(r'[ \t]*<link (?=[^>]*rel="stylesheet")[^>]*href="(?:\.\./)*(?P<file>_static/[^"?]+)[^>]*>\n?')
SCRIPT = re.compile(r'[ \t]*<script[^>]* src="(?:\.\./)*(?P<file>[^"?]+)[^>]*></script>\n?')
PRELOADED = re.compile(r'[ \t]*<link rel="preload" as="script"[^>]*>\n?')
ICON = re.compile(r'<(?P<tag>i|span) class="(?P<classes>[^"]*\bfa-[^"]*)"(?P<rest>[^>]*)></(?P=tag)>')
PICTURE = re.compile(r'<img(?=[^>]* src="(?:\.\./)*_images/)')
FONT = "_static/scripts/fontawesome.js"
OPTIONS = "_static/documentation_options.js"
SEARCH = {"_static/search.js", "searchindex.js"}
TABS = "_static/design-tabs.js"
OF_SOME_PAGES = {"_static/lab.css", "_static/lab.js", TABS, *SEARCH}
BUNDLES = {"css": "_static/pages.css", "js": "_static/pages.js"}
# Spans of code in the colour of the text around them, and sizes that KaTeX writes out at every formula.
PLAIN = re.compile(r'<span class="(?:n|p|w)">([^<]*)</span>')
SIZED = re.compile(r'<span class="(?P<classes>[\w -]+)" style="(?P<style>[^"]*)">')
OFTEN = 30  # a size that occurs this often gets a rule in the style sheet
PARTS = "_static/pages.json"  # what the bundles were made from, for the next build, which may write only a few pages


@cache
def drawings() -> str:
    theme = Path(pydata_sphinx_theme.__file__).parent / "theme/pydata_sphinx_theme/static/scripts/fontawesome.js"
    return theme.read_text(encoding="utf-8")


@cache
def drawing(name: str) -> tuple[str, str, str]:
    """An icon's width, height and outline, from the theme's own script."""
    found = re.findall(rf'[{{,]"?{name}"?:\[(\d+),(\d+),\[[^\]]*\],"[^"]*","([^"]+)"\]', drawings())
    if not found:
        raise ValueError(f"the theme has no icon named {name!r}")
    return found[-1]  # the solid icons come last


def drawn(icon: re.Match[str]) -> str:
    classes = icon["classes"].split()
    (name,) = {name for name in classes if name.startswith("fa-")} - {"fa-solid", "fa-lg"}
    width, height, outline = drawing(name.removeprefix("fa-"))
    others = [name for name in classes if not name.startswith("fa-")]
    return (
        f'<svg class="{" ".join(["icon", *others])}"{icon["rest"]} aria-hidden="true" viewBox="0 0 {width} {height}">'
        f'<path fill="currentColor" d="{outline}"></path></svg>'
    )


def lighten(app: Sphinx, error: Exception | None) -> None:
    """Rewrite the pages that this build wrote, and the bundles that all pages share."""
    if error is not None or app.builder.name != "html":
        return
    out = Path(app.outdir)
    record = out / PARTS
    parts: dict[str, list[str]] = json.loads(record.read_text()) if record.exists() else {}
    parts = {"css": [], "js": [], "sizes": []} | parts
    found = (path for path in sorted(out.rglob("*.html")) if path.relative_to(out).parts[0] not in ("_static", "lite"))
    pages = {path: path.read_text(encoding="utf-8") for path in found}
    for path, page in pages.items():
        if f'src="{_root(page)}{FONT}' in page:
            pages[path] = _lightened(page, path.name == "search.html", out, parts)
    parts["sizes"] = _sizes(pages.values(), parts["sizes"])
    rules = "".join(f".{_short(style)}{{{style.replace(';', '!important;')}}}\n" for style in parts["sizes"])
    pages = {path: _with_rules(page, set(parts["sizes"])) for path, page in pages.items()}
    bundles = {"css": _style(out, parts["css"], pages.values()) + rules, "js": _script(out, parts["js"])}
    for kind, text in bundles.items():
        (out / BUNDLES[kind]).write_text(text, encoding="utf-8")
        version = hashlib.sha256(text.encode()).hexdigest()[:8]
        for path, page in pages.items():
            pages[path] = re.sub(rf"({BUNDLES[kind]}\?v=)\w*", rf"\g<1>{version}", page)
    for path, page in pages.items():
        if page != path.read_text(encoding="utf-8"):
            path.write_text(page, encoding="utf-8")
    record.write_text(json.dumps(parts))


def _sizes(pages: Iterable[str], known: Iterable[str]) -> list[str]:
    """The styles that get a rule: those of earlier builds, whose pages may be kept, and those that occur often."""
    counts = Counter(match["style"] for page in pages for match in SIZED.finditer(page))
    return sorted({*known, *(style for style, count in counts.items() if count >= OFTEN and style.endswith(";"))})


def _short(style: str) -> str:
    return f"k{zlib.crc32(style.encode()) & 0xFFFFFF:x}"


def _with_rules(page: str, sizes: set[str]) -> str:
    def named(match: re.Match[str]) -> str:
        style = match["style"]
        return f'<span class="{match["classes"]} {_short(style)}">' if style in sizes else match[0]

    return SIZED.sub(named, page)


def _root(page: str) -> str:
    found = re.search(r'data-content_root="([^"]*)"', page)
    return found.group(1).removeprefix("./") if found else ""


def _lightened(page: str, searches: bool, out: Path, parts: dict[str, list[str]]) -> str:
    root = _root(page)
    tags = {
        "css": f'<link rel="stylesheet" href="{root}{BUNDLES["css"]}?v=0">\n',
        "js": f'<script defer src="{root}{BUNDLES["js"]}?v=0"></script>\n',
    }
    met: dict[str, list[str]] = {"css": [], "js": []}

    def replaced(kind: str, file: str, tag: str) -> str:
        if file in OF_SOME_PAGES:
            if file in SEARCH:  # after the bundle, which is loaded after the page
                return tag.replace("<script", "<script defer") if searches else ""
            return tag if file != TABS or "sd-tab-set" in page else ""
        if file == FONT:
            return ""
        if file == OPTIONS:  # short, and the scripts inside the page need it at once
            return f"<script>{(out / OPTIONS).read_text(encoding='utf-8')}</script>\n"
        met[kind].append(file)
        return tags[kind] if len(met[kind]) == 1 else ""

    page = STYLE.sub(lambda tag: replaced("css", tag["file"], tag[0]), page)
    page = SCRIPT.sub(lambda tag: replaced("js", tag["file"], tag[0]), page)
    for kind, files in met.items():
        parts[kind] = files
    page = PICTURE.sub(r'<img loading="lazy"', page)  # loaded when the reader scrolls near
    return ICON.sub(drawn, PRELOADED.sub("", PLAIN.sub(r"\1", page)))


def _script(out: Path, files: Iterable[str]) -> str:
    """The scripts in order; the first semicolon keeps the "use strict" of one script from applying to all."""
    texts = (re.sub(r"//# sourceMappingURL=.*", "", (out / file).read_text(encoding="utf-8")) for file in files)
    return "".join(f";\n{text}\n" for text in texts)


def _style(out: Path, files: Iterable[str], pages: Iterable[str]) -> str:
    """The rules of all style sheets whose classes and ids occur in some page or script, without variables that no rule,
    page or script reads.
    """
    scripts = (path.read_text(encoding="utf-8") for path in out.glob("_static/**/*.js") if path.name not in FONT)
    words = {word for text in (*pages, *scripts) for word in re.findall(r"[\w-]+", text)}
    rules = [rule for file in files for rule in _rules(out, file)]
    read = words | set(re.findall(r"var\(\s*(--[\w-]+)", "".join(_used(rules, words, None))))
    return "".join(_used(rules, words, read))


def _rules(out: Path, file: str) -> Iterator[Any]:
    """A style sheet's rules and those that it imports, with addresses relative to the bundle."""
    folder = posixpath.dirname(file)

    def seen_from_bundle(url: re.Match[str]) -> str:
        return f"url({posixpath.relpath(posixpath.join(folder, url[1]), '_static')})"

    text = re.sub(r"/\*# sourceMappingURL=[^*]*\*/", "", (out / file).read_text(encoding="utf-8"))
    text = re.sub(r"url\([\"']?(?!data:)([^)\"']+)[\"']?\)", seen_from_bundle, text)
    for rule in tinycss2.parse_stylesheet(text, skip_whitespace=True):
        if rule.type == "at-rule" and rule.lower_at_keyword == "import":
            (name,) = (token.value for token in rule.prelude if token.type == "string")
            yield from _rules(out, posixpath.normpath(posixpath.join(folder, name)))
        else:
            yield rule


def _used(rules: Iterable[Any], words: set[str], read: set[str] | None) -> Iterator[str]:
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [s for s in _selectors(rule.prelude) if _names(s) <= words]
            if selectors:
                heads = ",".join(tinycss2.serialize(s).strip() for s in selectors)
                yield f"{heads}{{{_body(rule.content, read)}}}\n"
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports"):
            inside = "".join(_used(tinycss2.parse_rule_list(rule.content, skip_whitespace=True), words, read))
            if inside:
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{inside}}}\n"
        elif rule.type == "at-rule" and "fontawesome" not in tinycss2.serialize(rule.content or []):
            yield rule.serialize() + "\n"
        elif rule.type == "comment" and rule.value.startswith("!"):  # licences
            yield f"/*{rule.value}*/\n"


def _body(content: list[Any], read: set[str] | None) -> str:
    text = tinycss2.serialize(content).strip()
    if read is None or not re.search(r"(?:^|[;\s])--", text):
        return text
    lines = tinycss2.parse_declaration_list(content, skip_comments=True, skip_whitespace=True)
    return "".join(f"{line.serialize()};" for line in lines if not line.name.startswith("--") or line.name in read)


def _selectors(prelude: list[Any]) -> Iterator[list[Any]]:
    selector: list[Any] = []
    for token in prelude:
        if token == ",":
            yield selector
            selector = []
        else:
            selector.append(token)
    yield selector


def _names(selector: list[Any]) -> set[str]:
    """The classes and ids that must be present; what is inside :not(…) or :is(…) does not count."""
    names = {token.value for token in selector if token.type == "hash"}
    return names | {token.value for dot, token in pairwise(selector) if dot == "." and token.type == "ident"}


def setup(app: Sphinx) -> None:
    app.connect("build-finished", lighten, priority=900)
