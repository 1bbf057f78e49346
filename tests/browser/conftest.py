"""Fixtures of the browser's tests: one gateway, one JupyterLab and one Chromium for all of them; a
page, a notebook and a kernel for each. Every test leaves a screenshot of how its page ended."""

import json
import re
import shutil

import cellblock
import pytest
from lab_server import LabServer
from link import Link
from notebook_page import CHROMIUM, CHROMIUM_FLAGS, NotebookPage
from page_commands import commands
from playwright.sync_api import sync_playwright
from rest import Rest

SCREENS = cellblock.BUILD / "results" / "browser"
VIEW = {"width": 1280, "height": 1400}  # JupyterLab draws only those cells that are seen


@pytest.fixture(scope="session")
def serve():
    with cellblock.Serve() as server:
        yield server


@pytest.fixture(scope="session")
def link(serve):
    """What lies between JupyterLab's server and the gateway."""
    with Link(serve.port) as link:
        yield link


@pytest.fixture(scope="session")
def lab(serve, link, tmp_path_factory):
    """JupyterLab as docs/first-steps.md starts it."""
    variables = {"URL": link.url, "TOKEN": serve.token}
    command = ["bash", "-c", commands()[1]]
    with LabServer(tmp_path_factory.mktemp("lab"), command, variables) as server:
        yield server


@pytest.fixture(scope="session")
def chromium():
    """One context for all pages, so that JupyterLab's scripts are read once."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=CHROMIUM_FLAGS)
        yield browser.new_context(locale="en-US")
        browser.close()


def notebook_of(cells):
    """nbformat's JSON of code cells."""
    code = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    return {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "", "language": "python"}},
        "cells": [{**code, "id": f"cell-{n}", "source": text} for n, text in enumerate(cells)],
    }


@pytest.fixture
def name(request):
    """The test's name as part of a path."""
    return re.sub(r"\W+", "-", request.node.name).strip("-")


@pytest.fixture
def notebook(lab, chromium, name):
    """A NotebookPage; open_cells puts a notebook there first."""
    notebook = NotebookPage(chromium.new_page(), lab)
    notebook.page.set_viewport_size(VIEW)
    yield notebook
    SCREENS.mkdir(parents=True, exist_ok=True)
    notebook.page.screenshot(path=SCREENS / f"{name}.png")
    notebook.page.close()
    rest = Rest(lab)
    for session in rest.get("/api/sessions").json():
        assert rest.delete(f"/api/sessions/{session['id']}").status_code == 204
    assert not notebook.errors


@pytest.fixture
def open_cells(notebook, lab, name):
    """open_cells(*sources) opens a notebook of these cells and waits for its kernel."""

    def open_them(*sources):
        path = lab.folder / f"{name}.ipynb"
        path.write_text(json.dumps(notebook_of(sources)))
        notebook.open(path.name, workspace=name)
        return notebook

    return open_them


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    lab = getattr(item, "funcargs", {}).get("lab")
    if report.failed and lab:
        report.sections.append(("log of JupyterLab", lab.log()))


def pytest_sessionstart():
    shutil.rmtree(SCREENS, ignore_errors=True)


def pytest_terminal_summary(terminalreporter):
    terminalreporter.write_line(f"screenshots: {SCREENS}")
