"""A kernel per test that may end or spoil it, and one per file and transport for the others."""

import echo
import pytest


@pytest.fixture(scope="module", params=["ipc", "tcp"])
def kernel(request):
    with echo.running(request.param) as manager:
        yield manager


@pytest.fixture
def wire(kernel):
    with echo.Wire(kernel) as wire:
        wire.await_ready()
        yield wire


@pytest.fixture
def own_kernel():
    """One that the test may end."""
    with echo.running() as manager:
        yield manager


@pytest.fixture
def own_wire(own_kernel):
    with echo.Wire(own_kernel) as wire:
        wire.await_ready()
        yield wire
