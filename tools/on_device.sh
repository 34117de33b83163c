#!/bin/sh
# What the course wants to know of a GPU or TPU, in at most eight minutes:
#
#     sh tools/on_device.sh FOLDER
#
# writes FOLDER/bench.json (the roofs, and the steps of the fitted CNN and of a Transformer block under each policy, as
# Keras compiles them), FOLDER/bench-no-xla.json, FOLDER/sums.json (who adds up in what), FOLDER/traces and FOLDER/log.
# PYTHON names a Python that has the course's packages; without it that of `make lab` is taken. SHARE=0.1 takes a tenth
# of the time.
set -eu
folder=${1:?usage: sh tools/on_device.sh FOLDER}
python=${PYTHON:-.venv/bin/python}
COURSE_PACE=${SHARE:-1}
export COURSE_PACE
mkdir -p "$folder"
: >"$folder/log"

# A part that fails, or takes longer than its seconds, leaves the others. All have 480.
run() {
    limit=$1
    shift
    echo "$(date +%T) $*" | tee -a "$folder/log"
    timeout "$limit" "$python" -m "$@" >>"$folder/log" 2>&1 || echo "failed, see $folder/log: $*" | tee -a "$folder/log"
}

run 200 course_utils bench --seconds 40 --output "$folder/bench.json"
run 90 course_utils bench --seconds 20 --parts cnn transformer --no-xla --output "$folder/bench-no-xla.json"
run 70 tools.device_trace "$folder/traces"
run 120 course_utils sums --all --output "$folder/sums.json"
echo "$(date +%T) done: $(ls "$folder" | tr '\n' ' ')"
