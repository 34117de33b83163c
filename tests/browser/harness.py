"""Drive a real JupyterLab in a real Chromium: the `lab` object of the browser tests.

Playwright's own objects stay in reach: `lab.page`, `lab.cell(id)` and `lab.output(id)` take any
locator method. Wait with `lab.page.wait_for_timeout`, never with `time.sleep`, which stops
Playwright's event handling.
"""

import json
import time
from contextlib import contextmanager
from urllib.parse import quote, urlsplit

from chromium import FLAGS, find_chromium

THEMES = {"light": "JupyterLab Light", "dark": "JupyterLab Dark"}
TALLEST = 16000  # pixels; Chromium draws no picture taller than 16384
NOTEBOOK = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer"
LOCAL = {"127.0.0.1", "localhost", ""}

# What the page's code sees: app, panel, cells.
PRELUDE = """
const app = window.jupyterapp;
const panel = app.shell.currentWidget;
const cells = panel?.content?.widgets ?? [];
const find = id => {
  const cell = typeof id === 'number' ? cells[id] : cells.find(c => c.model.id === id);
  if (!cell) throw new Error(`no cell ${id}; there are ${cells.map(c => c.model.id)}`);
  return cell;
};
"""
STATE = """
const code = cells.filter(c => c.model.type === 'code' && c.model.sharedModel.getSource().trim());
const error = code.flatMap(c => c.model.outputs.toJSON().filter(o => o.output_type === 'error')
  .map(o => ({id: c.model.id, text: `${o.ename}: ${o.evalue}`})));
return {waiting: code.filter(c => c.model.executionCount === null).map(c => c.model.id), error,
        kernel: panel.sessionContext.session?.kernel?.status ?? 'none',
        dialog: document.querySelector('.jp-Dialog')?.innerText ?? ''};
"""


@contextmanager
def browsing(playwright, server):
    """Give a `Lab`; close its kernel and its window at the end."""
    browser = playwright.chromium.launch(executable_path=find_chromium(), args=FLAGS)
    lab = Lab(browser, server)
    try:
        yield lab
    finally:
        lab.close()
        browser.close()


