"""Bundle each explorer's modules and styles into the one script that its page carries.

    python -m tools.explorers

`make explorers` installs esbuild first, as tools/package-lock.json names it, and needs
Node.js. A learner needs neither: the scripts are committed beside a digest of what they
were made of, and a test compares it.
"""

import hashlib
import json
import re
import subprocess
from pathlib import Path

from course_utils.explorers.fragment import BUILT

SOURCES = BUILT.parent
# The pages of one explorer each, of whose modules these have an entry of their own.
PAGES = Path(__file__).parent / "toys"
ENTRIES = ("float", "bathtub", "cliff", "sigmoids")
DIGEST = BUILT / "sources.sha256"
ESBUILD = Path(__file__).parent / "node_modules/.bin/esbuild"
# The modules of an explorer name its styles by this constant.
STYLES = "CSS"


def digest():
    """Return the SHA-256 of all modules and styles, and of what was made of them."""
    kinds = (
        SOURCES.glob("*.mjs"),
        SOURCES.glob("*.css"),
        BUILT.glob("*.html"),
        PAGES.glob("*.mjs"),
        (PAGES / "built").glob("*.js"),
    )
    files = [file for kind in kinds for file in sorted(kind)]
    return hashlib.sha256(b"".join(map(Path.read_bytes, files))).hexdigest()


def esbuild(*options, text=None):
    """Return what esbuild prints, if need be of a text."""
    command = [
        ESBUILD,
        "--log-level=error",
        "--minify",
        "--charset=utf8",
        "--target=es2022",
        *options,
    ]
    done = subprocess.run(
        command, input=text, stdout=subprocess.PIPE, encoding="utf-8", check=True
    )
    return done.stdout


def modules(entry):
    """Return the names of the modules that one of them needs, each after those that it
    needs itself.
    """
    report = esbuild(entry, "--bundle", "--metafile=/dev/stdout", "--outfile=/dev/null")
    return [Path(name).name for name in json.loads(report)["inputs"]]


def script(entry):
    """Return an explorer's script as HTML. Its styles are shared.css and those of each
    of its modules that has a file of its name.
    """
    names = ["shared.mjs", *modules(entry)]
    files = [(SOURCES / name).with_suffix(".css") for name in names]
    text = "".join(file.read_text(encoding="utf-8") for file in files if file.exists())
    styles = json.dumps(esbuild("--loader=css", text=text).strip(), ensure_ascii=False)
    code = esbuild(entry, "--bundle", "--format=iife", f"--define:{STYLES}={styles}")
    return f"<script>\n{code}</script>\n"


def main():
    BUILT.mkdir(exist_ok=True)
    for entry in sorted(SOURCES.glob("*.mjs")):
        if STYLES in re.findall(r"\b[A-Z]+\b", entry.read_text(encoding="utf-8")):
            path = BUILT / f"{entry.stem}.html"
            path.write_text(script(entry), encoding="utf-8")
            print(f"{path.name} {path.stat().st_size:,} bytes")
    for name in ENTRIES:
        path = PAGES / "built" / f"{name}.js"
        path.parent.mkdir(exist_ok=True)
        path.write_text(
            esbuild(PAGES / f"{name}.mjs", "--bundle", "--format=iife"),
            encoding="utf-8",
        )
        print(f"{path.name} {path.stat().st_size:,} bytes")
    DIGEST.write_text(digest() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
