"""A class of two on a JupyterHub of this machine, tried by hand: `python -m
tools.try_hub`.

Needs `pip install jupyterhub==5.5.4 nbgitpuller==1.3.0` beside the course, and `npm install
configurable-http-proxy`, its folder `node_modules/.bin` in PATH. The hub listens on
127.0.0.1. Two learners share the installed course and have a copy of its folder each.
Both open 00, run a kernel, guess, and hand in; the board shows both. Then the teacher
mends a cell that a learner has changed, and nbgitpuller brings it.
"""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid

import psutil
from tornado.httpclient import HTTPRequest
from tornado.ioloop import IOLoop
from tornado.websocket import websocket_connect

from course_utils.distributed.workers import free_ports

COURSE = pathlib.Path(__file__).resolve().parents[1]
PORTS = free_ports(3)
HUB, INSIDE, PROXY = (f"http://127.0.0.1:{port}" for port in PORTS)
LEARNERS = ("ana", "ben")
CONFIG = """
c.JupyterHub.bind_url = {hub!r}
c.JupyterHub.hub_bind_url = {inside!r}
c.ConfigurableHTTPProxy.api_url = {proxy!r}
c.JupyterHub.authenticator_class = "dummy"
c.JupyterHub.spawner_class = "simple"
c.SimpleLocalProcessSpawner.home_dir_template = {homes!r}
c.Spawner.args = ["--allow-root"]
c.Spawner.cmd = [{python!r}, "-m", "jupyterhub.singleuser"]
c.Spawner.environment = {environment!r}
c.Spawner.start_timeout = 300
c.Spawner.http_timeout = 300
c.Authenticator.allow_all = True
c.JupyterHub.load_roles = [dict(name="teacher", services=["teacher"],
    scopes=["admin:users", "admin:servers", "access:servers"])]
c.JupyterHub.services = [dict(name="teacher", api_token={token!r})]
"""
CELL = """
from course_utils import session, paths
from course_utils.exercises import store
from course_utils import exercises
q = exercises.load("00")
q.predict({guess})
print("FILE", q.hand_in("{name}"))
print("PROGRESS", store.path())
import os, psutil; print("MB", psutil.Process(os.getpid()).memory_info().rss // 1_000_000)
session.setup()
print("MB", psutil.Process(os.getpid()).memory_info().rss // 1_000_000)
"""


def ask(path, token, method="GET", content=None):
    """What the hub or a learner's server answers, from JSON."""
    data = None if content is None else json.dumps(content).encode()
    headers = {"Authorization": f"token {token}", "Content-Type": "application/json"}
    request = urllib.request.Request(f"{HUB}{path}", data, headers, method=method)
    with urllib.request.urlopen(request, timeout=300) as answer:
        return json.loads(answer.read() or "null")


async def run(name, token, code):
    """What a cell prints in a new kernel of a learner."""
    kernel = ask(
        f"/user/{name}/api/kernels", token, "POST", {"path": "course/notebooks"}
    )
    url = f"{HUB}/user/{name}/api/kernels/{kernel['id']}/channels".replace(
        "http", "ws", 1
    )
    headers = {"Authorization": f"token {token}"}
    socket = await websocket_connect(HTTPRequest(url, headers=headers))
    header = {
        "msg_id": uuid.uuid4().hex,
        "msg_type": "execute_request",
        "version": "5.3",
    }
    header |= {"session": "s", "username": name, "date": ""}
    content = {
        "code": code,
        "silent": False,
        "store_history": True,
        "user_expressions": {},
    }
    content |= {"allow_stdin": False, "stop_on_error": True}
    message = {
        "header": header,
        "parent_header": {},
        "metadata": {},
        "content": content,
    }
    await socket.write_message(json.dumps(message | {"channel": "shell"}))
    printed = ""
    while True:
        answer = json.loads(await socket.read_message())
        if answer["parent_header"].get("msg_id") != header["msg_id"]:
            continue
        if answer["msg_type"] == "stream":
            printed += answer["content"]["text"]
        elif answer["msg_type"] == "error":
            printed += "\n".join(answer["content"]["traceback"])
        elif answer["msg_type"] == "execute_reply":
            return printed


def git(folder, *words):
    command = ["git", "-c", "user.name=a", "-c", "user.email=a@b.c", *words]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return (done.stdout + done.stderr).strip()


