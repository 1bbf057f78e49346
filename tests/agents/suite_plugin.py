"""suite_plugin - a pytest plugin for other projects' tests: their fixtures, for a Cellblock instead
of a server in their own process, and a record of how each test ended.

Of a test it is also seen whether its last statement was reached: one that returns early because it
was not meant for this server proves nothing. Their time limits are ours: a busy machine is slow.
SUITE_ENDS names the file that gets {test: end}: passed, failed, skipped, or "early".
"""

import ast
import asyncio
import inspect
import json
import os
import sys
import textwrap
import types
import urllib.parse

import pytest
from suite_servers import App
from tornado.httpclient import AsyncHTTPClient, HTTPRequest
from tornado.websocket import websocket_connect

PATIENCE_S = 120

# -- the fixtures of jupyter_server's tests -------------------------------------------------------


class KernelManager:
    """What tests ask of it besides requests: a default, and whether a kernel is there."""

    use_pending_kernels = False

    def __init__(self, app):
        self.app = app

    @property
    def default_kernel_name(self):
        return "python3"

    @default_kernel_name.setter
    def default_kernel_name(self, name):
        self.app.arguments.append(f"--default-kernel={name}")

    def get_kernel(self, kernel_id):
        status, model = self.app.server.request("GET", f"/api/kernels/{kernel_id}")
        assert status == 200, model
        return types.SimpleNamespace(**model)


@pytest.fixture
def app():
    app = App()
    yield app
    app.end()


@pytest.fixture
def jp_serverapp(app):
    return types.SimpleNamespace(kernel_manager=KernelManager(app))


@pytest.fixture
def jp_base_url():
    return "/"


@pytest.fixture
def jp_kernelspecs():
    """Every server here has `bad`."""


@pytest.fixture
def jp_root_dir(tmp_path):
    return tmp_path


@pytest.fixture
def jp_http_port(app):
    return app.server.port


@pytest.fixture
def jp_auth_header(app):
    return {"Authorization": f"token {app.server.token}"}


def make_url(base, parts, params):
    path = urllib.parse.quote("/".join(part.strip("/") for part in parts))
    query = f"?{urllib.parse.urlencode(params)}" if params else ""
    return f"{base}/{path}{query}"


@pytest.fixture
def jp_fetch(app):
    def fetch(*parts, headers=None, params=None, **options):
        token = {"Authorization": f"token {app.server.token}"}
        options.setdefault("request_timeout", PATIENCE_S)
        url = make_url(app.server.url, parts, params)
        return AsyncHTTPClient().fetch(url, headers={**token, **(headers or {})}, **options)

    return fetch


@pytest.fixture
def jp_ws_fetch(app):
    def fetch(*parts, headers=None, params=None, **options):
        token = {"Authorization": f"token {app.server.token}"}
        url = make_url(app.server.ws_url, parts, params)
        options.setdefault("connect_timeout", PATIENCE_S)
        return websocket_connect(HTTPRequest(url, headers={**token, **(headers or {})}, **options))

    return fetch


# -- how they are run -----------------------------------------------------------------------------


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = pyfuncitem._fixtureinfo.argnames
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True


def pytest_configure(config):
    config.addinivalue_line("markers", "flaky: theirs")
    config.ends = {}


def pytest_collection_modifyitems(items):
    for item in items:
        item.own_markers = [mark for mark in item.own_markers if mark.name != "timeout"]
        item.add_marker(pytest.mark.timeout(PATIENCE_S))


def last_line(function):
    """The line of its last statement, in its file."""
    source = textwrap.dedent(inspect.getsource(function))
    return ast.parse(source).body[0].body[-1].lineno + function.__code__.co_firstlineno - 1


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_call(item):
    function = inspect.unwrap(item.function)
    last = last_line(function)
    item.is_whole = False

    def see_line(frame, event, argument):
        item.is_whole |= event == "line" and frame.f_lineno >= last
        return see_line

    def see_call(frame, event, argument):
        return see_line if frame.f_code is function.__code__ else None

    sys.settrace(see_call)
    yield
    sys.settrace(None)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    report = (yield).get_result()
    name = item.nodeid.partition("[")[0]
    if report.when == "call" and report.passed and not item.is_whole:
        item.config.ends[name] = "early"
    elif report.when == "call" or not report.passed:
        item.config.ends[name] = report.outcome


def pytest_sessionfinish(session):
    with open(os.environ["SUITE_ENDS"], "w") as file:
        json.dump(session.config.ends, file)
