"""The interactive figures as a reader uses them: mouse, touch, keyboard, links, dark mode, phones, mishaps."""

from __future__ import annotations

import copy
import re
from functools import cache
from itertools import pairwise

import numpy as np
import pytest

import kernelcourse as kc
from kernelcourse import plots
from tests.book.test_browser import AXE, COLOURS, RUN_AXE
from tests.conftest import PATIENCE
from tests.lab.library import HOLDS
from tests.lab.pages import LAB, ROOT, fragment

NAMES = sorted(LAB.STARTS)
DESK = {"viewport": {"width": 800, "height": 900}}  # as wide as the text of the book on a screen of 1400 pixels
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
# First two frames: what the last event requested, and the first measurement of the size. Asking again and again would
# make the browser draw frames all the while.
SETTLED = """async ([kind, patience]) => {
  for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);
  const pending = () => document.querySelector(`[data-pending~=${kind}]`);
  if (!pending()) return;
  await new Promise((done, fail) => {
    const watch = new MutationObserver(() => pending() || done(watch.disconnect()));
    watch.observe(document, { subtree: true, attributeFilter: ["data-pending"] });
    setTimeout(() => fail(new Error(`the ${kind} is still pending`)), patience);
  });
}"""
# The figure's listener is older, so it has run by the time this promise resolves.
GO_TO = """(hash) => new Promise((done) => {
  window.addEventListener("hashchange", done, { once: true });
  location.hash = hash;
})"""
# State and facts as text; the first weights of a network, from which the library trains its own.
READ = """(name) => {
  const lab = kernelLab.figures[name];
  const { state, facts } = lab;
  const hidden = new Array(Math.round(state.layers ?? 0)).fill(Math.round(state.units));
  const first = name === "playground" && kernelLab.newNetwork([2, ...hidden, 2], state.activation, state.seed);
  const plain = (_, v) => (ArrayBuffer.isView(v) ? [...v] : v);
  const seen = JSON.parse(JSON.stringify({ state, facts: facts && { ...facts, first } }, plain));
  for (const [key, value] of Object.entries(seen.state)) {
    if (Array.isArray(value)) seen.state[key] = value.map(([x, y, label = 0]) => [x, y, label]);
  }
  return seen;
}"""
# Press a button repeatedly: all states, and the facts of the pictures that are drawn, which are those of the presses
# given and of the last one.
PRESS = """([name, label, times, pictures]) => {
  const lab = kernelLab.figures[name];
  const button = [...lab.root.querySelectorAll("button")].find((each) => each.textContent === label);
  const seen = [];
  for (let i = 0; i < times; i++) {
    button.click();
    if (pictures.includes(i) || i === times - 1) do lab.drawNow(); while (lab.frame);
    seen.push(read(name));
  }
  return seen;
}"""


# Pause after a hundred epochs. A test that waits for that and then presses may be later than the last epoch.
PAUSE = """() => {
  if (!/Epoch \\d{3}/.test(document.querySelector(".lab-note").textContent)) return false;
  [...document.querySelectorAll("button")].find((each) => each.textContent === "Pause").click();
  return true;
}"""


def wait(page, *, until_there_is_no: str, then: str = "null"):
    """Wait until the figures say that nothing of the kind is pending: a picture, or an address to be saved.

    `then` is what to return from the page, in the same message.
    """
    return page.evaluate(
        f"async (asked) => {{ await ({SETTLED})(asked); return {then}; }}", [until_there_is_no, PATIENCE]
    )


def note(page) -> str:
    """The sentence below the last picture: an SVM may take some frames to converge."""
    return wait(page, until_there_is_no="picture", then="document.querySelector('.lab-note').innerText")


def picture(page) -> str:
    """What all canvases show, as text: equal pictures are equal texts."""
    shown = "[...document.querySelectorAll('canvas')].map((each) => each.toDataURL()).join()"
    return wait(page, until_there_is_no="picture", then=shown)


def saved(page) -> str:
    """The address once the figure has put its state there."""
    return wait(page, until_there_is_no="address", then="location.hash")


def read(page, name: str) -> dict:
    """The state and the facts of the picture, which the library has confirmed."""
    seen = wait(page, until_there_is_no="picture", then=f"({READ})({name!r})")
    HOLDS[name](**seen)
    return seen["state"]


