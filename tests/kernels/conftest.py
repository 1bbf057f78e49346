"""Fixtures of the kernels of other languages, which gateway/add-kernel has installed."""

import cellblock
import pytest
import table
from rest import Rest


@pytest.fixture(scope="module")
def serve():
    """A server that looks for kernelspecs where gateway/start lets it look."""
    with cellblock.Serve(environment={"JUPYTER_PATH": table.JUPYTER_PATH}) as server:
        yield server


@pytest.fixture(scope="module")
def rest(serve):
    return Rest(serve)
