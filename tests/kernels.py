"""A plugin of pytest for nbval: a kernel that does not come up is started once more,
and what exercises say on a slow machine is not compared.

On a busy machine a kernel now and then does not answer within a minute, and all cells of
its notebook would fail. It is said in one line at the end. What a cell does is never
repeated: a cell that fails, fails.
"""

from pathlib import Path

import pytest
from nbval import plugin

started_again = []  # what to say of this process's kernels


class PatientKernel(plugin.RunningKernel):
    """nbval's kernel, which has a second try to come up."""

    def __init__(self, kernel_name, **options):
        try:
            super().__init__(kernel_name, **options)
        except RuntimeError as error:
            if hasattr(self, "km"):  # it came up, and then fell silent
                self.kc.stop_channels()
                self.km.shutdown_kernel(now=True)
            started_again.append(str(error))
            super().__init__(kernel_name, **options)


plugin.RunningKernel = PatientKernel

STILL = "Still running your function."  # after ten seconds
compare = plugin.IPyNbCell.compare_outputs


def compare_outputs(cell, test, ref, skip_compare=None):
    test = [each for each in test if not each.get("text", "").startswith(STILL)]
    return compare(cell, test, ref, skip_compare)


plugin.IPyNbCell.compare_outputs = compare_outputs


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    """Hand what there is to say on with the first cell's report, to whatever process
    prints.
    """
    while started_again:
        text = f"The kernel of {Path(item.path).name} was started once more: "
        item.user_properties.append(("kernel", text + started_again.pop()))
    yield


def pytest_terminal_summary(terminalreporter):
    """Say it, once for each kernel."""
    lines = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            for name, text in getattr(report, "user_properties", ()):
                if name == "kernel":
                    lines[text] = None
    for text in lines:
        terminalreporter.write_line(text)
