"""Drive a real JupyterLab in a real Chromium: the `lab` object of the browser tests.

Playwright's own objects stay in reach: `lab.page` and `lab.output(id)` take any locator
method. Wait with `lab.page.wait_for_timeout`, never with `time.sleep`, which stops
Playwright's event handling.
"""

import json
import os
import shutil
import time
from contextlib import contextmanager
from urllib.parse import quote, urlsplit

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-sync"]
NOTEBOOK = ".jp-NotebookPanel:not(.lm-mod-hidden) .jp-WindowedPanel-outer"
LOCAL = {"127.0.0.1", "localhost", ""}
SIZE = {"width": 1200, "height": 900}

# What the page's code sees: app, panel, cells, find.
PRELUDE = """
const app = window.jupyterapp;
const panel = app.shell.currentWidget;
const cells = panel?.content?.widgets ?? [];
const find = id => {
  const cell = cells.find(c => c.model.id === id);
  if (!cell) throw new Error(`no cell ${id}; there are ${cells.map(c => c.model.id)}`);
  return cell;
};
"""
STATE = """
const code = cells.filter(c => c.model.type === 'code' && c.model.sharedModel.getSource().trim());
const error = code.flatMap(c => c.model.outputs.toJSON().filter(o => o.output_type === 'error')
  .map(o => `${c.model.id}: ${o.ename}: ${o.evalue}`));
return {waiting: code.filter(c => c.model.executionCount === null).map(c => c.model.id), error,
        kernel: panel.sessionContext.session?.kernel?.status ?? 'none',
        dialog: document.querySelector('.jp-Dialog')?.innerText ?? ''};
"""


def find_chromium():
    """Return the path of Chromium, or None; the variable CHROMIUM goes before the usual
    names.
    """
    if os.environ.get("CHROMIUM"):
        return os.environ["CHROMIUM"]
    names = ("chromium", "chromium-browser", "google-chrome")
    return next(filter(None, map(shutil.which, names)), None)


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

    def __init__(self, browser, server):
        self.server = server
        self.context = browser.new_context(viewport=SIZE)
        self.page = None
        self.errors = []  # messages of the console and uncaught exceptions
        self.outside = []  # addresses asked for on other hosts
        self.context.on("request", lambda request: self._watch(request.url))

    def _watch(self, url):
        if (urlsplit(url).hostname or "") not in LOCAL:
            self.outside.append(url)

    def js(self, body, argument=None):
        """Run JavaScript that sees `app`, `panel`, `cells`, `find(id)` and `argument`."""
        return self.page.evaluate(f"async argument => {{ {PRELUDE} {body} }}", argument)

    def write(self, name, nb):
        """Put a notebook (nbformat's or a dict) into the server's copy of the course."""
        (self.server.root / name).write_text(json.dumps(nb), encoding="utf-8")

    def open(self, notebook):
        """Open `notebooks/NAME.ipynb` in a new window, with a fresh kernel and the
        light theme.
        """
        self.close()
        self.page = self.context.new_page()
        self.page.on(
            "console",
            lambda m: self.errors.append(m.text) if m.type == "error" else None,
        )
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("websocket", lambda socket: self._watch(socket.url))
        path = quote(str(notebook))
        token = self.server.token
        self.page.goto(f"{self.server.url}/lab/tree/{path}?reset&token={token}")
        self._wait_until_open()

    def turn_to(self, notebook):
        """Open another notebook in the same window, in place of the one that is there,
        whose kernel goes on, as it does when somebody closes a notebook. What was seen
        until then is forgotten.
        """
        self.js("panel.dispose();")
        self.page.wait_for_timeout(300)  # what it had asked its kernel is cancelled
        self.errors.clear()
        self.outside.clear()
        self.js(
            "await app.commands.execute('docmanager:open', {path: argument});", notebook
        )
        self._wait_until_open()

    def _wait_until_open(self):
        ready = (
            "window.jupyterapp?.shell?.currentWidget?.sessionContext?.session?.kernel"
        )
        self.page.wait_for_function(ready, timeout=60_000)
        self.js("await app.restored; await panel.context.ready; await panel.revealed;")
        self.js("app.shell.collapseLeft?.(); app.shell.collapseRight?.();")
        self.set_theme("light")
        self.wait_idle()
        self.js("for (const c of cells) c.node.dataset.cellId = c.model.id;")

    def come_back(self):
        """Save, end the kernel and load the page again: tomorrow, before any cell has
        run.
        """
        self.js(
            "await app.commands.execute('docmanager:save'); await panel.context.ready;"
        )
        self.js("await panel.sessionContext.shutdown()")
        self.page.reload()
        self._wait_until_open()

    @contextmanager
    def as_wide_as(self, width):
        """A narrower or wider window for a while."""
        self.page.set_viewport_size(SIZE | {"width": width})
        self.page.wait_for_timeout(1000)  # JupyterLab lays out late
        yield
        self.page.set_viewport_size(SIZE)

    def set_theme(self, theme):
        name = f"JupyterLab {theme.capitalize()}"
        self.js(
            "await app.commands.execute('apputils:change-theme', {theme: argument})",
            name,
        )
        self.page.wait_for_function(
            "n => document.body.dataset.jpThemeName === n", arg=name
        )

    def close(self):
        """Shut the kernel down and close the window."""
        if self.page:
            self.js("await panel?.sessionContext?.shutdown()")
            self.page.close()
        self.page = None

    # Running.

    def wait_idle(self):
        """Wait until every cell that was started is done and the kernel is idle."""
        self._wait(60, lambda state: state["kernel"] == "idle")

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
        """Choose Run All and wait until every code cell was run; AssertionError if one
        raised.
        """
        self.js(
            "for (const c of cells) if (c.model.type === 'code') c.model.clearExecution();"
        )
        self.js("app.commands.execute('notebook:run-all-cells');")
        self.wait_for(timeout)

    def wait_for(self, timeout, *wanted):
        """Wait until these code cells were run, all if none is named; AssertionError if
        one raised.
        """

        def done(state):
            if state["error"]:
                raise AssertionError(f"Run All stops at {state['error'][0]}")
            waiting = set(state["waiting"])
            if wanted:
                waiting &= set(wanted)
            return not waiting and state["kernel"] == "idle"

        self._wait(timeout, done)

    def start(self, cell):
        """Run one cell without waiting for it."""
        self.js(
            """panel.content.activeCellIndex = cells.indexOf(find(argument));
            find(argument).model.clearExecution();
            app.commands.execute('notebook:run-cell');""",
            cell,
        )

    def run(self, *cells):
        """Run cells one after the other, and return the last one's output as text."""
        for cell in cells:
            self.start(cell)
            self._wait(
                120, lambda s, id=cell: id not in s["waiting"] and s["kernel"] == "idle"
            )
        return self.text(cell)

    # Reading cells.

    def output(self, cell):
        """The cell's output area, as a Playwright locator."""
        found = f'{NOTEBOOK} .jp-Cell[data-cell-id="{cell}"] .jp-OutputArea'
        return self.page.locator(found).first

    def text(self, cell):
        """The output as a reader sees it who unfolds what is folded."""
        parts = self.output(cell).locator(":scope > * > .jp-OutputArea-output")
        parts.locator("details").evaluate_all(
            "all => all.forEach(each => { each.open = true; })"
        )
        return "\n".join(part.strip() for part in parts.all_inner_texts())
