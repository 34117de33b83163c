"""`examine FILE`: what it prints about saved models and scripts, and how it ends."""

import gc
import json
import re
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import keras
import mixed_precision_lint
import pytest
from keras import layers
from mixed_precision_lint import Reason, command, formats, isolated, script, source
from mixed_precision_lint.finding import CODES, RETIRED
from mixed_precision_lint.one_line import one_line
from policies import dtype_policy

PACKAGE = Path(mixed_precision_lint.__file__).parents[1]
HOOKS = (".pre-commit-hooks.yaml", "README.md")


@pytest.fixture
def saved(tmp_path, capsys):
    """Saves a model of some layers; what is said about it, and the exit status."""

    def examined(*inner, policy="mixed_float16"):
        with dtype_policy(policy):
            inputs = keras.Input((8,))
            model = keras.Sequential([inputs, *(make() for make in inner)])
            model.compile("adam", "mse")
        model.save(tmp_path / "model.keras")
        result = command.saved(str(tmp_path / "model.keras"), 60)
        assert bool(result["problem"]) != bool(result["models"])
        assert keras.config.floatx() == "float32"
        if result["problem"]:
            return 2, result["problem"]
        formats.show({"file": "model.keras", **result}, "text")
        out, err = capsys.readouterr()
        assert not err
        return command._judged(result["models"])["status"], out

    return examined


def last(units=8):
    return layers.Dense(units, dtype="float32")


class Unknown(layers.Layer):
    def call(self, x):
        return x


def test_it_prints_findings_and_exits_as_linters_do(saved):
    status, line = saved(lambda: layers.Dense(8, "softmax", name="out"))
    assert status == 1 and line.count("\n") == 1
    assert (
        line.startswith("MP001 error out: The probabilities") and "Fix: Dense(" in line
    )
    assert saved(lambda: layers.Dense(8), last) == (0, "Nothing found.\n")
    assert saved(last, policy="float32") == (0, "Nothing found.\n")
    status, line = saved(lambda: layers.Dense(9), last)  # advice alone
    assert status == 0 and line.startswith("MP010 advice dense")


def slow(model, dtype):
    """What a machine may say."""
    return Reason(f"this one does not like {dtype}.", "mend")


@pytest.fixture
def in_this_process(monkeypatch):
    """What has a process of its own is called here, where Keras is loaded."""

    def call(function, arguments, seconds):
        module, _, name = function.rpartition(".")[2].partition(":")
        result = getattr({"command": command, "script": script}[module], name)
        return isolated.Outcome(result(**arguments), "")

    monkeypatch.setattr(isolated, "call", call)


@pytest.mark.usefixtures("in_this_process")
def test_as_a_command_it_prints_findings_alone_and_hands_on_the_status(
    saved, tmp_path, capsys
):
    saved(lambda: layers.Dense(8, "softmax", name="out"))
    file = str(tmp_path / "model.keras")
    assert command.main(["examine", file]) == 1
    out, err = capsys.readouterr()
    assert out.startswith("MP001 error out: ") and out.count("\n") == 1
    assert err.startswith("Examining") and err.count("\n") == 1
    assert command.main(["examine", file, "--ignore", "MP001"], f"{__name__}:slow") == 1
    assert capsys.readouterr().out.startswith("MP012 warning sequential")


@pytest.mark.usefixtures("in_this_process")
def test_findings_are_printed_as_json_and_as_annotations(saved, tmp_path, capsys):
    saved(lambda: layers.Dense(8, "softmax", name="out"))
    files = [str(tmp_path / "model.keras"), str(tmp_path / "train.py"), "missing.py"]
    (tmp_path / "train.py").write_text(TRAIN)
    assert command.main(["examine", *files, "--format", "json"]) == 2
    model, script, missing = json.loads(capsys.readouterr().out)["files"]
    assert [each["status"] for each in (model, script, missing)] == [1, 1, 2]
    (finding,) = model["models"][0]["findings"]
    assert (finding["code"], finding["layer"]) == ("MP001", "out")
    norm, own = script["models"][0]["findings"]
    assert [TRAIN.splitlines()[f["line"] - 1] for f in (norm, own)] == [
        "class Norm(keras.layers.Layer):",
        "class Own(keras.Model):",
    ]
    assert (
        missing["problem"] == "There is no file missing.py." and not missing["models"]
    )
    assert command.main(["examine", *files, "--format", "github"]) == 2
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"::error file={files[0]},title=MP001 out::The prob")
    assert lines[1].startswith(f"::warning file={files[1]},line=5,title=MP009 Norm::")
    assert len(lines) == 3
    assert command.main(["examine", *files]) == 2
    assert capsys.readouterr().out.startswith(f"{files[0]}: MP001 error out: ")


