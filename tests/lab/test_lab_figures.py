"""The interactive figures as a reader uses them: mouse, touch, keyboard, links, dark, phone, and what can go wrong."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import kernelcourse as kc
from tests.lab.pages import LAB, fragment

AXE = (Path(__file__).parents[1] / "book/vendor/axe.min.js").read_text(encoding="utf-8")
NAMES = sorted(LAB.STARTS)
PHONE = {"viewport": {"width": 390, "height": 844}, "has_touch": True}
FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# The figure has listened for longer, so that it has heard when this promise is kept.
GO_TO = """(hash) => new Promise((done) => {
  window.addEventListener("hashchange", done, { once: true });
  location.hash = hash;
})"""


def wait(page, *, until_there_is_no: str) -> None:
    """Wait for the figures' own word that nothing of the kind is to come: a picture, or an address to be saved."""
    page.evaluate(FRAMES)  # what the last event has asked for, and the first look at the size
    page.wait_for_function("(kind) => !document.querySelector(`[data-pending~=${kind}]`)", arg=until_there_is_no)


def note(page) -> str:
    """The sentence below the last picture: an SVM may take some frames to converge."""
    wait(page, until_there_is_no="picture")
    return page.locator(".lab-note").first.inner_text()


def picture(page) -> str:
    """What the first canvas shows, as text: equal pictures are equal texts."""
    wait(page, until_there_is_no="picture")
    return page.evaluate("document.querySelector('canvas').toDataURL()")


def saved(page) -> str:
    """The address once the figure has put its state there."""
    wait(page, until_there_is_no="address")
    return page.evaluate("location.hash")


def middle(handle) -> tuple[float, float]:
    box = handle.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


@pytest.mark.parametrize("name", NAMES)
def test_a_figure_says_what_it_shows_and_the_mouse_drags_its_points(figure, name):
    page = figure(name)
    text = note(page)
    assert len(text) > 40
    assert not re.search(r"NaN|Infinity|undefined", text)
    assert page.locator(".lab-note.lab-bad").count() == 0
    handle = page.locator(".lab-handle").nth(2)
    before, words = picture(page), handle.get_attribute("aria-valuetext")
    x, y = middle(handle)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x + 20, y - 15, steps=2)
    page.mouse.up()
    dragged = picture(page)
    assert dragged != before
    assert handle.get_attribute("aria-valuetext") != words
    assert middle(handle)[0] == pytest.approx(x + 20, abs=1.5)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    assert picture(page) != dragged


@pytest.mark.parametrize("name", NAMES)
def test_keyboard_reaches_every_handle_and_moves_it(figure, name):
    page = figure(name)
    handles = page.locator(".lab-plot").first.locator(".lab-handle")
    count = page.evaluate("JSON.parse(document.querySelector('.lab').dataset.start).points?.length ?? 0")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.className") == "lab-handle":
            break
    label = "document.activeElement.getAttribute('aria-label')"
    assert page.evaluate(label) == "Point 1"
    page.keyboard.press("PageDown")
    assert page.evaluate(label) == "Point 2"
    page.keyboard.press("Home")
    page.keyboard.press("PageUp")
    if count:
        assert page.evaluate(label) == f"Point {count}"
    before, x = picture(page), middle(page.locator(".lab-handle:focus"))[0]
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+ArrowLeft")
    assert picture(page) != before
    assert middle(page.locator(".lab-handle:focus"))[0] < x - 15
    assert page.locator(".lab-handle:focus").get_attribute("aria-valuetext").startswith("x ")
    assert handles.first.bounding_box()["width"] >= 24
    stops = page.locator(".lab-handle[tabindex='0']").count()
    assert stops == (2 if name == "builder" else 1)  # the points together, and the cross


def test_touch_drags_a_point(figure):
    page = figure("dual", **PHONE)
    handle = page.locator(".lab-handle").nth(0)
    handle.scroll_into_view_if_needed()
    (x, y), words = middle(handle), handle.get_attribute("aria-valuetext")
    client = page.context.new_cdp_session(page)
    for kind, at in [("touchStart", [x, y]), ("touchMove", [x - 20, y + 30]), ("touchMove", [x - 40, y + 30])]:
        client.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": at[0], "y": at[1]}]})
    client.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    wait(page, until_there_is_no="picture")
    assert handle.get_attribute("aria-valuetext") != words
    assert middle(handle)[0] == pytest.approx(x - 40, abs=2)


@pytest.mark.parametrize("name", NAMES)
def test_a_link_brings_the_state_back_and_reset_takes_it_away(figure, name):
    page = figure(name)
    assert saved(page) == ""
    start = picture(page)
    handle = page.locator(".lab-handle").first
    handle.focus()
    page.keyboard.press("Shift+ArrowRight")
    address, text = saved(page), note(page)
    assert address.startswith(f"#lab-{name}=")
    assert page.get_by_role("link", name="Link to this state").get_attribute("href") == address
    again = figure(name, address)
    assert note(again) == text
    assert again.locator(".lab-handle").first.get_attribute("aria-valuetext") == handle.get_attribute("aria-valuetext")
    again.get_by_role("button", name="Reset").click()
    assert saved(again) == ""
    assert picture(again) == start


def test_sliders_move_by_keyboard_and_are_kept_in_the_link(figure):
    page = figure("svm")
    text = note(page)
    page.get_by_label("λ").focus()
    page.keyboard.press("ArrowRight")
    assert note(page) != text
    assert "lambda:0.002" in saved(page)


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


@pytest.mark.parametrize("name", NAMES)
def test_a_broken_link_does_no_harm(figure, name):
    page = figure(name, f"#lab-{name}=")
    for broken in (
        "points:zzzzzzz,lambda:NaN,sigma:-3,kernel:none,sample:99",
        "%,%E0:x,seed:-1,checks:1.5",
        "kernel:%E0",
    ):
        page.evaluate(GO_TO, f"lab-{name}={broken}")
        assert len(note(page)) > 40
        assert "NaN" not in note(page)


