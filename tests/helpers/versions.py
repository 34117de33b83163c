"""Records are of one version; an older one may do otherwise, a newer one is to be seen."""

import importlib.metadata

import pytest


def skip_if_older(package: str, recorded: str) -> None:
    """Skip a test where a package's release is older than the recorded one ("3.15.1"),
    in its first two numbers.
    """
    here = importlib.metadata.version(package)
    release, least = (tuple(map(int, each.split(".")[:2])) for each in (here, recorded))
    if release < least:
        pytest.skip(f"recorded with {package} {recorded}, here is {here}")