def class_of_two(folder, token):
    """Everything up to the board."""
    files = []
    for name in LEARNERS:
        ask(f"/hub/api/users/{name}", token, "POST")
        ask(f"/hub/api/users/{name}/server", token, "POST")
    for name in LEARNERS:
        start = time.monotonic()
        while (
            not ask(f"/hub/api/users/{name}", token)["servers"].get("", {}).get("ready")
        ):
            time.sleep(1)
        print(
            f"{name}: server ready, {time.monotonic() - start:.0f} s after the last one"
        )
    for guess, name in enumerate(LEARNERS, 2):
        at = f"/user/{name}/api/contents/course/notebooks/00_start_here.ipynb"
        notebook = ask(at, token)
        ask(at, token, "PUT", {k: notebook[k] for k in ("type", "format", "content")})
        print(f"{name}: 00 opened and saved, {len(notebook['content']['cells'])} cells")
        code = CELL.format(guess=guess, name=name)
        printed = IOLoop.current().run_sync(
            lambda code=code, name=name: run(name, token, code)
        )
        print(printed)
        files += re.findall(r"/\S*/hand-in-\S+\.json", printed)
    for process in psutil.process_iter(["cmdline"]):
        if "jupyterhub.singleuser" in (process.info["cmdline"] or []):
            print("server of a learner, MB:", process.memory_info().rss // 1_000_000)
    board = [sys.executable, "-m", "course_utils", "class-board", *files]
    print(
        subprocess.run(board, cwd=folder, capture_output=True, text=True).stdout.strip()
    )


def pull(folder):
    """A learner and the teacher change the same cell; nbgitpuller pulls."""
    teacher = folder / "teacher"
    mine = folder / "ana/course"
    at = "notebooks/01_floats.ipynb"
    for place, old, new in (
        (
            mine,
            "from course_utils import session",
            "mine = 1\\nfrom course_utils import session",
        ),
        (
            teacher,
            "from course_utils import session",
            "# mended\\nfrom course_utils import session",
        ),
        (teacher, "**At a glance**", "**At a mended glance**"),
    ):
        text = (place / at).read_text()
        assert old in text, old
        (place / at).write_text(text.replace(old, new, 1))
    print(git(teacher, "commit", "-qam", "Mended"))
    branch = git(teacher, "branch", "--show-current")
    gitpuller = [
        sys.executable,
        "-m",
        "nbgitpuller.pull",
        str(teacher),
        branch,
        str(mine),
    ]
    done = subprocess.run(gitpuller, cwd=folder, capture_output=True, text=True)
    print("nbgitpuller:", done.returncode, (done.stdout + done.stderr)[-300:])
    print(git(mine, "log", "--format=%an: %s", "-4"))

    def say(when):
        text = (mine / at).read_text()
        print(
            f"{when}: the learner's line",
            "mine = 1" in text,
            "· the teacher's repair of the same cell",
            "# mended" in text,
            "· and of another one",
            "At a mended" in text,
        )

    say("after the pull")
    print("stash:", git(mine / "notebooks", "stash", "push", "--", "."))
    say("after the stash")
    print("checkout:", git(mine / "notebooks", "checkout", "origin/HEAD", "--", "."))
    say("after the checkout")
    listed = subprocess.run(
        ["make", "-s", "handover"], cwd=mine, capture_output=True, text=True
    )
    print("handover lists:", listed.stdout)


def main():
    folder = pathlib.Path(tempfile.mkdtemp())
    token = uuid.uuid4().hex
    subprocess.run(["git", "clone", "-q", COURSE, folder / "teacher"], check=True)
    for name in LEARNERS:
        clone = ["git", "clone", "-q", folder / "teacher", folder / name / "course"]
        subprocess.run(clone, check=True)
    kept = ("PYTHONPATH", "COURSE_MNIST", "PATH")
    settings = {
        "hub": HUB,
        "inside": INSIDE,
        "proxy": PROXY,
        "homes": str(folder / "{username}"),
        "token": token,
        "python": sys.executable,
        "environment": {name: os.environ[name] for name in kept if name in os.environ},
    }
    (folder / "config.py").write_text(CONFIG.format(**settings))
    start = time.monotonic()
    with open(folder / "hub.log", "w") as log:
        hub = subprocess.Popen(
            [sys.executable, "-m", "jupyterhub", "-f", str(folder / "config.py")],
            cwd=folder,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        for _ in range(240):
            with contextlib.suppress(OSError):
                ask("/hub/api/users", token)
                break
            if hub.poll() is not None:
                sys.exit(f"The hub has ended: see {folder / 'hub.log'}")
            time.sleep(1)
        else:
            sys.exit(f"The hub does not answer: see {folder / 'hub.log'}")
        print(f"hub ready after {time.monotonic() - start:.0f} s")
        class_of_two(folder, token)
        pull(folder)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(hub.pid, signal.SIGTERM)  # and its proxy
        hub.wait(60)
        print("log:", folder / "hub.log")


if __name__ == "__main__":
    main()
