"""The interactive figures in Chromium: main-thread time of a repaint while a point is dragged.

Goals: 30 frames a second with 200 points in the plane (33 ms per frame), and 10 ms for a ridge solve with 100 points.
"""

import tempfile
from pathlib import Path

import numpy as np

from tests.benchmarks.harness import Row
from tests.conftest import CHROMIUM, QUIET
from tests.lab.pages import fragment, write_pages

# Each frame's callbacks are timed inside the page, in wall-clock time: other work on the machine counts. TaskDuration
# is the main thread's own processor time, including what the browser adds (events, style, layout, paint).
TIMER = """
  window.frames_ms = [];
  const request = window.requestAnimationFrame.bind(window);
  window.requestAnimationFrame = (draw) => request((now) => {
    const start = performance.now();
    draw(now);
    window.frames_ms.push(performance.now() - start);
  });
"""


def drag(browser, page_file: Path, address: str, steps: int = 120) -> tuple[np.ndarray, float]:
    """Drag one point in circles: milliseconds of script and of the main thread's processor time per frame."""
    page = browser.new_page(viewport={"width": 820, "height": 1000})
    page.add_init_script(TIMER)
    page.goto(page_file.as_uri() + address)
    page.wait_for_timeout(1500)
    box = page.locator(".lab-handle").first.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    client = page.context.new_cdp_session(page)
    client.send("Performance.enable", {"timeDomain": "threadTicks"})

    def busy() -> float:
        return {m["name"]: m["value"] for m in client.send("Performance.getMetrics")["metrics"]}["TaskDuration"]

    page.mouse.move(x, y)
    page.mouse.down()
    page.evaluate("frames_ms.length = 0")
    before = busy()
    for angle in np.linspace(0, 6 * np.pi, steps):
        page.mouse.move(x + 30 * np.sin(angle), y + 30 * (1 - np.cos(angle)))
    page.mouse.up()
    times, total = np.array(page.evaluate("frames_ms")), busy() - before
    page.close()
    return times, 1000 * total / len(times)


def run() -> list[Row]:
    if CHROMIUM is None:
        raise SystemExit("no Chromium on this machine: tests/system.sh names the package")
    from playwright.sync_api import sync_playwright

    rng = np.random.default_rng(0)
    line = [[x, t, 0] for x, t in zip(rng.uniform(-1, 1, 100), rng.normal(0, 0.3, 100), strict=True)]
    cloud = [[a, b, 1 if a * b > 0 else -1] for a, b in rng.normal(0, 0.8, (200, 2))]
    jobs = {
        "dual, 100 points: two ridge solves and redraw": ("dual", fragment("dual", line), 10),
        "svm, 200 points": ("svm", "", 33),
        "perceptron, neighbours and SVM, 200 points": ("perceptron", fragment("perceptron", cloud), 33),
        "playground, kernel machine, 200 points": ("playground", fragment("playground", cloud, data="own"), 33),
        "gaussian, 30 points, 34 ridge solves": ("gaussian", "", 33),
    }
    rows = []
    nothing = float("nan")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        pages = write_pages(Path(folder))
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        for job, (name, address, goal) in jobs.items():
            times, whole = drag(browser, pages / f"{name}.html", address)
            median, late = np.percentile(times, [50, 95])
            note = f"{len(times)} frames, median {median:.1f} ms, 95th percentile {late:.1f} ms, "
            note += f"processor time with the browser's part {whole:.1f} ms; goal {goal} ms"
            best = times.min() / 1000
            rows.append(Row(job, "", median / 1000, best, nothing, nothing, nothing, (nothing, nothing), note))
        browser.close()
    return rows
