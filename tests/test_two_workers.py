"""Two worker processes train together; one is killed, and all goes on as if it had not been.

The program they run is tests/tools/train_two.py.
"""

import random
import re
import sys
from pathlib import Path

import pytest

from course_utils.distributed import Workers

sys.path.insert(0, str(Path(__file__).parent / "tools"))
from soak import TRAIN_TWO, train_two

SCALED = "mixed_float16"
STEPS, EVERY = 60, 5  # how long it trains, and how often it writes a checkpoint

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run that nobody disturbs: the lines of each worker, and the last bits."""
    lines, results, problem = train_two(SCALED, tmp_path_factory.mktemp("whole"), STEPS)
    assert not problem
    return lines, results[0]["bits"]


# `train_two` itself compares the last bits of both workers, and looks for what is left behind.


def learned(lines):
    """The scales of a run, whose workers took the same steps and learned something."""
    assert lines[0] == lines[1] and len(lines[0]) == STEPS
    losses, scales = ([float(line.split()[n]) for line in lines[0]] for n in (1, 2))
    assert sum(losses[-10:]) < 0.8 * sum(losses[:10])
    return scales


def test_two_workers_take_the_same_steps_and_the_same_scales(whole):
    scales = learned(whole[0])  # the scale moves both ways: some steps are skipped
    changes = [after / before for before, after in zip(scales, scales[1:], strict=False)]
    assert {0.5, 1.0, 2.0} == set(changes)


def test_two_workers_train_without_loss_scaling(tmp_path):
    lines, _, problem = train_two("mixed_bfloat16", tmp_path, STEPS)
    assert not problem and set(learned(lines)) == {1.0}


def leave_one_behind(folder, victim):
    """As if the kill had come before the victim's last checkpoint and after the other's."""
    states = [folder / str(rank) / "checkpoint" for rank in (victim, 1 - victim)]
    newest, other = (re.findall(r'all_model.*ckpt-(\d+)"', s.read_text())[-1] for s in states)
    if newest == other:
        _, before = re.findall(r'all_model.*"((?:.*/)?ckpt-\d+)"', states[0].read_text())[::-1]
        lines = f'model_checkpoint_path: "{before}"\nall_model_checkpoint_paths: "{before}"\n'
        states[0].write_text(lines)
        for file in states[0].parent.glob(f"ckpt-{newest}.*"):
            file.unlink()


def test_one_is_killed_at_a_random_step_and_both_go_on_with_the_same_bits(whole, tmp_path):
    lines, bits = whole
    victim, moment = random.SystemRandom().randrange(2), random.SystemRandom().randrange(12, 40)
    story = f"worker {victim} killed after step {moment}"
    seen = [[], []]
    arguments = [SCALED, tmp_path, STEPS]
    with Workers(TRAIN_TWO, 2, arguments, timeout=200, grace=0.5) as workers:
        for rank, line in workers:
            seen[rank].append(line)
            if rank == victim and line.startswith(f"{moment} "):
                workers.kill(victim)
    assert workers.results == [None, None], story
    assert workers.endings[victim] == "was ended by SIGKILL", story
    assert seen == [lines[rank][: len(seen[rank])] for rank in range(2)], story

    leave_one_behind(tmp_path, victim)
    resumed, results, problem = train_two(SCALED, tmp_path, STEPS)
    assert not problem, story
    start = results[0]["start"]
    # Not from the beginning, and not before the last checkpoint but one.
    assert start % EVERY == 0 and moment - 2 * EVERY < start <= len(seen[victim]), story
    assert resumed == [lines[rank][start:] for rank in range(2)], story
    assert results[0]["bits"] == results[1]["bits"] == bits, story
