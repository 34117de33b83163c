"""The explorers' modules in node, without a page: `Node` runs JavaScript in one process."""

import importlib.util
import json
import math
import os
import shutil
import subprocess
from fractions import Fraction
from pathlib import Path

import pytest

from course_utils.explorers.fragment import FOLDER

LOOP = """
import { createInterface } from "node:readline";
const all = Object.assign({}, ...await Promise.all(MODULES.map((file) => import(file))));
const read = ([negative, num, den]) => all.finite(negative, BigInt(num), BigInt(den));
const write = (v) => v.kind === "finite"
  ? [v.negative, "0x" + v.num.toString(16), "0x" + v.den.toString(16)] : [v.negative, v.kind];
const attempt = (work) => {
  try { return work(); }
  catch (error) { return { entryError: error instanceof all.EntryError, message: error.message }; }
};
const scope = { ...all, read, write, attempt };
for await (const line of createInterface({ input: process.stdin })) {
  const { body, given } = JSON.parse(line);
  let answer;
  try {
    answer = { value: new Function(...Object.keys(scope), "given", "store", body)(
      ...Object.values(scope), given, all) };
  } catch (error) { answer = { error: String(error.stack) }; }
  console.log(JSON.stringify(answer));
}
"""


def need_node():
    """The path of node, if need be Playwright's own; without one skip, but not on CI."""
    path = shutil.which("node")
    if path is None and importlib.util.find_spec("playwright"):
        folder = Path(importlib.util.find_spec("playwright").origin).parent / "driver"
        path = next(map(str, folder.glob("node*")), None)
    if path is None:
        reason = "No node was found on the PATH, so the explorers' modules cannot run."
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)
    return path


class Node:
    """Runs function bodies that see the exports of some modules, read, write, attempt, given.

    Values travel as [negative, numerator, denominator] in hexadecimal, and codes as text.
    """

    def __init__(self, *modules):
        files = [(FOLDER / name).as_uri() for name in modules]
        code = LOOP.replace("MODULES", json.dumps(files))
        self.process = subprocess.Popen(
            [need_node(), "--input-type=module", "-e", code],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8",
        )  # fmt: skip

    def __call__(self, body, given=None):
        self.process.stdin.write(json.dumps({"body": body, "given": given}) + "\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        assert "error" not in answer, answer["error"]
        return answer.get("value")

    def close(self):
        self.process.stdin.close()
        self.process.wait(10)
        self.process.stdout.close()


def sent(value):
    """A Fraction as it travels."""
    return [value < 0, hex(abs(value.numerator)), hex(value.denominator)]


def received(value):
    negative, *rest = value
    if rest[0] in ("nan", "infinity"):
        return math.nan if rest[0] == "nan" else -math.inf if negative else math.inf
    size = Fraction(*(int(number, 16) for number in rest))
    return -0.0 if negative and size == 0 else -size if negative else size
