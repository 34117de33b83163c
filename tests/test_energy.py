"""Energy: read where something reports it, and nothing made up where nothing does."""

import sys
import time
import types

import pytest

from course_utils import energy


class NVMLError(Exception):
    pass


def fake_nvml(monkeypatch, energy_mj=None, power_mw=None, gpus=("GPU-aa", "GPU-bb")):
    """A pynvml with these readings; a None reading is not supported by the GPU."""

    def reading(function):
        def read(handle):
            if function is None:
                raise NVMLError("Not Supported")
            return function()

        return read

    def at(index):
        if index >= len(gpus):
            raise NVMLError("Invalid Argument")
        return gpus[index]

    fake = types.SimpleNamespace(
        NVMLError=NVMLError,
        nvmlInit=lambda: None,
        nvmlDeviceGetHandleByIndex=at,
        nvmlDeviceGetHandleByUUID=lambda uuid: gpus[gpus.index(uuid)],
        nvmlDeviceGetName=lambda handle: f"Fake {handle}".encode(),
        nvmlDeviceGetTotalEnergyConsumption=reading(energy_mj),
        nvmlDeviceGetPowerUsage=reading(power_mw),
    )
    monkeypatch.setitem(sys.modules, "pynvml", fake)
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    return fake


def test_a_counter_is_read_before_and_after(monkeypatch):
    used = [5000]  # mJ; 250 mJ a run

    def run():
        used[0] += 250
        time.sleep(0.01)

    fake_nvml(monkeypatch, lambda: used[0], lambda: 1)
    found = energy.per_run(run, "GPU", seconds=0.05)
    assert found.joules == pytest.approx(0.25) and 1 <= found.runs <= 5
    assert 0 < found.watts <= 25.1
    assert found.source == "the energy counter of Fake GPU-aa"
    said = energy.sentence(found)
    assert said.startswith("0.25 J a run, at ") and said.endswith("counter of Fake GPU-aa.")


def test_power_is_summed_up_over_time(monkeypatch):
    fake_nvml(monkeypatch, None, lambda: 100_000)
    found = energy.per_run(lambda: time.sleep(0.05), "GPU", seconds=0.2)
    assert found.watts == pytest.approx(100) and "power samples" in found.source
    assert 0.05 * 100 <= found.joules < 100  # 5 J, more on a busy machine


def test_power_that_changes_meanwhile_is_noticed(monkeypatch):
    now = [0]
    fake_nvml(monkeypatch, None, lambda: now[0])

    def run():
        now[0] = 100_000
        time.sleep(0.3)
        now[0] = 0

    found = energy.per_run(run, "GPU", seconds=0)
    assert found.runs == 1 and found.watts > 50  # before and after it is 0


def test_a_gpu_that_reports_nothing_is_no_meter(monkeypatch):
    fake_nvml(monkeypatch)
    assert energy.meter("GPU") is None and energy.per_run(pytest.fail, "GPU") is None
    fake_nvml(monkeypatch, lambda: 7)  # a counter that stands still
    assert energy.per_run(lambda: None, "GPU", seconds=0) is None
    monkeypatch.setitem(sys.modules, "pynvml", None)  # the package is missing
    assert energy.meter("GPU") is None


@pytest.mark.parametrize(
    "visible, used", [("1", "GPU-bb"), ("GPU-bb,GPU-aa", "GPU-bb"), ("-1", None), ("", None)]
)
def test_the_gpu_that_the_process_uses_is_asked(monkeypatch, visible, used):
    fake_nvml(monkeypatch, lambda: 1)
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
    found = energy.meter("GPU")
    assert (found and found.source) == (used and f"the energy counter of Fake {used}")


def rapl(tmp_path, monkeypatch, **microjoules):
    for name, value in microjoules.items():
        folder = tmp_path / name.replace("package", "intel-rapl:").replace("core", "intel-rapl:0:")
        folder.mkdir(exist_ok=True)
        (folder / "energy_uj").write_text(f"{value}\n")
        (folder / "max_energy_range_uj").write_text("1000000000\n")
    monkeypatch.setattr(energy, "RAPL", tmp_path)


def test_the_packages_of_a_cpu_are_added_up_and_their_counters_begin_again(tmp_path, monkeypatch):
    rapl(tmp_path, monkeypatch, package0=999_000_000, package1=5_000_000, core0=7)
    count = [0]

    def run():
        count[0] += 1
        # The first counter passes its end; the core is a part of the package.
        rapl(tmp_path, monkeypatch, package0=1_000_000, package1=6_000_000, core0=10**8)

    found = energy.per_run(run, "CPU", seconds=0)
    assert count == [1] and found.joules == pytest.approx(2 + 1)
    assert "RAPL" in found.source


def test_counters_that_may_not_be_read_are_no_meter(tmp_path, monkeypatch):
    monkeypatch.setattr(energy, "RAPL", tmp_path / "nothing")
    assert energy.meter("CPU") is None
    rapl(tmp_path, monkeypatch, package0=1)
    (tmp_path / "intel-rapl:0" / "energy_uj").unlink()
    (tmp_path / "intel-rapl:0" / "energy_uj").mkdir()  # reading it fails, as without permission
    assert energy.meter("CPU") is None


def test_an_error_in_the_work_stops_the_sampling(monkeypatch):
    import threading

    fake_nvml(monkeypatch, None, lambda: 100_000)
    before = threading.active_count()
    with pytest.raises(KeyboardInterrupt):
        energy.per_run(lambda: (_ for _ in ()).throw(KeyboardInterrupt), "GPU", seconds=0)
    assert threading.active_count() == before


def test_a_tpu_reports_nothing_and_it_is_said():
    assert energy.meter("TPU") is None
    assert energy.sentence(None).endswith("so there is none to show.")
