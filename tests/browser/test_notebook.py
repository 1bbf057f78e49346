"""A person at a notebook: run all, complete, answer, interrupt, restart, shut down."""

from cellblock import wait_until
from notebook_page import PATIENCE_S
from playwright.sync_api import expect
from rest import Rest

KINDS = (
    "print('plain text, 漢字 日本語 한국어 🎉')",
    "import pandas\npandas.DataFrame({'city': ['Oslo', '東京'], 'people': [709037, 14094034]})",
    "import matplotlib.pyplot as plt\nplt.plot([1, 4, 9])\nplt.title('a plot, 漢字 한국어 🐍');",
    "def divide(a, b):\n    return a / b\n\ndivide(1, 0)",
    "print('never: the cell above stops Run All')",
)


def test_run_all(open_cells):
    notebook = open_cells(*KINDS)
    notebook.run_all()
    notebook.await_output(3, "ZeroDivisionError: division by zero")
    assert notebook.text(0) == "plain text, 漢字 日本語 한국어 🎉\n"
    rows = notebook.outputs(1).locator("table tbody tr")
    assert [row.split() for row in rows.all_inner_texts()] == [
        ["0", "Oslo", "709037"],
        ["1", "東京", "14094034"],
    ]
    image = notebook.outputs(2).locator("img")
    assert image.get_attribute("src").startswith("data:image/png")
    assert image.evaluate("image => image.naturalWidth") > 100
    assert notebook.text(2).strip() == ""  # no warning of a glyph that no font has
    # Colours of the traceback, by ANSI codes.
    expect(notebook.outputs(3).locator("[class*=ansi-red]").first).to_be_visible()
    notebook.await_prompt(4, " ")
    assert notebook.text(4) == ""


def test_completion(open_cells):
    notebook = open_cells("import statistics", "")
    notebook.run(0)
    notebook.await_prompt(0, 1)
    offered = notebook.complete(1, "statistics.med")
    assert any("median_grouped" in item for item in offered)


def test_input(open_cells):
    notebook = open_cells("print('hello, ' + input('who? '))")
    notebook.run(0)
    notebook.answer(0, "ada")
    notebook.await_output(0, "hello, ada")


LOOP = "print('on', flush=True)\nwhile True:\n    pass"


def test_interrupt(open_cells):
    notebook = open_cells(LOOP, "print('goes on')")
    notebook.run(0)
    notebook.await_output(0, "on")
    notebook.interrupt()
    notebook.await_output(0, "KeyboardInterrupt")
    notebook.run(1)
    notebook.await_output(1, "goes on")


def test_restart_at_once_and_later(open_cells):
    """At once after opening, JupyterLab has two sockets of one session_id, one of them nobody's."""
    notebook = open_cells("print('kept' in globals()); kept = 1", "open('file', 'a').write('x')")
    notebook.restart()
    notebook.run(0)
    notebook.await_output(0, "False")
    notebook.run(0)
    notebook.await_output(0, "True")
    notebook.run(1)
    notebook.await_done(1)
    notebook.restart()
    notebook.run(0)
    notebook.await_output(0, "False")


def test_restart_while_a_cell_runs(open_cells):
    notebook = open_cells(LOOP, "print('a new kernel')")
    notebook.run(0)
    notebook.await_output(0, "on")
    notebook.restart()
    notebook.run(1)
    notebook.await_output(1, "a new kernel")


# The new kernel's start fails once.
DIES_TWICE = """
import os, signal
folder = os.path.expanduser("~/.ipython/profile_default/startup")
os.makedirs(folder, exist_ok=True)
open(f"{folder}/0.py", "w").write("import os\\nos.unlink(__file__)\\nos._exit(5)")
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_restart_of_a_dead_kernel(open_cells, serve):
    notebook = open_cells(DIES_TWICE, "print('alive')")
    notebook.run(0)
    notebook.await_output(0, "SIGKILL")
    notebook.accept_death()
    rest = Rest(serve)
    (kernel_id,) = rest.kernel_ids()
    rest.await_state(kernel_id, "dead")
    notebook.run(1)
    notebook.await_output(1, "exit status 5")
    notebook.restart()
    notebook.run(1)
    notebook.await_output(1, "alive")
    assert rest.kernel_ids() == {kernel_id}


def test_shut_down(open_cells, serve):
    notebook = open_cells("1")
    rest = Rest(serve)
    assert len(rest.kernel_ids()) == 1
    notebook.shut_down()
    wait_until(lambda: not rest.kernel_ids(), PATIENCE_S, "no kernel left in the gateway")
