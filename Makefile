# Mixed Precision, Measured. `make help` lists what there is.
# For GNU make 3.81 (macOS) and later. Every path is relative, so that the folder's name may hold spaces.

INSTALL = sh tools/environment.sh install
PYTEST  = .venv/bin/python -m pytest
# Two files at a time, each whole in one worker, in the order given: the longest first.
APART   = -n 2 --dist loadfile --no-loadscope-reorder
SLOWEST = --durations 15 --durations-min 5
NBVAL   = $(SLOWEST) --nbval-current-env --nbval-cell-timeout 600 $(APART)
# Those that train for minutes, and the others, most of whose outputs are compared with what is stored.
TRAINING = 10 05 11 13 07 08 04
COMPARED = 09 02 06 12 03 00 01
LONGEST  = $(TRAINING) $(COMPARED)
N        = 10

.PHONY: help lab wheelhouse test full lint unit every compared solved blank pins pins-run quick size notebooks colab site slides matrix soak clean again

help:
	@echo "make lab          install the course into .venv and open notebook 00 in JupyterLab"
	@echo "                  (ARGS='--no-browser --port 8899' is passed on to it)"
	@echo "                  (WHEELS=folder installs from a wheelhouse, without a network)"
	@echo "make wheelhouse   download the packages that make lab installs into dist/wheelhouse (0.8 GB)"
	@echo "make test         install the test tools too and run the tests: less than a quarter of an hour on two cores"
	@echo "make full         and the slow ones, all notebooks, and these on Colab's versions (needs Python 3.13)"
	@echo "make quick        the tests that take less than two minutes"
	@echo "make pins         run the notebooks twice over on Colab's versions (needs Python 3.13)"
	@echo "make size         print how large the course is"
	@echo "make notebooks    write notebooks/solved/ from the blank notebooks"
	@echo "make colab        write a release's files (the wheel, notebooks for Colab) into dist/colab/"
	@echo "make site         write the web site into dist/site: open dist/site/index.html"
	@echo "make slides       write a talk of each notebook, or of NAMES=02 alone, into dist/slides"
	@echo "make matrix       test other Pythons and the oldest versions (an hour; by hand)"
	@echo "make soak N=10    run every notebook N times, or NAMES=07 alone (by hand)"
	@echo "make clean        remove the environments and what was generated; your work stays"
	@echo "PYTHON=/path/to/python after any of these chooses the Python to install with."

# Environments. A stamp is touched last: an interrupted install leaves none. A .venv whose Python went
# away, for example with an update of the system, is made again.

again:
.venv/lab.stamp .venv/test.stamp: $(shell test -x .venv/bin/python || echo again)

.venv/lab.stamp: requirements.txt pyproject.toml
	@$(INSTALL) .venv $(if $(WHEELS),--no-index --find-links "$(WHEELS)") -r requirements.txt
	@touch .venv/lab.stamp

.venv/test.stamp: requirements.txt tests/requirements.txt pyproject.toml
	@$(INSTALL) .venv -r tests/requirements.txt
	@touch .venv/lab.stamp .venv/test.stamp

.venv-colab/colab.stamp: tests/colab-requirements.txt tests/colab-constraints.txt
	@PYTHON= VERSIONS=3.13 $(INSTALL) .venv-colab -r tests/colab-requirements.txt
	@touch .venv-colab/colab.stamp

# Learning. The token that JupyterLab asks for stays on; --allow-root only matters in containers. Its
# question about Jupyter's news would cover a corner of the notebook at every first start, and a panel whose
# state is not saved is an error tomorrow.

SETTINGS = .venv/share/jupyter/lab/settings

lab: .venv/lab.stamp
	@mkdir -p $(SETTINGS) && cp tools/lab_settings.json $(SETTINGS)/overrides.json
	@PATH="$$PWD/.venv/bin:$$PATH" .venv/bin/python -m jupyterlab --allow-root --ServerApp.root_dir=. \
	    --LabApp.default_url=/lab/tree/notebooks/00_start_here.ipynb $(ARGS)

# For a room without a network. FOR names another kind of machine in pip's words, and what its packages need there:
# FOR="--only-binary=:all: --platform win_amd64 --python-version 3.13 pywin32 pywinpty colorama tzdata"

wheelhouse: .venv/lab.stamp
	@mkdir -p dist/wheelhouse && grep -v '^-e' requirements.txt >dist/wheelhouse/requirements.txt
	.venv/bin/python -m pip download --dest dist/wheelhouse -r dist/wheelhouse/requirements.txt \
	    hatchling hatch-requirements-txt editables $(FOR)

# Testing, in parts that can be run alone. What they left out (conftest.py keeps it) is said again at the end.

WHOLE = test
PARTS = lint unit compared

full:
	@$(MAKE) --no-print-directory test WHOLE=full PARTS="lint every solved pins"

