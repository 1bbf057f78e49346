"""jupyter-kernel-client, unmodified: what its class offers, over a server that is still there when
its kernel is not."""

import contextlib
import threading
import time

import pytest
from cellblock import wait_until
from channels import PATIENCE_S
from jupyter_kernel_client import JupyterKernelClient


@pytest.fixture(params=["token", "prefix"])
def address(request, serve, prefix_url):
    """The token in its own argument, or in the URL, whose slash makes it ask for //api/kernels."""
    ways = {"token": (serve.url, serve.token), "prefix": (prefix_url, "")}
    return dict(zip(("server_url", "token"), ways[request.param], strict=True))


@contextlib.contextmanager
def connected(*arguments, **options):
    """A client with its kernel. Stopping, it waits for a thread that may not see for 10 s that its
    socket is closed; nobody needs that."""
    client = JupyterKernelClient(*arguments, **options)
    client.start()
    client._manager.client.timeout = 0.1
    try:
        yield client
    finally:
        client.stop()


@pytest.fixture(scope="module")
def kernel(serve):
    with connected(server_url=serve.url, token=serve.token) as kernel:
        yield kernel


def test_state_and_outputs(address):
    with connected(**address) as kernel:
        assert kernel.execute("x = 20\nprint('set')") == {
            "execution_count": 1,
            "outputs": [{"output_type": "stream", "name": "stdout", "text": "set\n"}],
            "status": "ok",
        }
        (result,) = kernel.execute("x + 22")["outputs"]
        assert result["data"]["text/plain"] == "42"


def test_an_error_is_an_error(kernel):
    reply = kernel.execute("1 / 0")
    assert reply["status"] == "error"
    assert [output["ename"] for output in reply["outputs"]] == ["ZeroDivisionError"]


def test_variables(kernel):
    """It asks for the kernel's language, then runs code of its own for it."""
    kernel.execute("numbers = [1, 2, 3]")
    assert "numbers" in [variable["name"] for variable in kernel.list_variables()]


def test_input(kernel):
    def answer(message):
        assert message["content"]["prompt"] == "name? "
        kernel._manager.client.input("Ada")

    reply = kernel.execute("print(input('name? '))", allow_stdin=True, stdin_hook=answer)
    assert reply["outputs"][-1]["text"].endswith("Ada\n")


def test_a_large_output_is_whole(kernel):
    reply = kernel.execute("print('x' * 2_000_000)", timeout=PATIENCE_S)
    assert sum(len(output["text"]) for output in reply["outputs"]) == 2_000_001


def test_interrupt(serve, rest, kernel):
    replies = []
    run = threading.Thread(
        target=lambda: replies.append(kernel.execute("import time\ntime.sleep(600)"))
    )
    run.start()
    rest.await_state(kernel.id, "busy")
    while run.is_alive():  # between two lines of the kernel's own an interrupt is not heard
        kernel.interrupt()
        run.join(1)
    assert [output["ename"] for output in replies[0]["outputs"]] == ["KeyboardInterrupt"]
    assert kernel.execute("'alive'")["status"] == "ok"


def test_restart(kernel):
    kernel.execute("x = 1")
    kernel.restart()
    assert kernel.execute("x")["outputs"][0]["ename"] == "NameError"
    assert kernel.is_alive()


def test_another_client_on_the_same_kernel(serve, kernel):
    kernel.execute("x = 'shared'")
    with connected(kernel.id, server_url=serve.url, token=serve.token) as other:
        assert kernel.id in [model["id"] for model in other.list_kernels()]
        assert other.execute("x")["outputs"][0]["data"]["text/plain"] == "'shared'"
    assert kernel.execute("x")["status"] == "ok"


@pytest.mark.parametrize("now", [True, False], ids=["DELETE", "shutdown_request"])
def test_it_ends_its_kernel(rest, serve, now):
    """By a request, or by a message that the kernel answers: then it asks until it gets a 404."""
    with connected(server_url=serve.url, token=serve.token) as client:
        kernel_id = client.id
        client._manager.shutdown_kernel(now=now)
        wait_until(
            lambda: kernel_id not in rest.kernel_ids(),
            PATIENCE_S,
            "the end of the kernel",
        )


# The last: its kernel is the one of the others.
def test_a_killed_kernel_ends_its_cell(kernel):
    start = time.monotonic()
    reply = kernel.execute("import os\nos.kill(os.getpid(), 9)", timeout=PATIENCE_S)
    assert time.monotonic() - start < PATIENCE_S / 2
    assert reply["status"] == "error"
    assert "SIGKILL" in reply["outputs"][-1]["evalue"]