def test_pyproject_and_comments_switch_rules_off(tmp_path, capsys, monkeypatch):
    inside = tmp_path / "deep" / "inside"
    inside.mkdir(parents=True)
    (inside / "train.py").write_text(TRAIN)
    monkeypatch.chdir(inside)
    settings = tmp_path / "pyproject.toml"

    def codes(*options):
        command.main(["examine", "train.py", *options])
        return [line[:5] for line in capsys.readouterr().out.splitlines()]

    settings.write_text("[project]\nname = 'other'\n")
    assert codes() == ["MP009", "MP015"]
    settings.write_text('[tool.mixed-precision-lint]\nignore = ["MP009"]\n')
    assert codes() == ["MP015"]
    assert codes("--ignore", "MP015") == ["MP009"]  # in its place
    assert codes("--ignore", "MP009,MP015") == ["Nothi"]
    for wrong in ("ignore = 'MP009'", "ignored = []", "ignore ="):
        settings.write_text(f"[tool.mixed-precision-lint]\n{wrong}\n")
        assert command.main(["examine", "train.py"]) == 2
        out, err = capsys.readouterr()
        assert not out and err.count("\n") == 1 and str(settings) in err
    settings.unlink()
    commented = TRAIN.replace("(x + 1e-8)", "(x + 1e-8)  # lint: ignore MP009")
    assert commented != TRAIN
    (inside / "train.py").write_text(commented)
    assert codes() == ["MP015"]


def test_a_file_that_keras_cannot_load_is_refused_with_keras_s_reason(saved):
    for layer, reason in (
        (Unknown, "Could not locate class 'Unknown'"),
        (lambda: layers.Lambda(lambda x: x + 1), "lambda"),
    ):
        status, line = saved(layer)
        assert status == 2 and reason in line and "examine(model)" in line


# --- before anything is loaded --------------------------------------------------------

TRAIN = """
import keras, nowhere
print("executed")
keras.config.set_dtype_policy("mixed_float16")
class Norm(keras.layers.Layer):
    def call(self, x):
        return x / (x + 1e-8)
class Own(keras.Model):
    def train_step(self, data):
        with nowhere.Tape() as tape:
            loss = self(data)
        self.optimizer.apply(tape.gradient(loss, self.trainable_weights))
class Config:
    tolerance = 1e-8
class Wide(keras.layers.Layer):
    def call(self, x):
        return keras.ops.cast(x, "float32") + 1e-8
"""
GIVEN = {  # what is in a file, and what is said of it
    "a.txt": ("x", "neither a script (.py) nor a .keras file"),
    "a.h5": ("x", "is an .h5 file, as Keras 2 wrote it"),
    "a.keras": ("PK\3\4 cut", "is damaged"),
    "a.ipynb": ("{}", "jupyter nbconvert --to script"),
    "syntax.py": ("x = 1\ndef f(:", "invalid syntax (syntax.py, line 2)"),
    "null.py": ("x = 1\0", "null bytes"),
    "folder.keras": (None, "is a folder"),
    "missing.py": (None, "There is no file"),
}
LOOK = """
import sys
from mixed_precision_lint.command import main
for name in sys.argv[1:]:
    print(name, file=sys.stderr)
    print("status", main(["examine", name]), flush=True)
print([m for m in ("tensorflow", "keras", "pandas") if m in sys.modules])
"""


def test_what_is_no_model_is_told_at_once_and_a_script_is_read(tmp_path):
    """In one process for all, which loads no framework and executes no script."""
    for name, (text, _) in GIVEN.items():
        if text is not None:
            (tmp_path / name).write_text(text)
    (tmp_path / "folder.keras").mkdir()
    (tmp_path / "train.py").write_text(TRAIN)
    (tmp_path / "float32.py").write_text(TRAIN.replace("mixed_float16", "float32"))
    done = subprocess.run(
        [sys.executable, "-c", LOOK, *GIVEN, "train.py", "float32.py"],
        cwd=tmp_path, env={"PYTHONPATH": str(PACKAGE)}, capture_output=True, text=True,
    )  # fmt: skip
    lines = done.stderr.splitlines()
    assert lines[0:16:2] == [*GIVEN], done.stderr
    for told, (_, wanted) in zip(lines[1:16:2], GIVEN.values(), strict=True):
        assert wanted in told
    assert lines[16:20:2] == ["train.py", "float32.py"] and len(lines) == 20
    assert "Nothing was executed: `examine --run train.py`" in lines[17]
    *refused, norm, own, found, nothing, none, loaded = done.stdout.splitlines()
    assert refused == ["status 2"] * len(GIVEN) and loaded == "[]"
    assert norm.startswith("MP009 warning Norm: 1e-08 is below 6e-08")
    assert own.startswith("MP015 error Own: train_step never calls scale_loss")
    assert (found, nothing, none) == ("status 1", "Nothing found.", "status 0")


