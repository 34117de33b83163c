# Mixed Precision, Measured. `make help` lists what there is.
# For GNU make 3.81 (macOS) and later. Every path is relative, so that the folder's name may hold spaces.

# `make matrix` has another environment, with other packages.
VENV    = .venv
REQUIREMENTS = tests/requirements.txt
INSTALL = sh tools/environment.sh install
PYTEST  = $(VENV)/bin/python -m pytest
# Some files at a time, each whole in one worker, in the order given: the longest first. Three on two cores, as kernels,
# browsers and processes that tests start are waited for a third of the time.
APART   = --dist loadfile --no-loadscope-reorder -n
SLOWEST = --durations 15 --durations-min 5
# Measurements take a fifth of their time, as when somebody rehearses (course_utils.progress.pace).
PACED   = COURSE_PACE=0.2
NBVAL   = $(SLOWEST) --nbval-current-env --nbval-cell-timeout 600 $(APART) 3
# Those that train for minutes, and the others, most of whose outputs are compared with what is stored.
TRAINING = 07 10 11 08 05 13 12 04 02 06
COMPARED = 09 03 00 01
LONGEST  = $(TRAINING) $(COMPARED)
N        = 10

.PHONY: help lab wheelhouse test full lint unit every compared solved blank pins pins-run quick size notebooks explorers colab site slides matrix soak handover clean again

help:
	@echo "make lab          install the course into .venv and open notebook 00 in JupyterLab"
	@echo "                  (ARGS='--no-browser --port 8899' is passed on to it)"
	@echo "                  (WHEELS=folder installs from a wheelhouse, without a network)"
	@echo "make wheelhouse   download the packages that make lab installs into dist/wheelhouse (0.8 GB)"
	@echo "make test         install the test tools too and run the tests: less than a quarter of an hour on two quiet cores"
	@echo "make full         and the slow ones, all notebooks, and these on Colab's versions (needs Python 3.13)"
	@echo "make quick        the tests that take less than two minutes"
	@echo "make pins         run the notebooks twice over on Colab's versions (needs Python 3.13)"
	@echo "make size         print how large the course is"
	@echo "make notebooks    write notebooks/solved/ from the blank notebooks"
	@echo "make explorers    bundle the explorers' modules after a change (needs Node.js)"
	@echo "make colab        write a release's files (the wheel, notebooks for Colab) into dist/colab/"
	@echo "make site         write the web site into dist/site: open dist/site/index.html"
	@echo "make slides       write a talk of each notebook, or of NAMES=02 alone, into dist/slides"
	@echo "make matrix       test other Pythons and the oldest versions (an hour; by hand)"
	@echo "make soak N=10    run every notebook N times, or NAMES=07 alone (by hand)"
	@echo "make handover     list what a class changed and made here; ERASE=1 erases it for good"
	@echo "make clean        remove the environments and what was generated; your work stays"
	@echo "PYTHON=/path/to/python after any of these chooses the Python to install with."

# Environments. A stamp is touched last: an interrupted install leaves none. A .venv whose Python went
# away, for example with an update of the system, is made again.

again:
$(VENV)/lab.stamp $(VENV)/test.stamp: $(shell test -x $(VENV)/bin/python || echo again)

$(VENV)/lab.stamp: requirements.txt pyproject.toml linter/pyproject.toml
	@$(INSTALL) $(VENV) $(if $(WHEELS),--no-index --find-links "$(WHEELS)") -r requirements.txt
	@touch $(VENV)/lab.stamp

$(VENV)/test.stamp: requirements.txt $(REQUIREMENTS) pyproject.toml linter/pyproject.toml
	@$(INSTALL) $(VENV) -r $(REQUIREMENTS) $(OLDER)
	@touch $(VENV)/lab.stamp $(VENV)/test.stamp

.venv-colab/colab.stamp: tests/colab-requirements.txt tests/colab-constraints.txt
	@PYTHON= VERSIONS=3.13 $(INSTALL) .venv-colab -r tests/colab-requirements.txt
	@touch .venv-colab/colab.stamp

