"""Installs the course into .venv if need be, and opens JupyterLab on notebook 00.

    python start.py                           (on Windows: py start.py)
    python start.py --no-browser --port 8899  passes what follows on to JupyterLab
    python start.py --wheels FOLDER           installs from a wheelhouse, without a network

The same line opens it again tomorrow. `make lab` does the same, with the same .venv.
Any Python runs this, even 2.7, if only to say that another one is needed: the syntax
is old, and no text is an f-string.
"""

import argparse
import glob
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
WINDOWS = os.name == "nt"
VERSIONS = ("3.13", "3.12", "3.11")
# An install touches the stamp last; the mark `incomplete` is there while the first one
# runs, so an interrupted one starts from scratch. `make lab` has the same two names.
VENV = ".venv"
STAMP = os.path.join(VENV, "lab.stamp")
INCOMPLETE = os.path.join(VENV, "incomplete")
SOURCES = ("requirements.txt", "pyproject.toml")
BIN = os.path.join(VENV, "Scripts" if WINDOWS else "bin")
PYTHON = os.path.join(BIN, "python.exe" if WINDOWS else "python")
SETTINGS = os.path.join(VENV, "share", "jupyter", "lab", "settings")
# What pip and uv say of a cause that can be named.
DISK = "no space left|not enough space"
NETWORK = (
    "dns error|name resolution|nameresolution|getaddrinfo|failed to fetch"
    "|new connection|network is unreachable|timed out|proxyerror"
)
PACKAGE = "no matching distribution|no solution found"


