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
SOURCES = ("requirements.txt", "pyproject.toml", "linter/pyproject.toml")
BIN = os.path.join(VENV, "Scripts" if WINDOWS else "bin")
PYTHON = os.path.join(BIN, "python.exe" if WINDOWS else "python")
SETTINGS = os.path.join(VENV, "share", "jupyter", "lab", "settings")
INSTALLER = os.path.join("tools", "install.py")


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
    """Return a command that starts a Python for the course."""
    problem = ""
    for python in candidates():
        found = version(python)
        if found in VERSIONS:
            if answer(python + ["-c", "import ensurepip, venv"]) is not None:
                return python
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


def is_installed():
    """Is .venv whole, and newer than the files that say what belongs into it?"""
    if os.path.exists(INCOMPLETE):
        return False
    if not os.path.exists(PYTHON) or not os.path.exists(STAMP):
        return False
    made = os.path.getmtime(STAMP)
    return all(os.path.getmtime(source) <= made for source in SOURCES)


def install(wheels):
    """Make .venv if need be, and bring it up to date, as tools/install.py does it."""
    python = [PYTHON]
    whole = not os.path.exists(INCOMPLETE) and version(python) in VERSIONS
    if not whole or answer(python + ["-m", "pip", "--version"]) is None:
        python = find_python()
    path = answer(python + ["-c", "import sys; print(sys.executable)"])
    needed = ["-r", "requirements.txt"]
    if wheels:
        needed = ["--no-index", "--find-links", wheels] + needed
    status = subprocess.call([path, INSTALLER, path, VENV] + needed)
    if status:
        sys.exit(status)
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