test: .venv/test.stamp
	@rm -f .pytest_cache/*.left-out; failed=; for part in $(PARTS); do \
	    echo "== make $(WHOLE): $$part"; $(MAKE) --no-print-directory $$part || failed="$$failed $$part"; \
	done; \
	if [ "$$failed" ]; then echo "make $(WHOLE): failed:$$failed"; else echo "make $(WHOLE): all parts passed"; fi; \
	cat .pytest_cache/*.left-out 2>/dev/null; test -z "$$failed"

lint: .venv/test.stamp
	.venv/bin/python -m ruff check .
	.venv/bin/python -m ruff format --check .
	.venv/bin/python -m mypy
	.venv/bin/python -c "from importlinter import cli; cli.lint_imports_command()" --no-logo
	.venv/bin/python -m tools.notebooks --check

# The examples in docstrings run too. conftest.py keeps what was left out beside each part's report.
UNIT = $(PYTEST) $(APART) $(SLOWEST) --junitxml=.pytest_cache/unit.xml --doctest-modules tests course_utils

unit: .venv/test.stamp
	$(UNIT) -m "not slow"

every: .venv/test.stamp
	$(UNIT)

SOLVED = $(PYTEST) --nbval $(NBVAL) --nbval-sanitize-with tests/nbval.cfg

compared: .venv/test.stamp
	@mkdir -p .pytest_cache && echo "$(words $(TRAINING)) notebooks left out: they train for minutes" \
	    "($(sort $(TRAINING))). make full runs them." >.pytest_cache/notebooks.left-out
	$(SOLVED) --junitxml=.pytest_cache/compared.xml $(foreach n,$(COMPARED),notebooks/solved/$(n)_*.ipynb)

solved: .venv/test.stamp
	$(SOLVED) --junitxml=.pytest_cache/solved.xml $(foreach n,$(LONGEST),notebooks/solved/$(n)_*.ipynb)

blank: .venv/test.stamp
	$(PYTEST) --nbval-lax $(NBVAL) $(foreach n,$(LONGEST),notebooks/$(n)_*.ipynb)

pins: .venv/test.stamp
	@if PYTHON= VERSIONS=3.13 sh tools/environment.sh find >/dev/null 2>&1; \
	then $(MAKE) --no-print-directory pins-run; \
	else echo "No Python 3.13 was found: the blank notebooks run on this one, not on Colab's versions."; \
	$(MAKE) --no-print-directory blank; fi

# What Colab does: notebooks alone in a folder, nothing of the checkout beside them. Quick sections run twice.
pins-run: .venv/test.stamp .venv-colab/colab.stamp
	@python="$$PWD/.venv-colab/bin/python" && folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT INT TERM && \
	.venv/bin/python -m tools.release "$$folder/notebooks" && \
	.venv/bin/python -m tools.runs twice "$$folder/notebooks" && cd "$$folder/notebooks" && \
	COLAB_RELEASE_TAG=ci COURSE_PROGRESS="$$folder/progress.json" "$$python" -m pytest --disable-warnings --nbval-lax $(NBVAL) \
	    workshop_90.ipynb lightning_20.ipynb $(foreach n,$(LONGEST),$(n)_*.ipynb)

# Not what holds TensorFlow and Keras to what the notebooks teach.
quick: .venv/test.stamp
	.venv/bin/python -m ruff check .
	$(PYTEST) $(APART) -m "not slow and not browser and not network" --ignore tests/canaries tests

size:
	@.venv/bin/python -m tools.size

# Making things.

notebooks: .venv/test.stamp
	.venv/bin/python -m tools.notebooks --solve

colab: .venv/test.stamp
	.venv/bin/python -m tools.release dist/colab

site: .venv/test.stamp
	.venv/bin/python -m tools.site dist/site

# Without the cells that hold solutions. With the libraries beside them (docs/teach.md) they need no network.
OFFLINE = --SlidesExporter.reveal_url_prefix=node_modules/reveal.js --SlidesExporter.mathjax_url= \
    --SlidesExporter.require_js_url=node_modules/requirejs/require.js \
    --SlidesExporter.jquery_url=node_modules/jquery/dist/jquery.min.js
SOLUTIONS = {'exercise-1','exercise-2','exercise-3','exercise-4','exercise-5','exercise-6','exercise-7'}

slides: .venv/lab.stamp
	.venv/bin/python -m jupyter nbconvert --to slides --output-dir dist/slides --SlidesExporter.reveal_scroll=True \
	    $(if $(wildcard dist/slides/node_modules),$(OFFLINE)) --TagRemovePreprocessor.enabled=True \
	    --TagRemovePreprocessor.remove_cell_tags="$(SOLUTIONS)" $(foreach n,$(or $(NAMES),$(LONGEST)),notebooks/solved/$(n)_*.ipynb)

matrix: .venv/test.stamp
	.venv/bin/python -m tools.runs matrix

# The notebooks take turns, so that a slow spell of the machine meets all of them.
soak: .venv/test.stamp
	@failed=; for run in $$(seq $(N)); do echo "== make soak: run $$run of $(N)"; \
	    $(MAKE) --no-print-directory blank LONGEST="$(or $(NAMES),$(LONGEST))" || failed="$$failed $$run"; \
	done; \
	if [ "$$failed" ]; then echo "make soak: failed in run$$failed"; false; else echo "make soak: all $(N) runs passed"; fi

clean:
	rm -rf .venv .venv-colab .matrix dist .pytest_cache .ruff_cache .mypy_cache .hypothesis .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