def middle(handle) -> tuple[float, float]:
    box = handle.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def a_handle(page):
    """The third handle, if there are three."""
    handles = page.locator(".lab-handle")
    return handles.nth(min(2, handles.count() - 1))


def tap_until(button, condition) -> None:
    """Tap until it has worked. On a busy machine the finger lifts late, which turns a tap into a long press."""
    for _ in range(40):
        button.tap()
        for _ in range(100):  # the browser may take a while to turn a tap into a click
            if condition():
                return
            button.page.wait_for_timeout(50)
    raise AssertionError("no tap on the button has worked")


def drag_by_touch(page, handle, x: float, y: float) -> None:
    """Drag until it is there: a finger that a busy machine moves late also makes a long press."""
    client = page.context.new_cdp_session(page)
    for _ in range(40):
        for kind, at in [("touchStart", middle(handle)), ("touchMove", (x + 10, y + 20)), ("touchMove", (x, y))]:
            client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": at[0], "y": at[1]}]})
        client.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        wait(page, until_there_is_no="picture")
        if abs(middle(handle)[0] - x) <= 2:
            return
    raise AssertionError("no finger has moved the point to its place")


def verdicts(page) -> list[bool]:
    words = "[...document.querySelectorAll('.lab-verdict')].map((each) => each.innerText)"
    return [text.startswith("✓") for text in wait(page, until_there_is_no="picture", then=words)]


@pytest.mark.parametrize("name", NAMES)
def test_mouse_keyboard_undo_link_and_reset_agree_with_the_library(figure, name):
    page = figure(name, **DESK)
    text = note(page)
    assert len(text) > 40
    assert not re.search(r"NaN|Infinity|undefined", text)
    assert page.locator(".lab-bad").count() == 0
    assert page.locator(".lab").bounding_box()["height"] <= 640  # the chapter's words come on top: 700 on the page
    first, start = read(page, name), picture(page)
    assert saved(page) == ""

    handle = a_handle(page)  # drag with the mouse
    x, y = middle(handle)
    words = handle.get_attribute("aria-valuetext")
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 20, y - 15, steps=2)
    page.mouse.up()
    dragged, shown = read(page, name), picture(page)
    assert dragged != first and shown != start
    assert handle.get_attribute("aria-valuetext") != words
    assert middle(handle)[0] == pytest.approx(x + 20, abs=1.5)
    address = saved(page)
    assert address.startswith(f"#lab-{name}=")

    focused = page.locator(".lab-handle:focus")  # continue by keyboard
    page.keyboard.press("Shift+ArrowLeft")
    moved = read(page, name)
    assert moved not in (first, dragged)
    assert middle(focused)[0] < x
    assert saved(page) != address

    page.keyboard.press("Control+z")
    assert read(page, name) == dragged
    page.get_by_role("button", name="Undo").click()
    assert read(page, name) == first
    page.get_by_role("button", name="Undo").click()  # nothing is left to undo
    assert read(page, name) == first
    assert saved(page) == ""

    page.goto(page.url.partition("#")[0] + address)  # the link restores the state, even after a reload
    page.reload()
    assert read(page, name) == dragged
    assert page.locator(".lab-foot a").get_attribute("href") == f"#lab-{name}=" or saved(page) == address
    page.evaluate("document.activeElement.blur()")
    page.get_by_role("button", name="Reset").click()
    assert read(page, name) == first
    assert saved(page) == ""

    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert picture(page) != start
    page.emulate_media(media="print")
    assert not page.locator(".lab").is_visible()
    page.emulate_media(media="screen")
    for broken in (
        "points:zzzzzzz,lambda:NaN,sigma:-3,kernel:none,sample:99,pair:,cross:",
        "%,%E0:x,seed:-1,checks:1.5",
        "kernel:%E0",
    ):
        page.evaluate(GO_TO, f"lab-{name}={broken}")
        assert len(note(page)) > 40
        assert "NaN" not in note(page)


# What each button does to a state. `at` is the last point that was chosen.
def _add(state, at):
    low, high = ({"hero": ((-10, 10), (-0.8, 1.6))}).get(state["figure"]) or state["window"]
    state["points"].append([sum(low) / 2, sum(high) / 2, int(state.get("adding", 0))])
    return len(state["points"]) - 1


