"""A room of forty hands in through a browser's form, tried by hand: `python -m
tools.try_room [PYTHON]`.

Needs `pip install uploadserver==6.0.5` in the environment of PYTHON (without it, in this
one), and Chromium. The server listens on 127.0.0.1. Each learner is a process with a
folder and progress of its own, which guesses and hands in; eight are at work at a time.
One of them sends the file with the form, in Chromium, the others send what the form sends.
The board is made while files arrive, and when all have. Then come those that go wrong.
"""

import http.client
import io
import json
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.pictures import COURSE, browser

PORT = 8798
LEARNERS = [f"Learner {n}" for n in range(36)] + ["Ana", "Ana", "Zoë 李", "../up"]
LEARNER = """
import sys
from course_utils import exercises
q = exercises.load("00")
q.predict(float(sys.argv[2]))
print(q.hand_in(sys.argv[1]))
"""
BORDER = "----board"


def hand_in(folder, name, guess):
    """Let a learner's process hand in from this folder; return the path of the file."""
    folder.mkdir(exist_ok=True)
    own = os.environ | {"COURSE_PROGRESS": str(folder / "progress.jsonl")}
    own["PYTHONPATH"] = f"{COURSE}{os.pathsep}{COURSE / 'linter'}"
    command = [sys.executable, "-c", LEARNER, name, str(guess)]
    done = subprocess.run(
        command, cwd=folder, env=own, check=True, capture_output=True, text=True
    )
    (path,) = re.findall(r"(\S+\.json)$", done.stdout.strip())
    return Path(path)


def body_of(name, content):
    """Return what a browser's form sends of one file."""
    head = (
        f"--{BORDER}\r\nContent-Disposition: form-data; "
        f'name="files"; filename="{name}"\r\n\r\n'
    )
    return head.encode() + content + f"\r\n--{BORDER}--\r\n".encode()


def send(name, content, cut=None):
    """Send a file as the form does, or only so many bytes of it; return the answer."""
    body = body_of(name, content)
    server = http.client.HTTPConnection("127.0.0.1", PORT, timeout=30)
    server.putrequest("POST", "/upload")
    server.putheader("Content-Type", f"multipart/form-data; boundary={BORDER}")
    server.putheader("Content-Length", str(len(body)))
    server.endheaders()
    server.send(body[:cut])
    if cut:
        time.sleep(1)
        seen = board()  # while it is on its way
        server.close()
        return seen
    answer = server.getresponse()
    return f"{answer.status} {answer.reason}"


def send_by_form(path):
    """Send a file with the form, as a learner does; return what the page says."""
    with browser() as page:
        page.goto(f"http://127.0.0.1:{PORT}/upload")
        page.locator("input[type=file]").set_input_files(path)
        page.get_by_role("button", name="Upload").click()
        page.wait_for_function(
            "document.getElementById('status').innerText.includes(':')"
        )
        return page.locator("#status").inner_text()


def zipped(path):
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        file.write(path, path.name)
    return archive.getvalue()


def board(*before):
    """Make the board as an instructor does; return its lines."""
    command = [*before, sys.executable, "-m", "course_utils", "class-board", str(ROOM)]
    command += ["--out", str(ROOM.parent / "board.html")]
    done = subprocess.run(
        command, cwd=COURSE, capture_output=True, text=True, check=False
    )
    text = done.stderr + done.stdout
    return (
        text.replace(f"{ROOM}{os.sep}", "")
        .replace(f"{ROOM.parent}{os.sep}", "")
        .strip()
    )


def count(shown):
    return shown.splitlines()[-1]


def go_wrong(folder, first):
    """Try what goes wrong in a room, and print what is told of it."""
    content = first.read_bytes()
    again = hand_in(folder / "0", LEARNERS[0], 9.0)
    print("the same learner once more, another guess:", again.name == first.name)
    print("  sent:", send(again.name, again.read_bytes()))
    kept = json.loads((ROOM / first.name).read_text("utf-8"))["progress"]["00"]["guess"]
    print("  the folder has the later guess:", kept)
    print("a browser's second copy:", send(f"{first.stem} (1).json", content))
    print("  board:", count(board()))
    (ROOM / f"{first.stem} (1).json").unlink()
    print("cut on its way, the board meanwhile:", send("cut.json", content * 40, 3000))
    time.sleep(1)
    print("  and afterwards:", board())
    print("  files:", sorted(p.name for p in ROOM.iterdir() if p.suffix != ".json"))
    for path in ROOM.iterdir():
        if path.suffix != ".json":
            path.unlink()
    wrong = {
        "00_start_here.ipynb": (COURSE / "notebooks/00_start_here.ipynb").read_bytes(),
        "photo.jpg": b"\xff\xd8\xff\xe0" + bytes(3_000_000),
        "hand-in.zip": zipped(first),
        "hand-in-mine.json.txt": content.replace(b"Learner 0", b"Learner 0 by mail"),
        "empty.json": b"",
        "../../up.json": content.replace(b"Learner 0", b"Learner up"),
    }
    for name, data in wrong.items():
        print(f"{name}:", send(name, data))
    print("a form without a file:", send("", b""))
    print(board())
    (ROOM / first.name).chmod(0)
    if os.name != "nt" and os.geteuid() == 0:
        told = board("setpriv", "--reuid=65534", "--clear-groups").splitlines()
        print("a file that may not be read:", *(t for t in told if first.name in t))


def wait_for_server(server):
    for _ in range(100):
        with socket.socket() as one:
            if one.connect_ex(("127.0.0.1", PORT)) == 0:
                return
        time.sleep(0.1)
    server.kill()
    raise SystemExit("The server did not start: pip install uploadserver==6.0.5")


def main(python):
    with tempfile.TemporaryDirectory() as scratch:
        global ROOM
        version = (
            "from importlib.metadata import version; print(version('uploadserver'))"
        )
        subprocess.run([python, "-c", version], check=True)
        folder = Path(scratch)
        folder.chmod(0o755)
        ROOM = folder / "room"
        ROOM.mkdir()
        command = [python, "-m", "uploadserver", str(PORT), "--allow-replace"]
        command += ["--bind", "127.0.0.1", "--directory", str(ROOM)]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(command, stdout=log, stderr=log)
            try:
                wait_for_server(server)
                started = time.monotonic()
                with ThreadPoolExecutor(8) as pool:
                    paths = list(
                        pool.map(
                            lambda n: hand_in(folder / f"{n}", LEARNERS[n], 1 + n / 10),
                            range(len(LEARNERS)),
                        )
                    )
                    print(f"{len(paths)} files of {len({p.name for p in paths})} names")
                    print("by the form:", send_by_form(paths[0]))
                    sent = [
                        pool.submit(send, path.name, path.read_bytes())
                        for path in paths[1:]
                    ]
                    print("while they arrive:", count(board()))
                    print("answers:", {each.result() for each in sent})
                print(f"all sent after {time.monotonic() - started:.0f} s:", board())
                go_wrong(folder, paths[0])
            finally:
                server.terminate()
                server.wait()
        outside = [path.name for path in folder.glob("*.json")]
        print("outside the folder:", outside)


if __name__ == "__main__":
    main(*(sys.argv[1:] or [sys.executable]))
