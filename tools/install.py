"""Make an environment and install packages into it, with a line for each step.

    python tools/install.py PYTHON DIR ARGS...

makes DIR from PYTHON, if PYTHON is not DIR's own, and installs ARGS (as for pip) into it.
`make` and start.py call it. uv does the work, as pip takes longer. It comes through
pip where there is none, and where it cannot come or fails, pip does the work. What goes
wrong is told in one sentence that says what to do.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
import threading
import time
from pathlib import Path

WIDTH = 24  # of the bar, in characters
# Of uv, where it writes into no terminal. It names what is larger than 1 MiB alone.
SIZE = re.compile(r"^(Downloading) (\S+) \(([\d.]+)([KMG])iB\)$")
DONE = re.compile(r"^ (Downloaded) (\S+)$")
MIB = {"K": 1 / 1024, "M": 1, "G": 1024}
# The last thing that uv or pip began, as a learner may read it.
STATES = {
    "Resolved": "downloading",
    "Prepared": "unpacking",
    "Installed": "translating to byte code",
    "Collecting": "downloading",
    "Installing": "unpacking",
}
NETWORK = re.compile(
    "dns error|name resolution|nameresolution|failed to fetch|new connection|"
    "network is unreachable|timed out|proxyerror",
    re.IGNORECASE,
)
LACKING = re.compile("no matching distribution|no solution found", re.IGNORECASE)
FULL = re.compile("no space left", re.IGNORECASE)


class Step:
    """A step of the work: a line that a terminal draws anew until the step has ended,
    with the seconds so far, and with a bar where sizes are known.
    """

    def __init__(self, title):
        self.title = title
        self.start = time.monotonic()
        self.state = ""
        self.sizes = {}  # MiB of what is downloaded, by name
        self.there = set()
        self.lines = []

    def read(self, pipe):
        """Take in what the program prints, until it ends."""
        for line in pipe:
            line = line.rstrip("\n")
            self.lines.append(line)
            if match := SIZE.match(line):
                self.sizes[match[2]] = float(match[3]) * MIB[match[4]]
            if match := DONE.match(line):
                self.there.add(match[2])
            first = line.split(" ", 1)[0]
            self.state = STATES.get(first, self.state)

    def line(self):
        """The step's line as it is now."""
        parts = [self.title]
        if self.state:
            parts.append(self.state)
        if self.state == "downloading" and self.sizes:
            whole = sum(self.sizes.values())
            come = sum(self.sizes.get(name, 0) for name in list(self.there))
            full = round(WIDTH * come / whole)
            bar = "#" * full + "." * (WIDTH - full)
            parts.append(f"[{bar}] {come:,.0f} of {whole:,.0f} MiB")
        return ", ".join([*parts, self.seconds()])

    def run(self, *command):
        """Run a program to its end; return whether it failed."""
        if not sys.stdout.isatty():
            print(self.title, end=", ", flush=True)
        process = subprocess.Popen(
            list(map(str, command)),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
        )
        reader = threading.Thread(target=self.read, args=[process.stdout])
        reader.start()
        try:
            while reader.is_alive():
                reader.join(0.2)
                self.draw()
            return process.wait() != 0
        except KeyboardInterrupt:
            process.terminate()
            process.wait()
            raise
        finally:
            self.draw()
            if not sys.stdout.isatty():
                print(self.seconds(), end="")
            print(flush=True)

    def draw(self):
        """Draw the line over itself; nothing where the output is no terminal."""
        if sys.stdout.isatty():
            print(f"\r\x1b[2K{self.line()}", end="", flush=True)

    def seconds(self):
        """The time since the step began, in words."""
        return f"{time.monotonic() - self.start:.0f} s"