# Learning. The token that JupyterLab asks for stays on; --allow-root only matters in containers. Its
# question about Jupyter's news would cover a corner of the notebook at every first start, and a panel whose
# state is not saved is an error tomorrow.

SETTINGS = $(VENV)/share/jupyter/lab/settings

lab: $(VENV)/lab.stamp
	@mkdir -p $(SETTINGS) && cp tools/lab_settings.json $(SETTINGS)/overrides.json
	@PATH="$$PWD/$(VENV)/bin:$$PATH" $(VENV)/bin/python -m jupyterlab --allow-root --ServerApp.root_dir=. \
	    --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb $(ARGS)

# For a room without a network. FOR names another kind of machine in pip's words, and what its packages need there:
# FOR="--only-binary=:all: --platform win_amd64 --python-version 3.13 pywin32 pywinpty colorama tzdata"

wheelhouse: $(VENV)/lab.stamp
	@mkdir -p dist/wheelhouse && grep -v '^-e' requirements.txt >dist/wheelhouse/requirements.txt
	$(VENV)/bin/python -m pip download --dest dist/wheelhouse -r dist/wheelhouse/requirements.txt \
	    hatchling hatch-requirements-txt editables $(FOR)

# Testing, in parts that can be run alone. What they left out (conftest.py keeps it) is said again at the end.

WHOLE = test
PARTS = lint unit compared

full:
	@$(MAKE) --no-print-directory test WHOLE=full PARTS="lint every solved pins"

