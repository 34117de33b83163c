#!/bin/sh
# Finds a Python for the course and makes an environment from it.
#
#   sh tools/environment.sh find                   prints the path of a Python that works
#   sh tools/environment.sh install DIR ARGS...    makes DIR if need be, installs ARGS (as for pip) into it
#
# PYTHON names the one Python to take, VERSIONS the versions that will do. This is plain sh because it
# runs where there may be no Python yet. Whatever goes wrong is told in one sentence that says what to do.

VERSIONS=${VERSIONS:-3.13 3.12 3.11}

stop() {
    echo "$1" >&2
    exit 1
}

ask() { # ask PYTHON EXPRESSION: what it answers, nothing if it does not run (a pyenv shim, Apple's stand-in)
    "$1" -c "import sys; print($2)" 2>/dev/null </dev/null
}

version() { ask "$1" '"%d.%d" % sys.version_info[:2]'; }

suits() { # suits VERSION
    case " $VERSIONS " in *" ${1:-none} "*) true ;; *) false ;; esac
}

has_uv() { command -v uv >/dev/null 2>&1; }

find_python() {
    cure="install Python 3.13 from https://www.python.org/downloads/ (or: uv python install 3.13), then run make again."
    if [ -n "${PYTHON:-}" ]; then
        set -- "$PYTHON"
        cure="give the path of another one, or leave PYTHON out."
    else
        set --
        for v in $VERSIONS; do set -- "$@" "python$v"; done
        set -- "$@" python3 python
        for v in $VERSIONS; do set -- "$@" "${HOME:-}"/.pyenv/versions/"$v".*/bin/python; done
    fi
    problem=""
    for candidate in "$@"; do
        found=$(version "$candidate")
        if [ -z "$found" ]; then
            continue
        elif ! suits "$found"; then
            [ -n "$problem" ] || problem="The course needs Python 3.11, 3.12 or 3.13, but $candidate is Python $found: $cure"
        elif has_uv || "$candidate" -c "import ensurepip, venv" >/dev/null 2>&1; then
            ask "$candidate" sys.executable
            return
        else
            problem="Python $found ($candidate) lacks its venv module: on Debian or Ubuntu run 'sudo apt install python$found-venv', then run make again."
        fi
    done
    [ -n "$problem" ] || problem="No Python that runs was found${PYTHON:+ at PYTHON=$PYTHON}: $cure"
    stop "$problem"
}

install() { # install DIR ARGS...
    python="$1/bin/python"
    # DIR/incomplete is there while the first install runs: an interrupted one starts from scratch.
    if [ -e "$1/incomplete" ] || ! suits "$(version "$python")" || ! "$python" -m pip --version >/dev/null 2>&1; then
        python=$(find_python) || exit 1
    fi
    exec "$python" tools/install.py "$python" "$@"
}

case "${1:-}" in
find) find_python ;;
install) shift && install "$@" ;;
*) stop "Usage: sh tools/environment.sh find | install DIR ARGS..." ;;
esac