def explain(lines, python, from_folder=False):
    """End with one sentence on why the installer failed, below its last lines."""
    log = "\n".join(lines)
    machine = f"{platform.system()} {platform.machine()}"
    if FULL.search(log):
        sys.exit("The disk is full: free about 3 GB, then run this again.")
    if NETWORK.search(log):
        sys.exit(
            "The packages could not be downloaded: check the network connection, then "
            "run this again."
        )
    for line in lines[-5:]:
        print(line, file=sys.stderr)
    if LACKING.search(log) and from_folder:
        sys.exit(
            f"The folder WHEELS lacks a package for Python {version(python)} on this "
            f"machine ({machine}): run make wheelhouse where both are the same and a "
            "network is at hand."
        )
    if LACKING.search(log):
        sys.exit(
            f"A package does not exist for this machine ({machine}): take another "
            "Python (make PYTHON=...), or run the course on Colab (docs/platforms.md)."
        )
    sys.exit(
        "Installing failed, the lines above say why; when that is mended, run this "
        "again."
    )


def version(python):
    """The version of a Python, such as 3.12."""
    code = "import sys; print('%d.%d' % sys.version_info[:2])"
    run = subprocess.run([python, "-c", code], capture_output=True, text=True)
    return run.stdout.strip()


def program(folder, name):
    """The path of a program of an environment."""
    if os.name == "nt":
        return Path(folder, "Scripts", f"{name}.exe")
    return Path(folder, "bin", name)


def make(python, folder):
    """Make an empty environment, without pip, which uv installs in less time."""
    print(
        f"Installing about 3 GB into {folder} (Python {version(python)}), in three "
        "steps: half a minute to three minutes.",
        flush=True,
    )
    shutil.rmtree(folder, ignore_errors=True)
    step = Step("1 of 3: an empty environment")
    if step.run(python, "-m", "venv", "--without-pip", folder):
        explain(step.lines, python)


def bring_uv(python, folder):
    """Have the pip of PYTHON install uv into an environment; whether it did."""
    step = Step("2 of 3: uv, which installs faster than pip")
    pip = [python, "-m", "pip", "--python", program(folder, "python")]
    options = ["--quiet", "--disable-pip-version-check"]
    failed = step.run(*pip, "install", *options, "uv")
    if failed and NETWORK.search("\n".join(step.lines)):
        explain(step.lines, python)
    return not failed


def with_uv(uv, folder, arguments):
    """Install with uv; return whether it failed, and what it printed."""
    step = Step("3 of 3: the packages")
    options = ["--compile-bytecode", "--color", "never", "--python"]
    command = [uv, "pip", "install", *options, program(folder, "python")]
    return step.run(*command, "pip", *arguments), step.lines


def with_pip(folder, arguments):
    """Install with the environment's pip, which may have to come first."""
    python = program(folder, "python")
    step = Step("3 of 3: the packages, with pip, which takes longer than uv")
    if subprocess.run(
        [python, "-m", "pip", "--version"], capture_output=True
    ).returncode:
        step.run(python, "-m", "ensurepip")
    options = ["--progress-bar", "off", "--disable-pip-version-check"]
    if step.run(python, "-m", "pip", "install", *options, *arguments):
        explain(step.lines, python, "--no-index" in arguments)


def main(python, folder, *arguments):
    """Install, and return when all is there; SystemExit with a sentence otherwise."""
    marker = Path(folder, "incomplete")  # there while the first install runs
    if Path(python).absolute() == program(folder, "python").absolute():
        print(f"Bringing {folder} up to date.", flush=True)
    else:
        make(python, folder)
        marker.touch()
    if "--no-index" in arguments:  # from a folder: uv would ask a network for pip
        with_pip(folder, arguments)
    elif theirs := shutil.which("uv"):
        failed, lines = with_uv(theirs, folder, arguments)
        if failed:
            explain(lines, python)
    else:
        own = program(folder, "uv")
        failed = not (own.exists() or bring_uv(python, folder))
        if not failed:
            failed, _ = with_uv(own, folder, arguments)
        # It may not know what pip knows, such as the address of another index.
        if failed:
            with_pip(folder, arguments)
    marker.unlink(missing_ok=True)


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except KeyboardInterrupt:
        sys.exit(130)
