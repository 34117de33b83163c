"""Operations timed in turns: warm-up left out, waited for, the median of each."""

import math

import pytest

from course_utils import stepping, timing

keras = pytest.importorskip("keras")


class Clock:
    """A clock that only moves when somebody works."""

    def __init__(self, monkeypatch):
        self.now = 0.0
        monkeypatch.setattr(timing.time, "perf_counter", lambda: self.now)
        monkeypatch.setattr(stepping, "rounds", lambda *_, at_least: range(at_least))

    def work(self, *seconds):
        """A function that takes these times, the last one from then on."""
        left = list(seconds)

        def run():
            self.now += left.pop(0) if len(left) > 1 else left[0]
            return keras.ops.zeros((2,))

        return run


def test_the_median_of_each_case_without_its_first_calls(monkeypatch):
    clock = Clock(monkeypatch)
    first = 9.0, 9.0, 0.02  # tracing, caches, the call that tells how many to time together
    slow = clock.work(*first, 0.03, 0.04, 0.05, 0.9, 0.05)
    found = timing.in_turns({"slow": slow, "steady": clock.work(0.1)})
    assert found == {"slow": pytest.approx(50), "steady": pytest.approx(100)}


def test_short_calls_are_timed_together_and_all_take_turns(monkeypatch):
    clock, order = Clock(monkeypatch), []

    def noted(name, run):
        return lambda: (order.append(name), run())[1]

    cases = {"short": noted("s", clock.work(0.001)), "long": noted("l", clock.work(0.1))}
    found = timing.in_turns(cases)
    assert found == {"short": pytest.approx(1), "long": pytest.approx(100)}
    assert "".join(order) == "sss" + "lll" + 5 * ("sssss" + "l")


def test_an_interrupt_keeps_what_was_measured(monkeypatch, capsys):
    clock, calls = Clock(monkeypatch), []

    def interrupted():
        calls.append(1)
        if len(calls) == 6:
            raise KeyboardInterrupt
        return clock.work(0.1)()

    def at_once():
        raise KeyboardInterrupt

    assert timing.in_turns({"cut": interrupted})["cut"] == pytest.approx(100)
    assert math.isnan(timing.in_turns({"none": at_once})["none"])
    assert capsys.readouterr().out.count("Interrupted: the medians are of what was measured") == 2


def test_a_timing_ends_when_a_number_is_back(monkeypatch):
    """A device may still work on a result that it has handed out."""
    clock, read = Clock(monkeypatch), []

    class Number:
        def __float__(self):
            read.append(clock.now)
            clock.now += 0.1  # until the device has finished
            return 0.0

    monkeypatch.setattr(keras.ops, "cast", lambda *_: Number())
    found = timing.in_turns({"asynchronous": clock.work(0.0)})
    assert len(read) == 3 + 5 and found["asynchronous"] == pytest.approx(100)


def test_a_call_too_short_for_the_clock_counts_as_no_time(monkeypatch):
    Clock(monkeypatch)
    assert timing.in_turns({"16": lambda: keras.ops.ones((2,), "bfloat16")})["16"] == 0
