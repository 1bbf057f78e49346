"""docs/first-steps.md: its commands, what it says, and its pictures. These lie beside the
screenshots; `cp build/test/results/browser/pictures/*.png docs/images/` takes new ones over."""

import json
import shutil
import subprocess

import cellblock
from conftest import SCREENS, VIEW
from lab_server import programs
from page_commands import commands
from playwright.sync_api import expect

EXAMPLES = cellblock.ROOT / "notebooks" / "examples"
PICTURES = SCREENS / "pictures"
TALL = 7000  # a whole analysis

JAIL = (
    "!id; pwd; ls /",
    "import socket\nsocket.if_nameindex()",
    "open('/root/.bashrc')",
)
DEATH = (
    "import os, signal\nprint('so far, so good', flush=True)\nos.kill(os.getpid(), signal.SIGKILL)",
    "print('a new kernel')",
)


def take_picture(notebook, name, height, number=0):
    """Of so much of the page as a page of text has room for, from cell `number` on."""
    page, scroller = notebook.page, notebook.panel.locator(".jp-WindowedPanel-outer")
    page.keyboard.press("Control+B")  # the list of files
    page.mouse.move(0, 0)
    top = "(cell, outer) => cell.getBoundingClientRect().top - outer.getBoundingClientRect().top"
    offset = notebook.cell(number).evaluate(top, scroller.element_handle())
    page.set_viewport_size({**VIEW, "height": height})
    scroller.evaluate("(outer, offset) => { outer.scrollTop = offset - 16 }", offset)
    PICTURES.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=PICTURES / f"{name}.png", animations="disabled")


def test_jupyterlab_is_installed_by_the_page():
    subprocess.run(["bash", "-c", commands()[0]], env=programs(), check=True)


def test_an_analysis(notebook, lab):
    example = EXAMPLES / "cold_store.ipynb"
    cells = [c for c in json.loads(example.read_text())["cells"] if c["cell_type"] == "code"]
    shutil.copy(example, lab.folder)
    notebook.page.set_viewport_size({**VIEW, "height": TALL})
    notebook.open(example.name, workspace="analysis")
    notebook.run_all()
    notebook.await_prompt(len(cells) - 1, len(cells))
    expect(notebook.panel.locator("table")).not_to_have_count(0)
    expect(notebook.panel.locator("img")).not_to_have_count(0)
    notebook.await_output(len(cells) - 1, "faults found")
    take_picture(notebook, "analysis", 900, 9)


def test_the_jail(open_cells):
    notebook = open_cells(*JAIL)
    notebook.run_all()
    notebook.await_output(0, "/home/user")
    notebook.await_output(1, "[(1, 'lo')]")
    notebook.await_output(2, "FileNotFoundError")
    take_picture(notebook, "jail", 500)


def test_death(open_cells):
    """What a kernel prints right before SIGKILL may never leave it, so nothing is said of that."""
    notebook = open_cells(*DEATH)
    notebook.run(0)
    notebook.await_output(0, "SIGKILL")
    notebook.accept_death()
    notebook.run(1)
    notebook.await_output(1, "a new kernel")
    notebook.await_state("idle")
    take_picture(notebook, "death", 320)