# --- a script that is run -------------------------------------------------------------

# in place of Keras and of the rules, so that it starts in no time
STAND_INS = '''
import gc, os, signal, sys, threading, time, types
from mixed_precision_lint.finding import Finding

class Model:
    """Not more than Keras's, and like it in a circle that only a collection breaks."""
    def __init__(self, name, *layers):
        self.name, self.layers, self.itself = name, layers, self
    def _flatten_layers(self, include_self):
        return self.layers

class Forgot(Model):
    def __init__(self):
        self.itself = self

def examine(model, ignore=(), machine=None):
    severity = "error" if "16" in model.name else "advice"
    return [Finding("MP001", severity, model.name, "It is.", "Mend")]

sys.modules["keras"] = types.SimpleNamespace(Model=Model)
sys.modules["mixed_precision_lint.rules"] = types.SimpleNamespace(examine=examine)
print("of the script")
os.system("echo of its children")
print("its errors", file=sys.stderr)
'''
SCRIPTS = {  # what a script does, what it is told, what is found, the exit status
    "raises": (
        """
        inner, layer = Model("inner", 1, 2), object()
        Model("whole16", inner, 1, 2)
        Forgot()
        del inner
        gc.collect()
        twin = Model("float", layer)
        Model("its part in Keras", layer)
        assert sys.argv == [__file__] and sys.path[0] == os.path.dirname(__file__)
        input()
        """,
        "It raised EOFError: EOF when reading a line.",
        """\
        whole16 (Model)
        MP001 error whole16: It is. Fix: Mend
        float (Model)
        MP001 advice float: It is. Fix: Mend
        """,
        1,
    ),
    "never ends": (
        """
        one = Model("one", 1)
        left, again = signal.getitimer(signal.ITIMER_REAL)
        assert 0 < left <= 30 and again
        try:  # the limit comes at once, and then once more
            signal.setitimer(signal.ITIMER_REAL, 0.001, 0.1)
            time.sleep(600)
        except:
            pass
        while True:
            pass
        """,
        "It was stopped after 30 seconds.",
        "MP001 advice one: It is. Fix: Mend\n",
        0,
    ),
    "leaves": (
        """
        one = Model("one16", 1)
        threading.Thread(target=time.sleep, args=(600,)).start()
        sys.exit("done")
        """,
        "It ended with: done.",
        "MP001 error one16: It is. Fix: Mend\n",
        1,
    ),
    "builds nothing": ("import nowhere", "'nowhere'. It built no Keras model.", "", 2),
    "dies": ("os.kill(os.getpid(), signal.SIGKILL)", "ended by SIGKILL.", "", 2),
    "ends its process": ("os._exit(0)", "It ended its process.", "", 2),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_is_run_in_a_process_of_its_own(name, tmp_path, capsys):
    text, problem, found, status = SCRIPTS[name]
    path = tmp_path / "train.py"
    path.write_text(STAND_INS + textwrap.dedent(text))
    assert command.main(["examine", str(path), "--run", "--seconds", "30"]) == status
    out, err = capsys.readouterr()
    start, *told = err.splitlines()
    assert start == f"Examining {path}, at most 30 s ..."
    assert out == textwrap.dedent(found)
    assert len(told) == bool(problem) and "".join(told).endswith(problem)


def test_a_script_that_cannot_be_interrupted_is_killed(tmp_path, capsys, monkeypatch):
    path = tmp_path / "train.py"
    ignores = "signal.signal(signal.SIGALRM, signal.SIG_IGN)"
    path.write_text(f"import signal\n{ignores}\nwhile True:\n    pass\n")
    monkeypatch.setattr(command, "LOADING", 0.5)
    assert command.main(["examine", str(path), "--run", "--seconds", "1"]) == 2
    assert "It was stopped after 1.5 seconds." in capsys.readouterr().err


@pytest.fixture
def unseen():
    """Hides what other tests built: a walk through all of it takes half a minute."""
    gc.freeze()
    yield
    gc.unfreeze()


def test_of_keras_models_the_outermost_are_found_once(unseen):
    grown = keras.Sequential(name="grown")
    for layer in (keras.Input((4,)), layers.Dense(3), layers.Dense(2)):
        grown.add(layer)  # Keras makes a functional model anew each time
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(3)], name="inner")
    x = keras.Input((4,))
    outer = keras.Model(x, layers.Dense(1)(inner(x)), name="outer")
    part = keras.Model(outer.input, outer.layers[1].output, name="part")

    class Own(keras.Model):
        def __init__(self, net):
            super().__init__(name="own")
            self.net = net

    own = Own(keras.Sequential(name="its net"))
    gc.collect()  # which lists the oldest last
    ours = [grown, inner, outer, part, own, own.net]
    models = [m for m in script._outermost() if any(m is each for each in ours)]
    assert sorted(m.name for m in models) == ["grown", "outer", "own"]
    assert [m.name for m in script._outermost()].count("grown") == 1


