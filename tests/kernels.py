"""A plugin of pytest for nbval: a kernel that does not come up is started once more.

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
