"""Interrupts: by a signal that reaches children too, by a message, and with a time limit."""

import statistics
import time

import kernelspecs
import pytest
from channels import Channels
from rest import Rest, check_error

# In a cell before: what an interrupt of an import ends with is the module's own choice.
IMPORTS = "import signal, subprocess, time\nimport numpy\nones = numpy.ones(1000)"
LOOPS = {
    "a Python loop": "while True: pass",
    "a sleep": "time.sleep(1000)",
    "short C calls": "while True: ones.sum()",
    "a child": "subprocess.run(['sleep', '1000'])",
}


def interrupt(rest, kernel_id, query=""):
    return rest.post(f"/api/kernels/{kernel_id}/interrupt{query}")


def interrupt_once(rest, kernel_id, channels, code):
    """Seconds from the interrupt to the cell's end."""
    assert channels.run(IMPORTS).content["status"] == "ok"
    msg_id = channels.execute(f"print('on', flush=True)\n{code}")
    channels.until_kind("stream", msg_id)
    begin = time.monotonic()
    assert interrupt(rest, kernel_id).status_code == 204
    answer = channels.answer(msg_id)
    seconds = time.monotonic() - begin
    assert answer.content["status"] == "error"
    assert answer.content["ename"] == "KeyboardInterrupt"
    assert channels.run("print('goes on')").text == "goes on\n"
    return seconds


@pytest.mark.parametrize("name", LOOPS)
def test_interrupt(serve, rest, kernel_id, name):
    """The median of three, so that one hiccup of a busy machine does not decide."""
    with Channels(serve, kernel_id) as channels:
        times = [interrupt_once(rest, kernel_id, channels, LOOPS[name]) for _ in range(3)]
        assert statistics.median(times) < 1.0


def test_interrupt_reaches_children(serve, rest, kernel_id):
    with Channels(serve, kernel_id) as channels:
        start = "children = [subprocess.Popen(['sleep', '1000']) for _ in range(3)]"
        assert channels.run(f"{IMPORTS}\n{start}").content["status"] == "ok"
        # Not wait(), which may lose a status where the interrupt comes with it.
        interrupt_once(rest, kernel_id, channels, "time.sleep(1000)")
        code = "print([child.wait() for child in children])"
        assert channels.run(code).text == "[-2, -2, -2]\n"


def test_interrupt_while_it_starts(serve, rest, own_kernel_id):
    """A kernel without its handler yet would die of the signal: done, or refused."""
    assert interrupt(rest, own_kernel_id).status_code in (204, 409)
    with Channels(serve, own_kernel_id) as channels:
        assert channels.run("print('alive')").text == "alive\n"


def test_interrupt_of_an_idle_kernel(serve, rest, kernel_id):
    with Channels(serve, kernel_id) as channels:
        channels.run("kept = 'yes'")
        assert interrupt(rest, kernel_id).status_code == 204
        assert channels.run("print(kept)").text == "yes\n"


# -- by a message ---------------------------------------------------------------------------------


def test_interrupt_by_message(start_serve, tmp_path):
    """`interrupt_mode: message` is an interrupt_request on control: this kernel would survive no
    signal, and needs none."""
    argv = [kernelspecs.INTERPRETER, *kernelspecs.KERNEL]
    kernelspecs.write_kernelspec(tmp_path, "python3", argv, interrupt_mode="message")
    server = start_serve(kernels=tmp_path)
    rest = Rest(server)
    kernel_id = rest.start_kernel()
    with Channels(server, kernel_id) as channels:
        interrupt_once(rest, kernel_id, channels, LOOPS["a Python loop"])
        # Nobody asked for the answers of the gateway's own request.
        kinds = {message["header"]["msg_type"] for message in channels.log}
        assert not kinds & {"interrupt_request", "interrupt_reply"}


# -- with a time limit ----------------------------------------------------------------------------

DEAF = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
print('on', flush=True)
while True: time.sleep(1000)
"""


def test_interrupt_whose_grace_passes(serve, rest, own_kernel_id):
    """What ran ends with the reason, the kernel is started again."""
    with Channels(serve, own_kernel_id) as channels:
        msg_id = channels.execute(DEAF)
        channels.until_kind("stream", msg_id)
        queued = channels.execute("1")
        channels.kernel_info("control")  # the gateway has read it
        assert interrupt(rest, own_kernel_id).status_code == 204
        assert rest.kernel(own_kernel_id)["execution_state"] == "busy"
        assert interrupt(rest, own_kernel_id, "?grace_ms=100").status_code == 204
        for answer in channels.answers(msg_id, queued):
            assert answer.content["status"] == "error"
            assert answer.content["ename"] == "KernelInterrupted"
            assert answer.reply["metadata"]["cellblock"]["reason"] == "interrupted"
        assert channels.run("print('anew')").text == "anew\n"
        assert "interrupt" in rest.kernel(own_kernel_id)["reason"]


def test_interrupt_within_its_grace(serve, rest, kernel_id):
    with Channels(serve, kernel_id) as channels:
        channels.run("kept = 'yes'")
        msg_id = channels.execute("print('on', flush=True)\nwhile True: pass")
        channels.until_kind("stream", msg_id)
        assert interrupt(rest, kernel_id, "?grace_ms=60000").status_code == 204
        assert channels.answer(msg_id).content["ename"] == "KeyboardInterrupt"
        assert channels.run("print(kept)").text == "yes\n"


@pytest.mark.parametrize("grace", ["", "x", "-1", "%2B1", "1.5", "600001", "9" * 30])
def test_a_grace_that_is_none(rest, kernel_id, grace):
    response = interrupt(rest, kernel_id, f"?grace_ms={grace}")
    assert check_error(response, 400)["code"] == "invalid_grace"