def _switch(state, at):
    state["points"][at][2] *= -1
    return at


def _remove(state, at):
    del state["points"][at]
    return max(0, min(at, len(state["points"]) - 1))


def _another_sample(state, at):
    samples = LAB.STARTS[state["figure"]]()["samples"]
    state["sample"] = (state["sample"] + 1) % len(samples)
    if "points" in state:
        state["points"] = [[*point, 0] for point in samples[state["sample"]]]
    return at


def _break(state, at):
    """The first press subtracts x x', since exp(x x'/4) - 1 is a kernel; then it is broken, and nothing changes."""
    state["step3"] = "minus linear"
    return at


def _smallest(state, at):
    from tests.lab.library import loo_map

    row, column = np.unravel_index(loo_map(state["sample"]).argmin(), (24, 24))
    state["pair"] = [[-1 + 2.3 * column / 23, -4 + 5 * row / 23, 0]]
    return at


@cache
def _run(points, sigma):
    """The checks that find mistakes, in the library's order, and the number of checks in the whole run."""
    data = np.array(points)
    y = data[:, 2].astype(int)
    K = kc.Gaussian(sigma)(data[:, :2])
    fit = kc.kernel_perceptron_list(K, y, max_epochs=200)
    left, checks, stored = list(fit.mistakes_list), [], []
    for check in range(fit.epochs * len(y)):
        i = check % len(y)
        if left and left[0] == i and y[i] * np.sum(y[stored] * K[stored, i]) <= 0:
            stored.append(left.pop(0))
            checks.append(check + 1)
    assert not left
    return checks, fit.epochs * len(y)


def _checks(move):
    """`move(checks, mistakes, end, n)`: the number of checks after a press."""

    def press(state, at):
        mistakes, end = _run(tuple(map(tuple, state["points"])), state["sigma"])
        state["checks"] = move(min(state["checks"], end), mistakes, end, len(state["points"]))
        return at

    return press


def _train(state, at):
    state["epochs"] = (0 if state["epochs"] >= 5000 else state["epochs"]) + 500
    return at


def _new_weights(state, at):
    state["seed"], state["epochs"] = state["seed"] % 99 + 1, 0
    return at