CLASSIFIERS = ["perceptron", "playground", "svm"]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_no_points_and_one_class_get_a_sentence(figure, name):
    page = figure(name, fragment(name, []))
    assert "no points" in note(page)
    page.get_by_role("button", name="Add a point").click()
    assert "one class" in note(page)
    page.get_by_label("New points are").select_option("-1")
    box = page.locator("canvas").first.bounding_box()
    page.mouse.click(box["x"] + 0.3 * box["width"], box["y"] + 0.3 * box["height"])
    assert "one class" not in note(page)
    assert page.locator(".lab-bad").count() == 0
    assert page.locator(".lab-handle").count() == 2
    page.get_by_role("button", name="Switch class").click()
    assert "one class" in note(page)
    page.get_by_role("button", name="Remove point").click()
    page.get_by_role("button", name="Remove point").click()
    assert "no points" in note(page)


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_space_switches_and_delete_removes(figure, name):
    page = figure(name)
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
    assert "Not separated" in note(figure("perceptron", fragment("perceptron", twins)))
    assert "Objective" in note(figure("svm", fragment("svm", twins)))


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
    assert "by the rules 6.13, 6.16, 6.14" in note(page)
    page.get_by_label("Start with").select_option("distance")
    page.get_by_label("Then 1").select_option("")
    page.get_by_label("Then 2").select_option("")
    page.get_by_label("Then 3").select_option("")
    assert "Not a kernel: |x − x′| is not a kernel" in note(page)
    assert re.search(r"= −[\d.]+ < 0", note(page))
    assert page.locator(".lab-broken").count() == 1
    page.get_by_label("Start with").select_option("gaussian")
    assert "Not a kernel" not in note(page)
    assert page.locator(".lab-broken").count() == 0


def test_builder_says_when_values_overflow(figure):
    page = figure("builder", "#lab-builder=base:square,step1:exp%20,step2:exp%20,step3:exp%20")
    assert "too large" in note(page)


def test_perceptron_goes_step_by_step(figure):
    page = figure("perceptron")
    assert "Epoch 13 went without a mistake" in note(page)
    assert "38 mistakes" in note(page)
    page.get_by_role("button", name="Start over").click()
    assert "Nothing is checked yet" in note(page)
    page.get_by_role("button", name="Check one point").click()
    assert "Point 1 has y f(x) = 0: a mistake, so its α becomes 1" in note(page)
    page.get_by_role("button", name="To the next mistake").click()
    assert re.search(r"a mistake.*So far 2 mistakes", note(page))
    page.get_by_role("button", name="One epoch").click()
    assert "Epoch 2" in note(page)
    page.get_by_role("button", name="Run").click()
    assert "38 mistakes" in note(page)


def test_perceptron_goes_from_mistake_to_mistake_as_the_library_does(figure):
    points = np.array(LAB.STARTS["perceptron"]()["points"])
    X, y = points[:, :2], points[:, 2].astype(int)
    fit = kc.kernel_perceptron_list(kc.Gaussian(0.3)(X), y)
    page = figure("perceptron")
    page.get_by_role("button", name="Start over").click()
    seen, press = [], page.get_by_role("button", name="To the next mistake")
    while len(seen) <= len(fit.mistakes_list):
        press.click()
        text = note(page)
        if "went without a mistake" in text:
            break
        seen.append(int(re.search(r"Point (\d+) .*a mistake, so its α", text)[1]) - 1)
        assert f"So far {len(seen)} mistakes" in text
    assert seen == fit.mistakes_list
    assert f"Epoch {fit.epochs} went without a mistake: done." in text
    assert np.bincount(seen, minlength=len(y)).tolist() == np.abs(fit.coefficients).astype(int).tolist()


def test_playground_trains_a_network(figure):
    page = figure("playground", "#lab-playground=model:network,units:4")
    page.get_by_label("Data").select_option("xor")
    first = float(re.search(r"loss ([\d.]+\d)", note(page))[1])
    page.get_by_role("button", name="Train").click()
    page.wait_for_function("() => /Epoch \\d{3}/.test(document.querySelector('.lab-note').textContent)")
    page.get_by_role("button", name="Pause").click()
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


@pytest.mark.parametrize("name", NAMES)
def test_a_phone_shows_the_whole_figure_and_axe_finds_nothing(figure, name):
    page = figure(name, **PHONE)
    wait(page, until_there_is_no="picture")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    for control in page.locator(".lab button >> visible=true").all():
        assert control.bounding_box()["height"] >= 24
    page.evaluate(AXE)
    for theme in ("light", "dark"):
        page.evaluate("(theme) => (document.documentElement.dataset.theme = theme)", theme)
        wait(page, until_there_is_no="picture")
        report = page.evaluate("axe.run(document, { resultTypes: ['violations'], preload: false })")
        assert [f"{v['id']}: {node['html'][:160]}" for v in report["violations"] for node in v["nodes"]] == []


@pytest.mark.parametrize("name", NAMES)
def test_without_javascript_and_in_print_there_is_no_box(figure, name):
    page = figure(name, java_script_enabled=False)
    assert not page.locator(".lab").is_visible()
    page = figure(name)
    page.emulate_media(media="print")
    assert not page.locator(".lab").is_visible()


def test_values_are_announced_when_things_calm_down(figure):
    page = figure("dual")
    status = page.get_by_role("status")
    page.locator(".lab-handle").first.focus()
    assert status.inner_text() == ""
    page.keyboard.press("ArrowRight")
    assert saved(page)
    assert status.inner_text() == note(page) != ""
