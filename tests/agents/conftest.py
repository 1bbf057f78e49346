"""Fixtures of the agents' tests: one server for each file, whose python3 is ipykernel, and the URL
that alone lets a client in."""

import importlib.metadata

import cellblock
import kernelspecs
import pytest
from rest import Rest


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels") / "kernels"
    return kernelspecs.write_kernelspecs(folder, ["python3"])


@pytest.fixture(scope="module")
def serve(kernels):
    with cellblock.Serve(kernels=kernels) as server:
        yield server


@pytest.fixture(scope="module")
def rest(serve):
    return Rest(serve)


@pytest.fixture(scope="module")
def prefix_url(serve):
    return f"{serve.url}/t/{serve.token}/"


CLIENTS = (
    "autogen-ext",
    "jupyter-kernel-client",
    "jupyter-mcp-server",
    "mcp",
    "nbclient",
)
CLIENTS += ("nbconvert", "papermill", "smolagents", "jupyter-server")


def pytest_terminal_summary(terminalreporter):
    versions = (f"{name} {importlib.metadata.version(name)}" for name in CLIENTS)
    terminalreporter.write_line(f"clients: {', '.join(versions)}")
