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

from_folder="" # set where packages come from a folder: uv would ask a network for pip
has_uv() { [ -z "$from_folder" ] && command -v uv >/dev/null 2>&1; }

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

explain() { # explain LOG: the installer's log, as one sentence
    if grep -qi "no space left" "$1"; then
        stop "The disk is full: free about 3 GB, then run make again."
    elif grep -qiE "dns error|name resolution|nameresolution|failed to fetch|new connection|network is unreachable|timed out|proxyerror" "$1"; then
        stop "The packages could not be downloaded: check the network connection, then run make again."
    elif grep -qiE "no matching distribution|no solution found" "$1"; then
        tail -n 5 "$1" >&2
        if [ "$from_folder" ]; then
            stop "The folder WHEELS lacks a package for Python $(version "$dir/bin/python") on this machine ($(uname -sm)): run make wheelhouse where both are the same and a network is at hand."
        fi
        stop "A package does not exist for this machine ($(uname -sm)): take another Python with make PYTHON=..., or run the course on Colab (docs/platforms.md)."
    fi
    tail -n 5 "$1" >&2
    stop "Installing failed, the lines above say why; when that is mended, run make again."
}

install() { # install DIR ARGS...
    dir=$1
    shift
    case " $* " in *" --no-index "*) from_folder=yes ;; esac
    log=$(mktemp) || stop "No temporary file could be made: check that TMPDIR names a folder you may write to."
    trap 'rm -f "$log"' EXIT
    trap 'exit 130' INT TERM HUP

    # DIR/incomplete is there while the first install runs: an interrupted one starts from scratch.
    if [ -e "$dir/incomplete" ] || ! suits "$(version "$dir/bin/python")" ||
        ! "$dir/bin/python" -m pip --version >/dev/null 2>&1; then
        python=$(find_python) || exit 1
        echo "Installing about 3 GB into $dir (Python $(version "$python")); takes 1-3 minutes."
        rm -rf "$dir"
        if has_uv; then
            uv venv --quiet --seed --python "$python" "$dir" >"$log" 2>&1 </dev/null || explain "$log"
        else
            "$python" -m venv "$dir" >"$log" 2>&1 </dev/null || explain "$log"
        fi
        : >"$dir/incomplete"
    else
        echo "Bringing $dir up to date."
    fi

    if has_uv; then
        uv pip install --quiet --compile-bytecode --python "$dir/bin/python" "$@" >"$log" 2>&1 </dev/null || explain "$log"
    else
        "$dir/bin/python" -m pip install --quiet --disable-pip-version-check "$@" >"$log" 2>&1 </dev/null || explain "$log"
    fi
    rm -f "$dir/incomplete"
}

case "${1:-}" in
find) find_python ;;
install) shift && install "$@" ;;
*) stop "Usage: sh tools/environment.sh find | install DIR ARGS..." ;;
esac
