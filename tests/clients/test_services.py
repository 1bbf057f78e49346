"""@jupyterlab/services in Node, the client inside JupyterLab and VS Code, over both encodings:
services.mjs acts and says what it saw, and here is what it should have seen."""

import node_steps
import pytest

V1 = "v1.kernel.websocket.jupyter.org"


@pytest.fixture(scope="module", params=["v1", "legacy"])
def saw(request, serve):
    return node_steps.Steps("services.mjs", f"{serve.url}/", serve.token, request.param)


@pytest.fixture
def encoding(request):
    return request.node.callspec.params["saw"]


def test_kernelspecs(saw):
    specs = saw("kernelspecs")
    assert specs["python3"] == "python"
    assert specs["default"]


def test_start(encoding, saw):
    expected = {"implementation": "ipython", "connection": "connected"}
    assert saw("start") == {**expected, "protocol": V1 if encoding == "v1" else ""}


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