test: $(VENV)/test.stamp
	@rm -f .pytest_cache/*.left-out; failed=; for part in $(PARTS); do \
	    echo "== make $(WHOLE): $$part"; $(MAKE) --no-print-directory $$part || failed="$$failed $$part"; \
	done; \
	if [ "$$failed" ]; then echo "make $(WHOLE): failed:$$failed"; else echo "make $(WHOLE): all parts passed"; fi; \
	cat .pytest_cache/*.left-out 2>/dev/null; test -z "$$failed"

lint: $(VENV)/test.stamp
	$(VENV)/bin/python -m ruff check .
	$(VENV)/bin/python -m ruff format --check .
	$(VENV)/bin/python -m mypy
	$(VENV)/bin/python -c "from importlinter import cli; cli.lint_imports_command()" --no-logo
	$(VENV)/bin/python -m tools.notebooks --check

# The examples in docstrings run too. conftest.py keeps what was left out beside each part's report.
UNIT = $(PYTEST) $(APART) 3 $(SLOWEST) --junitxml=.pytest_cache/unit.xml --doctest-modules \
    linter tests/test_clinic.py tests course_utils

# Not what holds TensorFlow and Keras to what the notebooks teach.
unit: $(VENV)/test.stamp
	@mkdir -p .pytest_cache && echo "Canaries left out: they test TensorFlow and Keras, not the course." \
	    "make full runs them." >.pytest_cache/canaries.left-out
	$(UNIT) -m "not slow" --ignore tests/canaries

every: $(VENV)/test.stamp
	$(UNIT)

SOLVED = $(PACED) $(PYTEST) --nbval $(NBVAL) --nbval-sanitize-with tests/nbval.cfg

compared: $(VENV)/test.stamp
	@mkdir -p .pytest_cache && echo "$(words $(TRAINING)) notebooks left out: they train for minutes" \
	    "($(sort $(TRAINING))). make full runs them." >.pytest_cache/notebooks.left-out
	$(SOLVED) --junitxml=.pytest_cache/compared.xml $(foreach n,$(COMPARED),notebooks/solved/$(n)_*.ipynb)

solved: $(VENV)/test.stamp
	$(SOLVED) --junitxml=.pytest_cache/solved.xml $(foreach n,$(LONGEST),notebooks/solved/$(n)_*.ipynb)

blank: $(VENV)/test.stamp
	$(PYTEST) --nbval-lax $(NBVAL) $(foreach n,$(LONGEST),notebooks/$(n)_*.ipynb)

pins: $(VENV)/test.stamp
	@if PYTHON= VERSIONS=3.13 sh tools/environment.sh find >/dev/null 2>&1; \
	then $(MAKE) --no-print-directory pins-run; \
	else echo "No Python 3.13 was found: the blank notebooks run on this one, not on Colab's versions."; \
	$(MAKE) --no-print-directory blank; fi

# What Colab does: notebooks alone in a folder, nothing of the checkout beside them. Quick sections run twice.
pins-run: $(VENV)/test.stamp .venv-colab/colab.stamp
	@python="$$PWD/.venv-colab/bin/python" && folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT INT TERM && \
	$(VENV)/bin/python -m tools.release "$$folder/notebooks" && \
	$(VENV)/bin/python -m tools.rerun_cells "$$folder/notebooks" && \
	cp tests/kernels.py "$$folder/notebooks/conftest.py" && cd "$$folder/notebooks" && \
	$(PACED) COLAB_RELEASE_TAG=ci COURSE_PROGRESS="$$folder/progress.json" "$$python" -m pytest --disable-warnings --nbval-lax $(NBVAL) \
	    workshop_90.ipynb lightning_20.ipynb $(foreach n,$(LONGEST),$(n)_*.ipynb)

# Not what holds TensorFlow and Keras to what the notebooks teach.
quick: $(VENV)/test.stamp
	$(VENV)/bin/python -m ruff check .
	$(PYTEST) $(APART) 2 -m "not slow and not browser" --ignore tests/canaries tests linter

size:
	@$(VENV)/bin/python -m tools.size

# Making things.

notebooks: $(VENV)/test.stamp
	$(VENV)/bin/python -m tools.notebooks --solve

tools/node_modules: tools/package-lock.json
	cd tools && npm ci --ignore-scripts --no-audit --no-fund
	@touch tools/node_modules

explorers: $(VENV)/test.stamp tools/node_modules
	$(VENV)/bin/python -m tools.explorers

colab: $(VENV)/test.stamp
	$(VENV)/bin/python -m tools.release dist/colab

site: $(VENV)/test.stamp
	$(VENV)/bin/python -m tools.site dist/site

# Without the cells that hold solutions or our guess. With the libraries beside them (docs/teach.md) they need no network:
# the theme does without its two fonts, and mermaid, which nothing can switch off, is cut out, as we have no such diagram.
OFFLINE = --SlidesExporter.reveal_url_prefix=node_modules/reveal.js --SlidesExporter.mathjax_url= \
    --SlidesExporter.require_js_url=node_modules/requirejs/require.js \
    --SlidesExporter.jquery_url=node_modules/jquery/dist/jquery.min.js
SOLUTIONS = {'prediction','exercise-1','exercise-2','exercise-3','exercise-4','exercise-5','exercise-6','exercise-7'}

slides: $(VENV)/lab.stamp
	$(VENV)/bin/python -m jupyter nbconvert --to slides --output-dir dist/slides --SlidesExporter.reveal_scroll=True \
	    $(if $(wildcard dist/slides/node_modules),$(OFFLINE)) --TagRemovePreprocessor.enabled=True \
	    --TagRemovePreprocessor.remove_cell_tags="$(SOLUTIONS)" $(foreach n,$(or $(NAMES),$(LONGEST)),notebooks/solved/$(n)_*.ipynb)
	@for page in dist/slides/*.slides.html $(wildcard dist/slides/node_modules/reveal.js/dist/theme/simple.css); do \
	    sed -e '/^ *import mermaid from/d' -e '/^ *mermaid\.initialize(/d' -e '/^@import url(http/d' "$$page" >"$$page.new" && \
	    mv "$$page.new" "$$page" || exit 1; done

# The quick tests in environments of their own, one at a time (2.8 GB): on each Python with the newest versions that
# requirements.txt admits and with the oldest. The blank notebooks run where nothing else runs them: on the oldest of all,
# with oneDNN off, which stands for a processor without fast bfloat16, and on the packages of Colab's TPU runtimes, as if a
# TPU were there (`make full` has the newest and Colab's own). The lines that begin with == are worth keeping, in tests/records.
OLDEST = tensorflow==2.20.* keras==3.13.* ipywidgets==7.7.1
TPU    = REQUIREMENTS=tests/colab-tpu-requirements.txt COLAB_RELEASE_TAG=ci COLAB_TPU_1VM=1 TPU_ACCELERATOR_TYPE=v5e-1

matrix:
	@status=0; leg() { \
	    name=$$1; shift; rm -rf .matrix; \
	    if $(MAKE) --no-print-directory -k VENV=.matrix PYTHON= PYTHONPATH="$$PWD:$$PWD/linter" "$$@"; then result=passed; \
	    else result=failed; status=1; fi; \
	    echo "== $$name: $$result, $$(.matrix/bin/python -c 'from course_utils import records; print(*records.versions().values(), sep=", ")' 2>/dev/null)"; \
	}; \
	for version in 3.11 3.12 3.13; do \
	    leg "Python $$version, newest" VERSIONS=$$version quick; \
	    leg "Python $$version, oldest" VERSIONS=$$version OLDER="$(OLDEST)" quick $$(test $$version != 3.11 || echo blank); \
	done; \
	leg "Python 3.13, oneDNN off" VERSIONS=3.13 TF_ENABLE_ONEDNN_OPTS=0 quick blank; \
	leg "Python 3.13, TPU" VERSIONS=3.13 $(TPU) blank; \
	rm -rf .matrix; exit $$status

# The notebooks take turns, so that a slow spell of the machine meets all of them.
soak: $(VENV)/test.stamp
	@failed=; for run in $$(seq $(N)); do echo "== make soak: run $$run of $(N)"; \
	    $(MAKE) --no-print-directory blank LONGEST="$(or $(NAMES),$(LONGEST))" || failed="$$failed $$run"; \
	done; \
	if [ "$$failed" ]; then echo "make soak: failed in run$$failed"; false; else echo "make soak: all $(N) runs passed"; fi

# From a class to the next one on a room's machine. Nothing is erased before it was listed. What was staged is unstaged
# first, and the stash, where a damaged notebook went, is cleared. Where nbgitpuller has committed a learner's changes,
# the branch goes back to the course's, and what else was committed stays as a change. Where our files are not in Git's
# index (the course came as a ZIP) all of them would count as made by the class.
MADE = .course_progress.json* notebooks data/measurements/own .ipynb_checkpoints class.csv class_board.html \
    ':(glob)*.ipynb' ':(glob)lab_report*.html' ':(glob)hand-in*.json'
PULLED = git --no-pager log --format='%h %s' --grep='^Automatic commit by nbgitpuller' origin/HEAD..HEAD 2>/dev/null

handover:
	@git ls-files --error-unmatch Makefile >/dev/null 2>&1 || \
	    { echo "make handover needs Git and a clone of the course: delete this folder and unpack the ZIP again."; exit 1; }
	@git --no-pager diff --name-only HEAD -- $(MADE); git ls-files --others -- $(MADE); git --no-pager stash list
	@$(PULLED) || true
	@if [ "$(ERASE)" ] && [ "$$($(PULLED))" ]; then git reset -q --soft origin/HEAD && \
	    git reflog expire --expire=now --all && git gc -q --prune=now; fi
	@if [ "$(ERASE)" ]; then git reset -q -- $(MADE) && git restore -- notebooks && git clean -ffdxq -- $(MADE) && \
	    git stash clear && echo "All of it is erased."; \
	else echo "make handover ERASE=1 erases these for good: notebooks as they came, no answers, no reports, no stash."; fi

clean:
	rm -rf .venv .venv-colab .matrix dist tools/node_modules .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
