"""A student at a notebook in the browser."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.conftest import PATIENCE

NOTEBOOK = "jupyterapp.shell.currentWidget"
READY = f"() => window.jupyterapp && {NOTEBOOK}?.context?.isReady && {NOTEBOOK}.content.widgets.length > 1"
# Cells far from the middle of the page are not rendered: a cell's output is read from the notebook itself.
CELLS = f"() => {NOTEBOOK}.content.model.toJSON().cells"
WRITE = f"([number, text]) => {NOTEBOOK}.content.model.cells.get(number).sharedModel.setSource(text)"
CHOOSE = f"(number) => {{ {NOTEBOOK}.content.activeCellIndex = number; {NOTEBOOK}.content.deselectAll(); }}"
RUN = f"""async (number) => {{
  ({CHOOSE})(number);
  await jupyterapp.commands.execute('notebook:run-cell');
  return {NOTEBOOK}.content.model.cells.get(number).toJSON().outputs ?? [];
}}"""
RUN_NEW = f"""async (text) => {{
  const number = {NOTEBOOK}.content.widgets.length;
  {NOTEBOOK}.content.activeCellIndex = number - 1;
  await jupyterapp.commands.execute('notebook:insert-cell-below');
  ({WRITE})([number, text]);
  return ({RUN})(number);
}}"""
# Python runs the code as it runs a cell's, but the page need not show it: long cells are expensive to show.
PRINTED = f"""async (code) => {{
  const kernel = {NOTEBOOK}.sessionContext.session.kernel;
  const request = kernel.requestExecute({{ code, store_history: false }});
  let printed = '';
  request.onIOPub = ({{ header, content }}) => {{
    if (header.msg_type === 'stream') printed += content.text;
  }};
  const {{ content }} = await request.done;
  if (content.status !== 'ok') throw new Error(`${{content.ename}}: ${{content.evalue}}`);
  return printed;
}}"""

# While Python starts, JupyterLite draws a moving picture, which takes a seventh of the processor time of the start.
STILL = """() => {
  const style = document.createElement('style');
  style.textContent = '*, *::before, *::after { animation: none !important; }';
  document.head.append(style);
}"""


def show_application(route: Any) -> None:
    """JupyterLite hands its application to the page where its settings say so; the site's do not."""
    answer = route.fetch()
    settings = answer.json()
    settings.setdefault("jupyter-config-data", {})["exposeAppInBrowser"] = True
    route.fulfill(response=answer, json=settings)


class Lab:
    """A notebook that is open in a page."""

    def __init__(self, context: Any) -> None:
        self.requests: list[str] = []
        self.troubles: list[str] = []
        context.on("request", lambda request: self.requests.append(request.url))
        context.route("**/jupyter-lite.json*", show_application)
        context.add_init_script(f"addEventListener('DOMContentLoaded', {STILL})")
        self.page = context.new_page()
        self.page.on("pageerror", lambda error: self.troubles.append(str(error)))
        self.page.set_default_timeout(PATIENCE)

    def open(self, address: str) -> None:
        self.page.goto(address)
        self.ready()

    def ready(self) -> None:
        """Wait for the notebook and its session; Python itself is still starting, and cells wait for it."""
        self.page.wait_for_function(READY)
        self.page.evaluate(f"() => {NOTEBOOK}.sessionContext.ready")

    def cells(self) -> list[dict[str, Any]]:
        return self.page.evaluate(CELLS)

    def write(self, number: int, text: str) -> None:
        self.page.evaluate(WRITE, [number, text])

    def run(self, number: int) -> list[dict[str, Any]]:
        """Run a cell to completion and return its outputs."""
        return self.page.evaluate(RUN, number)

    def start(self, number: int) -> None:
        """Run a cell without waiting for its end."""
        self.page.evaluate(CHOOSE, number)
        self.page.evaluate("() => { jupyterapp.commands.execute('notebook:run-cell'); }")

    def run_new(self, text: str) -> list[dict[str, Any]]:
        """Run code in a new cell at the end."""
        return self.page.evaluate(RUN_NEW, text)

    def printed(self, code: str) -> str:
        """What code prints, run by the notebook's Python without a cell."""
        return self.page.evaluate(PRINTED, code)

    def download(self, folder: Path) -> Path:
        """Save, then press Download as a student does."""
        self.page.keyboard.press("Control+s")
        with self.page.expect_download() as waiting:
            self.page.get_by_role("button", name="Download").or_(
                self.page.locator("jp-button[data-command='docmanager:download']")
            ).first.click()
        path = folder / waiting.value.suggested_filename
        waiting.value.save_as(path)
        return path


def text(outputs: list[dict[str, Any]]) -> str:
    """Everything in the outputs, as plain text."""
    said = []
    for output in outputs:
        words = output.get("text") or output.get("data", {}).get("text/plain") or output.get("evalue", "")
        said.append("".join(words))
    return "".join(said)
