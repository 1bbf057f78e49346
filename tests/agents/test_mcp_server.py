"""jupyter-mcp-server, unmodified, as an MCP server over stdio with the official MCP client: what of
it needs kernels and no contents API. One conversation, and a test for each of its answers."""

import asyncio
import json
import os
import sys

import pytest
from channels import PATIENCE_S
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from page import block

PLOT = "import matplotlib.pyplot as plt\nplt.plot([1])\nplt.show()"

# name -> tool, arguments; in this order.
CALLS = {
    "state": ("execute_code", {"code": "x = 20\nprint('set')"}),
    "result": ("execute_code", {"code": "x + 22"}),
    "error": ("execute_code", {"code": "1 / 0"}),
    "picture": ("execute_code", {"code": PLOT}),
    "limit": ("execute_code", {"code": "import time\ntime.sleep(600)", "timeout": 1}),
    "after it": ("execute_code", {"code": "x"}),
    "kernels": ("list_kernels", {}),
    "no contents": ("list_files", {}),
    "a dead kernel": ("execute_code", {"code": "import os\nos.kill(os.getpid(), 9)"}),
}


def server_parameters(serve):
    """As docs/clients.md tells an MCP client to start it."""
    text = block("json", "jupyter-mcp-server").replace('"URL"', f'"{serve.url}"')
    entry = json.loads(text.replace('"TOKEN"', f'"{serve.token}"'))["mcpServers"]["jupyter"]
    command = os.path.join(os.path.dirname(sys.executable), entry["command"])
    return StdioServerParameters(command=command, args=entry["args"])


async def converse(serve):
    """name -> the blocks of the answer. It starts a kernel when it starts."""
    answers = {}
    async with (
        stdio_client(server_parameters(serve)) as streams,
        ClientSession(*streams) as session,
    ):
        await asyncio.wait_for(session.initialize(), PATIENCE_S)
        for name, (tool, values) in CALLS.items():
            result = await asyncio.wait_for(session.call_tool(tool, values), PATIENCE_S)
            answers[name] = result.content
    return answers


@pytest.fixture(scope="module")
def answers(serve):
    return asyncio.run(converse(serve))


@pytest.fixture
def text(answers):
    """text(name): the answer's text."""
    return lambda name: "".join(block.text for block in answers[name] if block.type == "text")


def test_state_between_cells(text):
    assert text("state") == "set\n"
    assert text("result") == "42"


def test_an_error_is_shown(text):
    assert "ZeroDivisionError: division by zero" in text("error")


def test_a_picture_is_a_picture(answers):
    assert "image/png" in [block.mime_type for block in answers["picture"] if block.type == "image"]


def test_its_time_limit_interrupts(text):
    assert "exceeded 1 seconds and was interrupted" in text("limit")
    assert text("after it") == "20"


def test_kernels_are_listed(text, rest):
    (kernel_id,) = rest.kernel_ids()
    _, row = text("kernels").splitlines()
    assert row.split("\t")[:2] == [kernel_id, "python3"]


def test_files_are_refused_with_a_reason(text):
    """Its tools for notebooks and files need the contents API."""
    assert "404" in text("no contents")


def test_a_dead_kernel_says_why(text):
    assert "SIGKILL" in text("a dead kernel")