class Lab:
    """One learner in front of JupyterLab, with one notebook open."""

    def __init__(self, browser, server, width=1200, height=900):
        self.server, self.width, self.height = server, width, height
        self.context = browser.new_context(viewport={"width": width, "height": height})
        self.page = None
        self.errors = []  # messages of the console and uncaught exceptions
        self.outside = []  # addresses asked for on other hosts
        self.context.on("request", lambda request: self._watch(request.url))

    def _watch(self, url):
        if (urlsplit(url).hostname or "") not in LOCAL:
            self.outside.append(url)

    def _new_page(self):
        page = self.context.new_page()
        page.on("console", lambda m: self.errors.append(m.text) if m.type == "error" else None)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("websocket", lambda socket: self._watch(socket.url))
        return page

    def js(self, body, argument=None):
        """Run JavaScript that sees `app`, `panel`, `cells`, `find(id or index)` and `argument`."""
        return self.page.evaluate(f"async argument => {{ {PRELUDE} {body} }}", argument)

    def write(self, name, nb):
        """Put a notebook (nbformat's or a dict) into the server's copy of the course."""
        path = self.server.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(nb), encoding="utf-8")

    def open(self, notebook, theme="light"):
        """Open `notebooks/NAME.ipynb` in a new window, with a fresh kernel."""
        self.close()
        self.page = self._new_page()
        path, token = quote(str(notebook)), self.server.token
        self.page.goto(f"{self.server.url}/lab/tree/{path}?reset&token={token}")
        ready = "window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel"
        self.page.wait_for_function(ready, timeout=60_000)
        self.js("await app.restored; await panel.context.ready; await panel.revealed;")
        self.js("app.shell.collapseLeft?.(); app.shell.collapseRight?.();")
        self.set_theme(theme)
        self.wait_idle(60)
        self.js("for (const c of cells) c.node.dataset.cellId = c.model.id;")

    def set_theme(self, theme):
        name = THEMES[theme]
        self.js("await app.commands.execute('apputils:change-theme', {theme: argument})", name)
        self.page.wait_for_function("n => document.body.dataset.jpThemeName === n", arg=name)

    def close(self):
        """Shut the kernel down and close the window."""
        if self.page and not self.page.is_closed():
            try:
                self.js("await panel?.sessionContext?.shutdown()")
            finally:
                self.page.close()
        self.page = None

    # Running.

    def wait_idle(self, timeout=60):
        """Wait until every cell that was started is done and the kernel is idle."""
        self._wait(timeout, lambda state: state["kernel"] == "idle")

    def _wait(self, timeout, done):
        deadline = time.monotonic() + timeout
        while True:
            state = self.js(STATE)
            if state["dialog"]:
                raise AssertionError(f"JupyterLab asks: {state['dialog']}")
            if done(state):
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"After {timeout} s: {state}")
            self.page.wait_for_timeout(100)

    def run_all(self, timeout=300):
        """Choose Run All and wait until every code cell was run; AssertionError if one raised."""
        self.js("for (const c of cells) if (c.model.type === 'code') c.model.clearExecution();")
        self.js("app.commands.execute('notebook:run-all-cells');")

        def done(state):
            if state["error"]:
                raise AssertionError("Run All stops at {id}: {text}".format(**state["error"][0]))
            return not state["waiting"] and state["kernel"] == "idle"

        self._wait(timeout, done)

    def start(self, cell):
        """Run one cell without waiting for it."""
        self.js(
            """panel.content.activeCellIndex = cells.indexOf(find(argument));
            find(argument).model.clearExecution();
            app.commands.execute('notebook:run-cell');""",
            cell,
        )

    def run(self, cell, timeout=60):
        """Run one cell and return its output as text."""
        self.start(cell)
        id = self.js("return find(argument).model.id", cell)
        self._wait(timeout, lambda s: id not in s["waiting"] and s["kernel"] == "idle")
        return self.text(cell)

    def interrupt(self):
        self.js("await panel.sessionContext.session.kernel.interrupt()")

    def restart(self):
        """Restart the kernel, without the question that the menu asks."""
        self.js("await panel.sessionContext.session.kernel.restart()")
        self.wait_idle()

    # Reading and writing cells.

    def cell(self, cell):
        """The cell with this id or index, as a Playwright locator."""
        id = self.js("return find(argument).model.id", cell)
        return self.page.locator(f'{NOTEBOOK} .jp-Cell[data-cell-id="{id}"]')

    def output(self, cell):
        """The cell's output area, as a Playwright locator."""
        return self.cell(cell).locator(".jp-OutputArea").first

    def text(self, cell):
        """The output as a reader sees it (of a markdown cell: the rendered text)."""
        if self.js("return find(argument).model.type", cell) != "code":
            return self.cell(cell).locator(".jp-MarkdownOutput").inner_text().strip()
        parts = self.output(cell).locator(":scope > * > .jp-OutputArea-output")
        return "\n".join(part.strip() for part in parts.all_inner_texts())

    def outputs(self, cell):
        """The outputs as nbformat would store them, a list of dicts."""
        return self.js("return find(argument).model.outputs.toJSON()", cell)

    def source(self, cell):
        return self.js("return find(argument).model.sharedModel.getSource()", cell)

    def set_source(self, cell, source):
        """Replace the cell's source; to type with real keys use `type`."""
        self.js("find(argument[0]).model.sharedModel.setSource(argument[1])", [cell, source])

    def click(self, cell, selector, **options):
        """Click what the CSS selector (or `text=…`) finds in the cell's output."""
        self.output(cell).locator(selector).first.click(**options)

    def type(self, cell, selector, text, enter=True):
        """Replace the text of a field in the cell's output by real keys."""
        field = self.output(cell).locator(selector).first
        field.click()
        field.press("ControlOrMeta+a")
        field.press_sequentially(text)
        if enter:
            field.press("Enter")

    def press(self, cell, selector, *keys):
        """Focus an element in the cell's output and press keys, such as "ArrowRight"."""
        element = self.output(cell).locator(selector).first
        element.focus()
        for key in keys:
            element.press(key)

    def screenshot(self, path, cell=None):
        """Save a picture of one cell's output, or of the whole notebook from top to bottom."""
        if cell is not None:
            self.output(cell).screenshot(path=path)
            return
        notebook = self.page.locator(NOTEBOOK)
        height = notebook.evaluate("n => n.scrollHeight") + self.height
        self.page.set_viewport_size({"width": self.width, "height": min(height, TALLEST)})
        self.page.wait_for_timeout(300)
        notebook.screenshot(path=path)
        self.page.set_viewport_size({"width": self.width, "height": self.height})
