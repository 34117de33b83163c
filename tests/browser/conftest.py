"""Fixtures of the browser tests: `lab` is a learner in front of JupyterLab (see harness.py)."""

import os
from pathlib import Path

import pytest
from harness import browsing, find_chromium
from server import running


def missing(reason):
    """Skip where a browser is not at hand; on CI it has to be."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}, and CI must not skip the browser tests.")
    pytest.skip(f"{reason}.")


@pytest.fixture(scope="session")
def chromium():
    path = find_chromium()
    if path is None:
        missing("No Chromium was found on the PATH: install it, or name it in CHROMIUM")
    if not Path(path).exists():
        pytest.fail(f"CHROMIUM names {path}, which does not exist.")
    return path


@pytest.fixture(scope="session")
def jupyterlab(chromium, tmp_path_factory):
    """One JupyterLab for all tests, on a copy of the course."""
    with running(tmp_path_factory.mktemp("jupyterlab")) as server:
        yield server


@pytest.fixture
def lab(jupyterlab):
    """A new window; Playwright's event loop ends with it, so that other tests may have theirs."""
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        missing("Playwright is not installed")
    jupyterlab.progress.unlink(missing_ok=True)
    with sync_playwright() as playwright, browsing(playwright, jupyterlab) as lab:
        yield lab