@pytest.mark.slow
def test_with_keras_itself(tmp_path, capsys):
    path = tmp_path / "train.py"
    path.write_text(
        "import keras\n"
        "def make(policy):\n"
        "    keras.config.set_dtype_policy(policy)\n"
        "    layers = [keras.Input((8,)), keras.layers.Dense(8, 'softmax', name='out')]\n"
        "    keras.Sequential(layers, name=policy)\n"
        "    keras.backend.clear_session()\n"
        "make('float32')\n"
        "make('mixed_float16')\n"
    )
    assert command.main(["examine", str(path), "--run", "--seconds", "300"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "float32 (Sequential)",
        "Nothing found.",
        "mixed_float16 (Sequential)",
    ]
    assert lines[3].startswith("MP001 error out: ")


def test_ctrl_c_ends_a_command_without_a_traceback(monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "examine_files", interrupted)
    assert command.main(["examine", "train.py"]) == 130


def test_a_file_of_keras_2_is_named(tmp_path):
    path = tmp_path / "old.keras"
    for version, said in (("2.15.0", "is a file of Keras 2.15.0"), ("3.15.1", "")):
        with zipfile.ZipFile(path, "w") as file:
            file.writestr("metadata.json", f'{{"keras_version": "{version}"}}')
        assert said in command.refusal(path)
        assert bool(said) == bool(command.refusal(path))


NOT_NEEDED = ("course_utils", "pandas", "matplotlib", "IPython", "xprof", "gfloat")


@pytest.mark.slow
def test_nothing_of_the_course_is_needed():
    """All modules are imported where the course's packages are not."""
    names = sorted(path.stem for path in PACKAGE.glob("mixed_precision_lint/*.py"))
    code = f"""
import importlib, sys

class Missing:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {NOT_NEEDED}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Missing())
for name in {names}:
    importlib.import_module("mixed_precision_lint." + name)
import mixed_precision_lint
print([getattr(mixed_precision_lint, n).__name__ for n in mixed_precision_lint.HOMES])
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=PACKAGE, env={"PYTHONPATH": str(PACKAGE)}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.startswith("['Finding', 'Reason', 'Watched'"), done.stderr


def test_the_readme_lists_every_code_that_the_source_can_give(capsys):
    source = "".join(
        path.read_text() for path in PACKAGE.glob("mixed_precision_lint/*.py")
    )
    assert {*re.findall(r"MP\d{3}", source)} == {*CODES, *RETIRED}
    assert not {*CODES} & {*RETIRED}
    assert command.main(["rules"]) == 0
    readme = (PACKAGE / "README.md").read_text(encoding="utf-8")
    for line in capsys.readouterr().out.splitlines():
        code, _, meaning = line.partition(" ")
        assert f"| {code} | {meaning} |" in readme
    assert all(code in readme for code in RETIRED)


@pytest.mark.parametrize(
    "table, words",
    [
        ('mixed-precision-lint = ["MP009"]\n[tool.other]\n', "knows one entry"),
        ('[tool.mixed-precision-lint]\nignore = ["MP0O9"]\n', "no rule MP0O9"),
    ],
)
def test_settings_that_mean_nothing_are_refused_in_one_sentence(
    table, words, tmp_path, monkeypatch, capsys
):
    (tmp_path / "train.py").write_text(TRAIN)
    text = f"[tool]\n{table}" if table[0] != "[" else table
    (tmp_path / "pyproject.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert command.main(["examine", "train.py"]) == 2
    out, err = capsys.readouterr()
    assert not out and words in err and err.count("\n") == 1


def test_a_docstring_that_mentions_the_comment_switches_nothing_off(tmp_path, capsys):
    mention = TRAIN.replace(
        "    def call(self, x):\n        return x /",
        '    """See `# lint: ignore MP009`."""\n    def call(self, x):\n        return x /',
        1,
    )
    assert mention != TRAIN
    (tmp_path / "train.py").write_text(mention)
    command.main(["examine", str(tmp_path / "train.py"), "--ignore", "MP015"])
    assert capsys.readouterr().out.startswith("MP009 warning Norm")


NESTED = """
import keras
keras.config.set_dtype_policy("mixed_float16")
def build():
    @keras.saving.register_keras_serializable()
    class Norm(keras.layers.Layer):
        def call(self, x):
            return x / (x + 1e-8)
    return Norm()
class Net(keras.Model):
    class Quiet(keras.layers.Layer):
        def call(self, x):
            return x / (x + 1e-8)  # lint: ignore MP009
    class Loud(keras.layers.Layer):
        def call(self, x):
            return x / (x + 1e-9)
    def call(self, x):
        return self.Loud()(x)
"""


def test_classes_in_functions_and_in_classes_are_read(tmp_path):
    (tmp_path / "train.py").write_text(NESTED)
    findings = list(script.read(tmp_path / "train.py"))
    assert [(f.code, f.layer) for f in findings] == [
        ("MP009", "build.Norm"),
        ("MP009", "Net.Loud"),
    ]
    lines = [NESTED.splitlines()[f.line - 1].strip() for f in findings]
    assert lines == [
        "class Norm(keras.layers.Layer):",
        "class Loud(keras.layers.Layer):",
    ]


@pytest.mark.parametrize(
    "comment, codes",
    [
        ("lint: ignore MP009", {"MP009"}),
        ("lint:ignore MP009,MP029", {"MP009", "MP029"}),
        ("lint: ignore[MP009, MP029]", {"MP009", "MP029"}),
        ("lint: ignore: MP009", {"MP009"}),
        ("lint: ignore=MP009", {"MP009"}),
        ("lint: ignore (MP009)", {"MP009"}),
        ("Lint: Ignore mp009", {"MP009"}),
        ("type: ignore  # lint: ignore MP009 MP029: as MP007 says", {"MP009", "MP029"}),
        ("lint: ignore", set()),
        ("lint: ignored MP009", set()),
        ("see lint: ignore, MP009", set()),
    ],
)
def test_a_comment_is_understood_as_other_linters_spell_it(comment, codes):
    assert source.ignored(f"x = y + 1e-9  # {comment}") == codes


class Mute(Exception):
    def __str__(self):
        raise RuntimeError


def test_an_error_is_told_in_one_line():
    assert one_line(KeyError("a")) == "'a'"
    assert one_line(Mute()) == "its message cannot be shown"
    assert one_line("word " * 99) == " ".join(["word"] * 60)[:299] + "…"
    assert isolated.reason("x\nValueError: " + "long " * 99).endswith("…")


def test_a_hook_reads_scripts_and_never_runs_them(tmp_path, capsys, monkeypatch):
    """As pre-commit calls it, with the files after what the hook says."""
    texts = [(PACKAGE / name).read_text("utf-8") for name in HOOKS]
    entries = [re.findall(r"^ *entry: (.+)$", text, re.MULTILINE) for text in texts]
    assert entries == [["mixed-precision-lint examine"]] * 2
    for text in texts:
        (hook,) = re.findall(r"- id: mixed-precision-lint\n(?: .+\n)+", text)
        assert "args:" not in hook and "--run" not in hook and "types: [python]" in hook

    def never(*_):
        raise AssertionError("a process was started")

    monkeypatch.setattr(isolated, "call", never)
    (tmp_path / "wrong.py").write_text(NESTED)
    (tmp_path / "right.py").write_text("x = 1\n")
    _, *arguments = entries[0][0].split()
    assert command.main([*arguments, str(tmp_path / "right.py")]) == 0
    files = [str(tmp_path / name) for name in ("wrong.py", "right.py")]
    assert command.main([*arguments, *files]) == 1
    assert "MP009 warning Net.Loud" in capsys.readouterr().out


def test_a_module_of_the_folder_is_not_run_while_a_file_is_examined(
    tmp_path, monkeypatch
):
    (tmp_path / "json.py").write_text("open('ran', 'w')\nraise RuntimeError('mine')\n")
    monkeypatch.chdir(tmp_path)
    assert isolated.call("platform:python_implementation", {}, 60).result
    assert not (tmp_path / "ran").exists()