EDIT = {"Add": _add, "Switch": _switch, "Remove": _remove}
WALK = {
    "To the next mistake": _checks(lambda checks, mistakes, end, n: min([m for m in mistakes if m > checks] or [end])),
    "Start over": _checks(lambda checks, mistakes, end, n: 0),
    "Check one point": _checks(lambda checks, mistakes, end, n: min(checks + 1, end)),
    "One epoch": _checks(lambda checks, mistakes, end, n: min((checks // n + 1) * n, end)),
    "Run": _checks(lambda checks, mistakes, end, n: 1_000_000),
}
BUTTONS = {
    "builder": {"Break it": _break},
    "dual": {},
    "gaussian": {"Another sample": _another_sample},
    "hero": {"Add": _add, "Remove": _remove},
    "landscape": {"To the smallest error": _smallest, "Another sample": _another_sample},
    "perceptron": {**WALK, **EDIT},
    "playground": {"Train": _train, "New weights": _new_weights, **EDIT},
    "svm": EDIT,
    "votes": {},
}


@pytest.mark.parametrize("name", [name for name in NAMES if BUTTONS[name]])
def test_every_button_twenty_times_does_what_the_library_does(figure, name):
    smaller = {"svm": fragment("svm", LAB.STARTS["svm"]()["points"][:40])}  # everything is recomputed after each press
    smaller["perceptron"] = fragment("perceptron", LAB.STARTS["perceptron"]()["points"][:60], sigma=0.7)  # 23 epochs
    smaller["playground"] = fragment("playground", LAB.STARTS["playground"]()["xor"][:12], data="xor", units=2)
    page = figure(name, smaller.get(name, ""), reduced_motion="reduce")
    page.add_script_tag(content=f"const read = {READ};")
    buttons = page.locator(".lab-controls button >> visible=true").all_inner_texts()
    assert sorted(buttons) == sorted(BUTTONS[name])
    window = page.evaluate(f"(({{ x, y }}) => [x, y])(kernelLab.figures.{name}.plots[0])")
    for label, press in BUTTONS[name].items():
        state, at = read(page, name), 0
        if label in EDIT and label != "Add":
            at = len(state["points"]) - 1
        before = copy.deepcopy(state)
        button = page.get_by_role("button", name=label, exact=True)
        button.click()
        wait(page, until_there_is_no="picture")
        seen = page.evaluate("(name) => [read(name)]", name)
        compared = range(20) if name == "perceptron" and label in WALK else (0, 1, 9, 19)
        seen += page.evaluate(PRESS, [name, label, 18, [number - 1 for number in compared]])
        button.focus()
        page.keyboard.press("Enter")
        wait(page, until_there_is_no="picture")
        seen += page.evaluate("(name) => [read(name)]", name)
        assert len(seen) == 20
        states = [before]
        for number, each in enumerate(seen):
            at = press(context := state | {"figure": name, "window": window}, at)
            state = {key: value for key, value in context.items() if key in before}
            assert same(each["state"], state), f"{label}, press {number + 1}"
            if number in compared:
                HOLDS[name](**each)
            states.append(copy.deepcopy(state))
        changes = [a for a, b in pairwise(states) if not same(a, b)]
        for number, undone in enumerate(page.evaluate(PRESS, [name, "Undo", len(changes), []])):
            assert same(undone["state"], changes[-1 - number]), f"undo {number + 1} of {label}"
        if label in ("Add", "Run"):
            page.evaluate(PRESS, [name, label, 20, []])  # so that there is something to switch and to remove


def same(one, other) -> bool:
    """Whether states are equal, with points to the three digits that a link keeps."""
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return abs(one - other) <= 6e-4 if isinstance(one, (int, float)) else one == other


def _solved(name):
    """For each challenge, the address of a state that solves it."""
    points = copy.deepcopy(LAB.STARTS[name]().get("points", []))
    if name == "dual":
        points[5][1] = 1.45
        return [fragment(name, [[*p, 0] for p in points]), "#lab-dual=lambda:10"]
    if name == "hero":
        return ["#lab-hero=sigma:1.5,ridge:0.1", fragment(name, [[*p, 0] for p in points] + [[6, 1.6, 0]])]
    if name == "perceptron":
        return ["#lab-perceptron=sigma:0.6", fragment(name, [*points, [*points[0][:2], -points[0][2]]])]
    if name == "svm":
        fit = kc.kernel_svm(kc.Gaussian(0.7)(np.array(points)[:, :2]), np.array(points)[:, 2].astype(int), lam=0.0025)
        margins = np.array(points)[:, 2] * kc.decision_values(
            kc.Gaussian(0.7)(np.array(points)[:, :2]), fit.alpha, np.array(points)[:, 2].astype(int)
        )
        points[int(margins.argmax())][0] += 0.01  # far from the margin
        return ["#lab-svm=lambda:0.00005,sigma:0.35", fragment(name, points)]
    pair = {"landscape": [[np.log10(3.2), np.log10(0.04), 0]], "valley": [[np.log10(1.8), np.log10(0.2), 0]]}
    return {
        "builder": ["#lab-builder=step3:weight%20bell", "#lab-builder=step3:minus%20one"],
        "gaussian": ["#lab-gaussian=sigma:1.5,lambda:1", "#lab-gaussian=sigma:0.05,lambda:0.1"],
        "landscape": [fragment(name, pair["landscape"]), fragment(name, pair["valley"])],
        "playground": ["#lab-playground=layers:2,epochs:1000", "#lab-playground=model:kernel,sigma:0.4,lambda:0.0001"],
        "votes": ["", fragment(name, [[5, 0, 0]])],
    }[name]


@pytest.mark.parametrize("name", NAMES)
def test_challenges_are_open_at_first_and_the_figure_sees_when_they_are_solved(figure, name):
    page = figure(name)
    assert verdicts(page) == [False, False]
    for number, address in enumerate(_solved(name)):
        if (
            name == "votes" and number == 0
        ):  # by keyboard: x' moves to where the votes cancel, 0.004 at most between steps
            page.locator(".lab-handle[aria-label='x′']").focus()
            for _ in range(100):
                if verdicts(page)[0]:
                    break
                page.keyboard.press("ArrowRight")
        else:
            key = {"landscape": "pair", "votes": "cross"}.get(name, "points")
            page.evaluate(GO_TO, address[1:].replace("points:", f"{key}:"))
        assert verdicts(page)[number], f"{name}, challenge {number + 1}"
        saved(page)
        assert "Solved: " in page.get_by_role("status").inner_text()
        page.get_by_role("button", name="Reset").click()
    assert verdicts(page) == [False, False]


PRESETS = {
    f"{path.stem}: {words}": (name, state)
    for path in sorted((ROOT / "book").glob("*/*.md"))
    for words, name, state in re.findall(r"\{lab\}`([^`<]+) <(\w+)=([^`]+)>`", path.read_text(encoding="utf-8"))
}


def test_every_figure_but_the_first_has_presets():
    assert {name for name, _ in PRESETS.values()} == set(NAMES) - {"hero"}


@pytest.mark.parametrize("name", sorted({name for name, _ in PRESETS.values()}))
def test_presets_of_the_chapters_are_states_of_their_figures(figure, name):
    page = figure(name)
    start = read(page, name)
    for state in sorted({state for its, state in PRESETS.values() if its == name}):
        page.evaluate(GO_TO, f"lab-{name}={state}")
        there = read(page, name)
        changed = {key for key in there if there[key] != start[key]}
        assert changed == {part.partition(":")[0] for part in state.split(",")}, state
        assert page.evaluate(f"kernelLab.figures.{name}.link.hash") or saved(page)  # nothing was corrected


def test_each_role_has_the_colour_of_the_static_figures_and_contrast_on_its_ground():
    css = (LAB.SOURCE / "lab.css").read_text(encoding="utf-8")
    light, dark = (dict(re.findall(r"--lab-([\w-]+): (#\w{6});", rule)) for rule in css.split("}")[:2])
    assert light.keys() == dark.keys()
    roles = {"minus": "-1", "plus": "+1", "held-out": "held out", "fit": "gaussian"}
    for name in ("minus", "plus", "primal", "dual", "training", "held-out", "hinge", "fit"):
        assert light[name] == plots.ROLE[roles.get(name, name)]["color"].lower(), name
    used = re.findall(
        r'"([\w-]+)"', re.search(r"const ROLES = \[(.+?)\n\];", (LAB.SOURCE / "draw.js").read_text(), re.S)[1]
    )
    assert set(used) <= light.keys()

    def luminance(colour):
        channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels)
        return 0.2126 * r + 0.7152 * g + 0.0722 * b

    for colours in (light, dark):
        for name in colours.keys() - {"ground", "fill"}:
            low, high = sorted(luminance(colours[each]) for each in (name, "ground"))
            assert (high + 0.05) / (low + 0.05) >= 3, name


@pytest.mark.parametrize("name", NAMES)
def test_a_phone_shows_the_whole_figure_touch_drags_and_axe_finds_nothing(figure, name):
    page = figure(name, **PHONE)
    wait(page, until_there_is_no="picture")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.locator(".lab").bounding_box()["height"] <= 830  # the chapter's words come on top: 900 on the page
    for control in page.locator(".lab button >> visible=true").all():
        assert control.bounding_box()["height"] >= 24
    handle = a_handle(page)
    assert handle.bounding_box()["width"] >= 24
    handle.scroll_into_view_if_needed()
    (x, y), words = middle(handle), handle.get_attribute("aria-valuetext")
    drag_by_touch(page, handle, x + 20, y + 9)
    read(page, name)
    assert handle.get_attribute("aria-valuetext") != words
    tap_until(page.get_by_role("button", name="Undo"), lambda: handle.get_attribute("aria-valuetext") == words)
    wait(page, until_there_is_no="picture")
    page.add_script_tag(url=AXE.as_uri())
    assert page.evaluate(RUN_AXE, [None, {"preload": False}]) == []
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    wait(page, until_there_is_no="picture")
    assert page.evaluate(RUN_AXE, [None, {"preload": False, "runOnly": COLOURS}]) == []  # nothing else has changed


def test_tab_reaches_the_handles_in_one_stop_and_page_keys_go_through_them(figure):
    page = figure("gaussian")
    label = "document.activeElement.getAttribute('aria-label')"
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "lab-handle":
            break
    assert page.evaluate(label) == "Point 1"
    page.keyboard.press("PageDown")
    assert page.evaluate(label) == "Point 2"
    page.keyboard.press("Home")
    page.keyboard.press("PageUp")
    assert page.evaluate(label) == "Point 30"
    assert page.locator(".lab-handle[tabindex='0']").count() == 1


def test_a_press_in_the_landscape_goes_there(figure):
    page = figure("landscape")
    wait(page, until_there_is_no="picture")
    box = page.locator("canvas").first.bounding_box()
    page.mouse.click(box["x"] + 0.7 * box["width"], box["y"] + 0.5 * box["height"])
    state = read(page, "landscape")
    x, y = state["pair"][0][:2]
    handle = page.locator(".lab-handle")
    assert middle(handle)[0] == pytest.approx(box["x"] + 0.7 * box["width"], abs=1.5)
    assert handle.get_attribute("aria-valuetext").startswith("σ ")
    assert (x, y) != (-0.5, -2)


def test_the_box_takes_number_and_place_of_its_static_figure(figure, folder):
    """As in the book: words in the box, a static figure that the box replaces, a link to a state in the text."""
    text = (folder / "dual.html").read_text(encoding="utf-8")
    twin = '<figure id="fig-dual-fits"><p><span class="caption-number">Fig. 2.1 </span>static</p></figure>'
    box = LAB.opening("dual", "fig-dual-fits") + '<div class="lab-invite"><p>Pull one point away.</p></div></div>'
    words = '<p>Let <span class="lab-preset" data-state="dual=lambda:10">lambda grow</span>.</p>'
    opening = LAB.opening("dual")
    (folder / "twin.html").write_text(text.replace(f"{opening}</div>", f"{twin}{box}{words}"), encoding="utf-8")
    page = figure("twin")
    assert page.locator(".lab-title").inner_text() == "Fig. 2.1 (drag) Two solutions, one curve"
    assert page.locator("#fig-dual-fits").get_attribute("data-lab") == "dual"
    assert not page.locator("figure").is_visible()
    assert page.get_by_text("Pull one point away.").is_visible()
    page.get_by_role("link", name="lambda grow").click()
    assert read(page, "dual")["lambda"] == 10
    page.emulate_media(media="print")
    assert page.locator("figure").is_visible() and not page.locator(".lab").is_visible()
    page = figure("twin", java_script_enabled=False)
    assert page.locator("figure").is_visible() and not page.locator(".lab").is_visible()
    assert page.get_by_role("link").count() == 0 and page.get_by_text("Let lambda grow.").is_visible()


def test_a_changed_address_changes_the_figure(figure):
    page = figure("dual")
    before = note(page)
    page.evaluate(GO_TO, "lab-dual=lambda:5")
    assert note(page) != before
    assert page.get_by_label("λ").get_attribute("aria-valuetext") == "5"


def test_two_figures_share_the_address(figure):
    page = figure("two")
    for name in ("dual", "svm"):
        box = page.locator(f".lab[data-lab={name}]")
        box.locator("input[type=range]").first.focus()
        page.keyboard.press("ArrowRight")
        address = saved(page)
    assert re.fullmatch(r"#lab-dual=lambda:[\d.]+&lab-svm=lambda:[\d.]+", address)
    page.locator(".lab[data-lab=svm]").get_by_role("button", name="Reset").click()
    assert re.fullmatch(r"#lab-dual=lambda:[\d.]+", saved(page))


CLASSIFIERS = ["perceptron", "playground", "svm"]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_no_points_and_one_class_get_a_sentence(figure, name):
    page = figure(name, fragment(name, []))
    assert "no points" in note(page)
    page.get_by_role("button", name="Add", exact=True).click()
    assert "one class" in note(page)
    page.get_by_label("New points").select_option("-1")
    box = page.locator("canvas").first.bounding_box()
    page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    assert "one class" not in note(page)
    assert page.locator(".lab-bad").count() == 0
    assert page.locator(".lab-handle").count() == 2
    page.get_by_role("button", name="Switch").click()
    assert "one class" in note(page)
    page.get_by_role("button", name="Remove").click()
    page.get_by_role("button", name="Remove").click()
    assert "no points" in note(page)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_space_switches_and_delete_removes(figure, name):
    page = figure(name)
    wait(page, until_there_is_no="picture")
    handle = page.locator(".lab-handle").first
    count = page.locator(".lab-handle").count()
    handle.focus()
    words = handle.get_attribute("aria-valuetext")
    page.keyboard.press("Space")
    wait(page, until_there_is_no="picture")
    assert re.search("class .1", handle.get_attribute("aria-valuetext"))[0] != re.search("class .1", words)[0]
    page.keyboard.press("Delete")
    wait(page, until_there_is_no="picture")
    assert page.locator(".lab-handle").count() == count - 1
    assert page.evaluate("document.activeElement.className") == "lab-handle"


def test_duplicates_of_both_classes_get_an_answer(figure):
    twins = [[0.5, 0.5, 1], [0.5, 0.5, -1], [1, 1, 1], [-1, 0, -1]]
    assert "not separated" in note(figure("perceptron", fragment("perceptron", twins, checks=1000000)))
    assert "objective" in note(figure("svm", fragment("svm", twins)))


def test_a_vanishing_width_gets_a_sentence(figure):
    assert "K ≈ I" in note(figure("gaussian", "#lab-gaussian=sigma:0.01"))
    sparse = [[-1, -1, 1], [1, 1, -1], [2, -1, 1]]
    assert "by heart" in note(figure("svm", fragment("svm", sparse, sigma=0.01)))


def test_duplicates_leave_the_ridge_fit_alone(figure):
    text = note(figure("dual", fragment("dual", [[0, 1, 0], [0, -1, 0], [0, -1, 0]], **{"lambda": 0.001})))
    assert "differ by at most" in text
    assert "NaN" not in text


def test_builder_turns_red_with_a_counterexample(figure):
    page = figure("builder")
    assert "by the rules 6.13, 6.16." in note(page)
    page.get_by_label("Start with").select_option("distance")
    page.get_by_label("Step 1").select_option("")
    page.get_by_label("Step 2").select_option("")
    assert "Not a kernel: |x − x′| is not a kernel" in note(page)
    assert re.search(r"= −[\d.]+ < 0", note(page))
    assert page.locator(".lab-broken").count() == 1
    page.get_by_label("Start with").select_option("gaussian")
    assert "Not a kernel" not in note(page)
    assert page.locator(".lab-broken").count() == 0


def test_builder_says_when_values_overflow(figure):
    page = figure("builder", "#lab-builder=base:square,step1:exp%20,step2:exp%20,step3:exp%20")
    assert "too large" in note(page)


def test_playground_trains_a_network(figure):
    page = figure("playground", "#lab-playground=model:network,units:4")
    page.get_by_label("Data").select_option("xor")
    first = float(re.search(r"loss ([\d.]+\d)", note(page))[1])
    page.get_by_role("button", name="Train").click()
    page.wait_for_function(PAUSE)
    assert float(re.search(r"loss ([\d.]+\d)", note(page))[1]) < 0.8 * first
    assert page.locator(".lab-units canvas >> visible=true").count() == 4


def test_playground_does_not_move_for_those_who_asked(figure):
    page = figure("playground", "#lab-playground=model:network", reduced_motion="reduce")
    page.get_by_role("button", name="Train").click()
    assert "Epoch 500" in note(page)
    for _ in range(5):
        wait(page, until_there_is_no="picture")
    assert "Epoch 500" in note(page)


def test_playground_says_when_training_diverges(figure):
    page = figure("playground", "#lab-playground=model:network,activation:relu,layers:2,units:8,step:3,epochs:300")
    assert re.search("diverged|loss", note(page))
    assert "NaN" not in note(page)


def test_values_are_announced_when_things_calm_down(figure):
    page = figure("dual")
    status = page.get_by_role("status")
    page.locator(".lab-handle").first.focus()
    assert status.inner_text() == ""
    page.keyboard.press("ArrowRight")
    assert saved(page)
    assert status.inner_text() == note(page) != ""