def say(text):
    """Print a line at once, also where a pipe would keep it back."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


def answer(command):
    """Return what a command prints, or None where it does not run or fails."""
    try:
        with open(os.devnull, "w") as nowhere:
            told = subprocess.check_output(command, stderr=nowhere)
    except (OSError, subprocess.CalledProcessError):
        return None
    return told.decode("utf-8", "replace").strip()


def version(python):
    """Return the version of a Python, such as "3.12", or None where it does not run."""
    code = "import sys; print('.'.join(map(str, sys.version_info[:2])))"
    return answer(python + ["-c", code])


def candidates():
    """Yield commands that may start a Python, this one first."""
    yield [sys.executable]
    for each in VERSIONS:
        if WINDOWS:
            yield ["py", "-" + each]
        yield ["python" + each]
    yield ["python3"]
    yield ["python"]
    for each in VERSIONS:
        folder = os.path.join("~", ".pyenv", "versions", each + ".*")
        for path in glob.glob(
            os.path.expanduser(os.path.join(folder, "bin", "python"))
        ):
            yield [path]


def find_python():
    """Return a command that starts a Python for the course, and its version."""
    problem = ""
    for python in candidates():
        found = version(python)
        if found in VERSIONS:
            if answer(python + ["-c", "import ensurepip, venv"]) is not None:
                return python, found
            problem = (
                "Python " + found + " lacks its venv module: on Debian or Ubuntu run "
                "'sudo apt install python" + found + "-venv', then start again."
            )
        elif found and not problem:
            problem = (
                "The course needs Python 3.11, 3.12 or 3.13, but this is Python "
                + found
                + ": install Python 3.13 from https://www.python.org/downloads/, "
                "then start again."
            )
    sys.exit(problem)


def run(command):
    """Run a step of the install. Return "" if it worked, else all that it said.

    Its downloads are shown as they begin: they take most of the time.
    """
    out = subprocess.PIPE
    try:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT)
    except OSError as error:
        return str(error)
    lines = []
    for line in iter(process.stdout.readline, b""):
        lines.append(line.decode("utf-8", "replace").strip())
        if lines[-1].startswith("Downloading "):
            say("   " + lines[-1])
    if process.wait() == 0:
        return ""
    return "\n".join(lines) or "It failed without a word."


def stop(said, wheels):
    """End with one sentence that says what to do after an install failed."""
    if re.search(DISK, said, re.IGNORECASE):
        sys.exit("The disk is full: free about 3 GB, then start again.")
    if re.search(NETWORK, said, re.IGNORECASE):
        sys.exit(
            "The packages could not be downloaded: check the network connection, "
            "then start again."
        )
    say("\n".join(said.splitlines()[-5:]))
    if not re.search(PACKAGE, said, re.IGNORECASE):
        sys.exit(
            "Installing failed, the lines above say why; when that is mended, "
            "start again."
        )
    if wheels:
        sys.exit(
            "The folder " + wheels + " lacks a package for this Python on this "
            "machine: run make wheelhouse where both are the same and a network is "
            "at hand."
        )
    sys.exit(
        "A package does not exist for this machine: start with another Python, or run "
        "the course on Colab (docs/platforms.md)."
    )


def is_installed():
    """Is .venv whole, and newer than the files that say what belongs into it?"""
    if os.path.exists(INCOMPLETE):
        return False
    if not os.path.exists(PYTHON) or not os.path.exists(STAMP):
        return False
    made = os.path.getmtime(STAMP)
    return all(os.path.getmtime(source) <= made for source in SOURCES)


def make_environment():
    """Make .venv anew, marked as incomplete."""
    python, found = find_python()
    say("Installing about 3 GB into .venv; takes 1-3 minutes.")
    say("1. Make an environment with Python " + found + ".")
    shutil.rmtree(VENV, ignore_errors=True)
    said = run(python + ["-m", "venv", VENV])
    if said:
        stop(said, None)
    open(INCOMPLETE, "w").close()


def install_packages(wheels):
    """Install requirements.txt: with uv, or with pip where uv cannot be had or fails.

    Return "" if it worked, else what was said.
    """
    pip = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check"]
    needed = ["-r", "requirements.txt"]
    if wheels:
        say("2. Install the packages from " + wheels + ".")
        return run(pip + ["--no-index", "--find-links", wheels] + needed)
    say("2. Fetch uv, which installs faster than pip.")
    said = run(pip + ["uv"])
    if not said:
        say("3. Fetch and install the packages.")
        uv = [PYTHON, "-m", "uv", "pip", "install", "--python", PYTHON]
        said = run(uv + ["--compile-bytecode"] + needed)
        if not said:
            return ""
    elif re.search(NETWORK, said, re.IGNORECASE):
        return said
    say("3. uv does not work here: pip fetches and installs the packages, more slowly.")
    return run(pip + needed)


def install(wheels):
    """Make .venv if need be, and bring it up to date."""
    begun = not os.path.exists(INCOMPLETE) and version([PYTHON]) in VERSIONS
    if begun and answer([PYTHON, "-m", "pip", "--version"]) is not None:
        say("Bringing .venv up to date.")
    else:
        make_environment()
    said = install_packages(wheels)
    if said:
        stop(said, wheels)
    if os.path.exists(INCOMPLETE):
        os.remove(INCOMPLETE)
    open(STAMP, "w").close()
    os.utime(STAMP, None)


def open_lab(arguments):
    """Run JupyterLab on the course's folder; return its exit status when it ends."""
    if not os.path.isdir(SETTINGS):
        os.makedirs(SETTINGS)
    own = os.path.join("tools", "lab_settings.json")
    shutil.copy(own, os.path.join(SETTINGS, "overrides.json"))
    command = [PYTHON, "-m", "jupyterlab", "--allow-root", "--ServerApp.root_dir=."]
    command.append("--LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb")
    path = os.path.join(HERE, BIN) + os.pathsep + os.environ.get("PATH", "")
    say("JupyterLab opens. Ctrl+C here ends it, and the same line opens it tomorrow.")
    process = subprocess.Popen(command + arguments, env=dict(os.environ, PATH=path))
    while True:
        try:
            return process.wait()
        except KeyboardInterrupt:
            pass  # JupyterLab has got it too, and asks whether to end


def main(arguments):
    """Install if need be, and open JupyterLab; return its exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--wheels", help="a folder with the packages")
    own, others = parser.parse_known_args(arguments)
    wheels = os.path.abspath(own.wheels) if own.wheels else None
    os.chdir(HERE)
    try:
        if not is_installed():
            install(wheels)
    except KeyboardInterrupt:
        sys.exit("Interrupted: the same line starts again.")
    return open_lab(others)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
