"""Fixtures for every test in Python. `serve` is one server for a whole test file; a test that needs
other arguments, or ends the server itself, takes `start_serve`. A test that fails shows the log."""

import contextlib
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent / "support"))

import cellblock  # noqa: E402


@pytest.fixture(scope="module")
def serve():
    """A cellblock.Serve with default arguments, stopped and checked after the file's last test."""
    with cellblock.Serve() as server:
        yield server


class Starter:
    """Call it with arguments of `serve` for one more server."""

    def __init__(self):
        self.servers = []

    def __call__(self, *arguments, **options):
        self.servers.append(cellblock.Serve(*arguments, **options))
        return self.servers[-1]


@pytest.fixture
def start_serve():
    """A Starter; what it started is stopped and checked after the test."""
    starter = Starter()
    with contextlib.ExitStack() as ends:
        yield starter
        for server in starter.servers:
            ends.callback(server.stop)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    report = outcome.get_result()
    if not report.failed:
        return
    for value in getattr(item, "funcargs", {}).values():
        servers = value.servers if isinstance(value, Starter) else [value]
        for server in servers:
            if isinstance(server, cellblock.Serve) and server.log_path.exists():
                report.sections.append((f"log of serve {server.url}", server.log()))
