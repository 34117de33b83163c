"""Fixtures that every test gets."""

import pytest


@pytest.fixture(autouse=True)
def progress_file(tmp_path, monkeypatch):
    """Keep the learner's own progress file out of the tests."""
    path = tmp_path / "progress.json"
    monkeypatch.setenv("COURSE_PROGRESS", str(path))
    return path
