"""The line between JupyterLab and its kernel breaks: between its server and the gateway, or by a
page that is loaded again."""

import pytest
from channels import Channels
from notebook_page import PATIENCE_S
from rest import Rest

COUNT = "import time\nfor n in range({}):\n    print(n, flush=True)\n    time.sleep(0.05)"
# What JupyterLab's own server answers while it cannot reach the gateway.
CANNOT_REACH = r"Failed to load resource: the server responded with a status of 50\d"


def numbers(count):
    return [str(number) for number in range(count)]


@pytest.fixture
def witness(serve):
    """witness() is a client of the one kernel that does not go through the link."""
    opened = []

    def open_one():
        (kernel_id,) = Rest(serve).kernel_ids()
        opened.append(Channels(serve, kernel_id))
        return opened[0]

    yield open_one
    for channels in opened:
        channels.close()


def until_printed(channels, line):
    """Reads until the kernel has printed this line."""
    text = ""
    while line not in text.split():
        message = channels.receive(PATIENCE_S)
        if message["header"]["msg_type"] == "stream":
            text += message["content"]["text"]


@pytest.mark.parametrize(
    "count, mended_after", [(200, "100"), (100, "99")], ids=["goes-on", "ended"]
)
def test_a_cut_link_loses_nothing(open_cells, link, witness, count, mended_after):
    """Cut in the middle of a cell; mended while it goes on, or when it has printed its last."""
    notebook = open_cells(COUNT.format(count), "print('the next')")
    notebook.noise.append(CANNOT_REACH)
    channels = witness()
    notebook.run(0)
    notebook.await_output(0, "20")
    link.cut()
    until_printed(channels, mended_after)
    link.mend()
    notebook.await_prompt(0, 1)
    assert notebook.text(0).split() == numbers(count)
    notebook.run(1)
    notebook.await_output(1, "the next")


LET_GO = """import time
try:
    while True:
        time.sleep(0.1)
except KeyboardInterrupt:
    pass"""


def test_reload_in_the_middle_of_a_cell(open_cells):
    """The new page has a new session_id; what the old one's cell prints is shown to nobody."""
    notebook = open_cells(LET_GO, "print('the next')")
    notebook.run(0)
    notebook.await_state("busy")
    notebook.reload()
    notebook.await_state("busy")
    notebook.run(1)
    notebook.await_prompt(1, "*")
    notebook.interrupt()
    notebook.await_output(1, "the next")
    notebook.await_state("idle")
