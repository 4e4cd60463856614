"""Where reports are written: regular files and new names only, whoever runs pytest."""

from __future__ import annotations

import os
import stat

import pytest

needs_pipes = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")


@needs_pipes
@pytest.mark.parametrize("kind", ["html", "json", "intoto"])
def test_a_report_that_would_take_the_place_of_a_device_is_a_usage_error(project, one_line_error, kind):
    node = project.path / "null"
    os.mkfifo(node)
    error = one_line_error(project.judge("shallow.joblib", f"--draft-report={kind}:null"))
    assert "is no regular file: name one, or a new one" in error
    assert stat.S_ISFIFO(node.lstat().st_mode)


@needs_pipes
def test_a_device_at_the_end_of_a_link_is_one_too(project, one_line_error):
    os.mkfifo(project.path / "null")
    (project.path / "report.html").symlink_to("null")
    assert "is no regular file" in one_line_error(project.judge("shallow.joblib", "--draft-report=html:report.html"))


@pytest.mark.nightly
@needs_pipes
def test_a_report_is_written_where_a_link_leads(project):
    (project.path / "report.html").symlink_to("elsewhere.html")
    project.judge("shallow.joblib", "--draft-report=html:report.html")
    assert (project.path / "report.html").is_symlink()
    assert "<!doctype html>" in (project.path / "elsewhere.html").read_text(encoding="utf-8")
