"""Fixtures of the browser tests: `lab` is a learner in front of JupyterLab (see
harness.py).
"""

import os
from functools import partial

import pytest
from explorer_pages import Pages
from harness import FLAGS, browsing, find_chromium
from playwright.sync_api import sync_playwright
from server import running


@pytest.fixture(scope="session")
def chromium():
    path = find_chromium()
    if path is None:
        reason = "they need Chromium. Install it (apt install chromium), or name it in CHROMIUM."
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    return path


@pytest.fixture(scope="session")
def jupyterlab(chromium, tmp_path_factory):
    """One JupyterLab for all tests, on a copy of the course."""
    with running(tmp_path_factory.mktemp("jupyterlab")) as server:
        yield server


@pytest.fixture
def lab(jupyterlab):
    """A new window; Playwright's event loop ends with it, so that other tests may have
    theirs.
    """
    jupyterlab.progress.unlink(missing_ok=True)
    with sync_playwright() as playwright, browsing(playwright, jupyterlab) as lab:
        yield lab


@pytest.fixture(scope="module")
def bare(chromium):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield Pages(browser.new_context(has_touch=True).new_page())
        browser.close()


@pytest.fixture
def pages(bare):
    """A page without JupyterLab, one for each file; nothing may go wrong until the test
    ends.
    """
    bare.wrong.clear()
    yield bare
    assert bare.wrong == []


@pytest.fixture
def show(pages, request):
    """A function that shows the file's `Shown` anew."""
    return partial(pages.show, request.module.Shown)
