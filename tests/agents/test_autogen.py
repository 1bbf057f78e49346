"""AutoGen's executor of code on a Jupyter gateway, unmodified: it takes a server's address."""

import asyncio
import pathlib

import pytest
from autogen_core import CancellationToken
from autogen_core.code_executor import CodeBlock
from autogen_ext.code_executors.docker_jupyter import DockerJupyterCodeExecutor
from autogen_ext.code_executors.docker_jupyter._jupyter_server import (
    JupyterConnectionInfo,
)
from channels import PATIENCE_S

PLOT = """import matplotlib.pyplot as plt
from IPython.display import HTML, display
display(HTML('<b>bold</b>'))
plt.plot([1, 2, 3])
plt.show()"""


def address_by_token(serve):
    return JupyterConnectionInfo("127.0.0.1", False, serve.port, serve.token)


def address_by_prefix(serve):
    """Its WebSocket too carries the token then."""
    return JupyterConnectionInfo(f"127.0.0.1:{serve.port}/t/{serve.token}", False)


@pytest.fixture
def converse(serve, tmp_path):
    """converse(conversation) runs it with an executor."""

    def run(conversation, address=address_by_token, timeout=PATIENCE_S):
        async def talk():
            server = address(serve)
            options = {"timeout": timeout, "output_dir": tmp_path}
            async with DockerJupyterCodeExecutor(server, **options) as executor:
                await conversation(executor)

        asyncio.run(talk())

    return run


async def execute(executor, *sources):
    blocks = [CodeBlock(code=source, language="python") for source in sources]
    return await executor.execute_code_blocks(blocks, CancellationToken())


@pytest.mark.parametrize("address", [address_by_token, address_by_prefix])
def test_state_in_blocks_and_between_them(converse, address):
    async def conversation(executor):
        result = await execute(executor, "x = 100\nprint(x)", "x += 100\nprint(x)")
        assert (result.exit_code, result.output) == (0, "100\n\n200\n")
        assert (await execute(executor, "x + 100")).output == "300"

    converse(conversation, address)


def test_an_error_and_what_follows(converse):
    """It leaves at the error, while the kernel still aborts what is queued behind it."""

    async def conversation(executor):
        for _ in range(5):
            result = await execute(executor, "raise ValueError('no')", "print('never')")
            assert result.exit_code == 1 and "ValueError: no" in result.output
            assert "never" not in result.output
            assert (await execute(executor, "print('yes')")).output == "yes\n"

    converse(conversation)


def test_files_of_pictures_and_tables(converse):
    async def conversation(executor):
        result = await execute(executor, PLOT)
        assert result.exit_code == 0, result.output
        page, picture = map(pathlib.Path, result.output_files)
        assert page.read_text() == "<b>bold</b>"
        assert picture.read_bytes().startswith(b"\x89PNG")

    converse(conversation)


def test_restart(converse):
    async def conversation(executor):
        await execute(executor, "x = 1")
        await executor.restart()
        assert "NameError" in (await execute(executor, "x")).output

    converse(conversation)


def test_its_own_time_limit(converse):
    """It leaves the kernel busy; a restart frees it."""

    async def conversation(executor):
        await execute(executor, "import time")
        executor._timeout = 1
        result = await execute(executor, "time.sleep(600)")
        assert result.exit_code == 1 and "Timeout" in result.output
        executor._timeout = PATIENCE_S
        await executor.restart()
        assert (await execute(executor, "print('free')")).output == "free\n"

    converse(conversation)


def test_cancellation(converse):
    async def conversation(executor):
        await execute(executor, "import time")
        token = CancellationToken()
        block = CodeBlock(code="time.sleep(600)", language="python")
        run = asyncio.create_task(executor.execute_code_blocks([block], token))
        await asyncio.sleep(0)
        token.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    converse(conversation)


def test_a_dead_kernel_is_an_error(converse):
    async def conversation(executor):
        result = await execute(executor, "import os\nos.kill(os.getpid(), 9)")
        assert result.exit_code == 1 and "SIGKILL" in result.output

    converse(conversation)


def test_no_kernel_is_left(rest, converse):
    before = rest.kernel_ids()

    async def conversation(executor):
        await execute(executor, "1")

    converse(conversation)
    assert rest.kernel_ids() == before
