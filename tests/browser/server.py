"""A JupyterLab server of its own for the browser tests: a copy of the course, own settings."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

COURSE = Path(__file__).resolve().parents[2]
START_SECONDS = 90
# Cells outside the window exist in the page too, nothing is saved behind a test's back, and no
# request for news leaves the machine.
SETTINGS = {
    "notebook-extension/tracker": {"windowingMode": "none", "scrollPastEnd": False},
    "docmanager-extension/plugin": {"autosave": False},
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
}
# `python -m jupyterlab` that ends when its standard input does: also when the tests are killed.
COMMAND = """\
import os, runpy, signal, sys, threading
def watch():
    sys.stdin.read()
    os.kill(os.getpid(), signal.SIGTERM)
threading.Thread(target=watch, daemon=True).start()
runpy.run_module("jupyterlab", run_name="__main__")
"""


@dataclass
class Server:
    """Where JupyterLab answers, and the folder that it shows."""

    url: str
    token: str
    root: Path
    progress: Path  # the file that COURSE_PROGRESS names
    log: Path


def copy_course(target):
    """Copy what a learner needs into `target`, so that no test writes into the checkout."""
    target.mkdir(parents=True)
    for name in ("notebooks", "course_utils", "data"):
        if (COURSE / name).is_dir():
            skip = shutil.ignore_patterns("__pycache__", ".ipynb_checkpoints")
            shutil.copytree(COURSE / name, target / name, ignore=skip)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def environment(folder):
    """Return an environment in which nothing of the user's own Jupyter is read or written."""
    own = {"COURSE_PROGRESS": folder / "progress.json", "IPYTHONDIR": folder / "ipython"}
    for name in ("config", "data", "runtime"):
        own[f"JUPYTER_{name.upper()}_DIR"] = folder / name
    for name, values in SETTINGS.items():
        file = folder / f"config/lab/user-settings/@jupyterlab/{name}.jupyterlab-settings"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(values))
    unwanted = ("JUPYTER_", "JUPYTERLAB_", "MPLBACKEND", "PYTEST_")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(unwanted)}
    return kept | {"JUPYTER_PREFER_ENV_PATH": "1"} | {key: str(value) for key, value in own.items()}


def wait_until_up(server, process):
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(f"{server.url}/api/status?token={server.token}", timeout=5)
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    raise RuntimeError(f"JupyterLab did not start:\n{server.log.read_text()[-3000:]}")


@contextmanager
def running(folder):
    """Start JupyterLab on a copy of the course below `folder`; stop it at the end for certain."""
    root, port, token = folder / "course", free_port(), secrets.token_hex(16)
    copy_course(root)
    address = f"http://127.0.0.1:{port}"
    server = Server(address, token, root, folder / "progress.json", folder / "log")
    command = [sys.executable, "-c", COMMAND, "--no-browser", "--expose-app-in-browser"]
    command += [f"--ServerApp.port={port}", "--ServerApp.port_retries=0", "--allow-root"]
    command += [f"--IdentityProvider.token={token}", f"--ServerApp.root_dir={root}"]
    command += ["--LabApp.check_for_updates_class=jupyterlab.NeverCheckForUpdate"]
    with server.log.open("w") as log:
        process = subprocess.Popen(
            command,
            cwd=root,
            env=environment(folder),
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        wait_until_up(server, process)
        yield server
    finally:
        process.stdin.close()  # the server ends with it, and takes its kernels along
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
