"""docs/clients.md: every example on it is run as it stands (that of MCP in test_mcp_server.py)."""

import os
import subprocess
import sys

import nbformat
import pytest
from channels import PATIENCE_S
from page import block

CLIENTS = ("papermill", "jupyter-kernel-client", "AutoGen", "smolagents")


@pytest.fixture
def run(serve, tmp_path):
    def run_one(*command):
        path = f"{os.path.dirname(sys.executable)}:{os.environ['PATH']}"
        where = {"URL": serve.url, "TOKEN": serve.token, "PATH": path}
        done = subprocess.run(
            command,
            cwd=tmp_path,
            env={**os.environ, **where},
            capture_output=True,
            text=True,
            timeout=PATIENCE_S * 2,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return run_one


@pytest.mark.parametrize("client", CLIENTS)
def test_python(run, client):
    assert run(sys.executable, "-W", "ignore", "-c", block("python", client)).strip() == "45"


def test_nbconvert(run, tmp_path):
    cell = nbformat.v4.new_code_cell("sum(range(10))")
    nbformat.write(nbformat.v4.new_notebook(cells=[cell]), tmp_path / "in.ipynb")
    run("bash", "-c", block("sh", "nbconvert"))
    (done,) = nbformat.read(tmp_path / "out.ipynb", as_version=4).cells
    assert done.outputs[0].data["text/plain"] == "45"
