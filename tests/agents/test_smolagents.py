"""smolagents' executor of code on a Jupyter Kernel Gateway, unmodified.

It starts its gateway in a container: here the container runtime is a stand-in that starts a
Cellblock, so the rest of it, from waiting for the server on, runs as its author wrote it.
"""

import sys
import threading
import types

import cellblock
import pytest
from channels import PATIENCE_S
from peer import free_port
from rest import Rest
from smolagents import FinalAnswerTool, tool
from smolagents.monitoring import AgentLogger, LogLevel
from smolagents.remote_executors import DockerExecutor
from smolagents.utils import AgentError


class Container:
    """A container that is a Cellblock, as far as smolagents asks."""

    status = "running"
    short_id = "cellblock"

    def __init__(self, kernels, environment, ports):
        host, port = ports["8888/tcp"]
        where = ("--listen", f"{host}:{port}")
        self.server = cellblock.Serve(*where, token=environment["KG_AUTH_TOKEN"], kernels=kernels)

    def stop(self):
        self.server.stop()

    def remove(self):
        pass


@pytest.fixture(scope="module")
def executor(kernels):
    def run(image, environment, ports, detach):
        return Container(kernels, environment, ports)

    client = types.SimpleNamespace(containers=types.SimpleNamespace(run=run))
    client.images = types.SimpleNamespace(get=lambda name: None)
    docker = types.ModuleType("docker")
    docker.from_env = lambda: client
    docker.errors = types.SimpleNamespace(DockerException=OSError, ImageNotFound=KeyError)
    logger = AgentLogger(level=LogLevel.ERROR)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "docker", docker)
        executor = DockerExecutor([], logger, port=free_port(), build_new_image=False)
    server = executor.container.server
    yield executor
    executor.cleanup()
    server.stop()


def test_state_between_cells(executor):
    """Each cell has a WebSocket of its own."""
    assert executor("x = 20\nprint('set')").logs == "set\n"
    assert executor("x + 22").output == "42"


def test_variables(executor):
    executor.send_variables({"table": {"rows": [1, 2, 3]}})
    assert executor("sum(table['rows'])").output == "6"


@tool
def double(number: int) -> int:
    """Doubles a number.

    Args:
        number: What is doubled.
    """
    return 2 * number


def test_tools_and_a_final_answer(executor):
    """Its own tools want numpy and pillow, for which it sends `!pip install numpy pillow`."""
    tools = {"double": double, "final_answer": FinalAnswerTool()}
    executor.send_tools(tools)
    answer = executor("final_answer(double(21))")
    assert (answer.output, answer.is_final_answer) == (42, True)


def test_a_large_final_answer_is_whole(executor):
    """It travels in the evalue of an exception."""
    answer = executor("final_answer('x' * 3_000_000)")
    assert answer.is_final_answer and answer.output == "x" * 3_000_000


def test_pip_finds_what_is_there(executor):
    """There is no network; what is there need not be fetched."""
    logs = executor("!pip install numpy pillow").logs
    assert "Requirement already satisfied: numpy" in logs
    assert "Requirement already satisfied: pillow" in logs


def test_an_error_raises(executor):
    with pytest.raises(AgentError, match="ZeroDivisionError"):
        executor("1 / 0")
    # It leaves at the error, and the kernel aborts what comes before it is done with that cell.
    Rest(executor.container.server).await_state(executor.kernel_id, "idle")
    assert executor("'alive'").output == "'alive'"


# The last: the kernel is gone after it.
def test_a_dead_kernel_raises(executor):
    """It waits for messages without a limit."""
    raised = []

    def run():
        with pytest.raises(AgentError) as info:
            executor("import os\nos.kill(os.getpid(), 9)")
        raised.append(str(info.value))

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(PATIENCE_S)
    assert not thread.is_alive() and "SIGKILL" in raised[0]
