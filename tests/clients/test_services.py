"""@jupyterlab/services in Node, the client inside JupyterLab and VS Code, over both encodings:
services.mjs acts and says what it saw, and here is what it should have seen."""

import json
import os
import subprocess

import pytest

SERVICES = os.path.join(os.path.dirname(__file__), "services.mjs")
V1 = "v1.kernel.websocket.jupyter.org"
LIMIT_S = 160


@pytest.fixture(scope="module", params=["v1", "legacy"])
def run(request, serve):
    """(which encoding, all that services.mjs saw)"""
    done = subprocess.run(
        ["node", SERVICES, f"{serve.url}/", serve.token, request.param],
        stdout=subprocess.PIPE,
        timeout=LIMIT_S,
        check=True,
    )
    return request.param, json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def saw(run):
    """saw(step): its value; fails with the stack where the step did."""

    def value_of(step):
        assert "error" not in run[1][step], run[1][step]["error"]
        return run[1][step]["value"]

    return value_of


def test_kernelspecs(saw):
    specs = saw("kernelspecs")
    assert specs["python3"] == "python"
    assert specs["default"]


def test_start(run, saw):
    expected = {"implementation": "ipython", "connection": "connected"}
    assert saw("start") == {**expected, "protocol": V1 if run[0] == "v1" else ""}


def test_execute(saw):
    cell = saw("execute")
    assert cell["status"] == "ok"
    kinds = [kind for kind, _ in cell["messages"]]
    assert kinds[0] == kinds[-1] == "status"
    streams = {content["name"]: content["text"] for kind, content in cell["messages"]
               if kind == "stream"}  # fmt: skip
    assert streams == {"stdout": "out\n", "stderr": "err\n"}
    (result,) = (content for kind, content in cell["messages"] if kind == "execute_result")
    assert result["data"]["text/plain"] == "42"


def test_statuses(saw):
    assert saw("statuses") == ["busy", "idle"]


def test_error(saw):
    cell = saw("error")
    assert (cell["status"], cell["ename"]) == ("error", "ZeroDivisionError")
    assert "error" in [kind for kind, _ in cell["messages"]]


def test_other_requests(saw):
    assert saw("requests") == ["ok", "ok", "incomplete", "ok", "ok"]


def test_input(saw):
    assert "adaada\n" in saw("input")


def test_interrupt(saw):
    assert saw("interrupt") == {"ename": "KeyboardInterrupt", "after": "goes on\n"}


def test_comm_with_buffers_both_ways(saw):
    assert saw("comm") == {"data": {"n": 1}, "equal": [True, True, True]}


def test_second_connection(saw):
    assert saw("second_connection") == {"heard": True, "value": "from the other\n"}


def test_running(saw):
    assert saw("running") is True


def test_restart(saw):
    expected = {"same": True, "text": "False still here\n", "status": "idle"}
    assert saw("restart") == expected


def test_death(saw):
    """The end comes before `restarting`, which makes this client cancel what is open."""
    death = saw("death")
    assert death["status"] == "error"
    assert "SIGKILL" in death["reason"]
    assert (death["after"], death["state"]) == ("False\n", "idle")


def test_shutdown(saw):
    assert saw("shutdown") == {"left": False, "status": "dead", "disposed": True}
