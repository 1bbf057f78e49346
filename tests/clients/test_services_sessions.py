"""@jupyterlab/services in Node: sessions, kernelspecs and the user. sessions.mjs acts and says what
it saw, and here is what it should have seen."""

import json
import os
import subprocess

import pytest

SESSIONS = os.path.join(os.path.dirname(__file__), "sessions.mjs")
LIMIT_S = 160
PATH = "folder/ünï 1.ipynb"


@pytest.fixture(scope="module")
def run(serve):
    done = subprocess.run(
        ["node", SESSIONS, f"{serve.url}/", serve.token],
        stdout=subprocess.PIPE,
        timeout=LIMIT_S,
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture
def saw(run):
    """saw(step): its value; fails with the stack where the step did."""

    def value_of(step):
        assert "error" not in run[step], run[step]["error"]
        return run[step]["value"]

    return value_of


def test_kernelspecs(saw):
    specs = saw("kernelspecs")
    assert "python3" in specs["names"] and specs["default"] in specs["names"]


def test_user(saw):
    user = saw("user")
    assert user["identity"]["username"] == "owner"
    assert user["permissions"]["updatable_fields"] == []


def test_start(saw):
    expected = {"path": PATH, "name": "one", "type": "notebook", "text": "hello\n"}
    assert saw("start") == expected


def test_same_path_is_the_same_session(saw):
    assert saw("again") == {"session": True, "kernel": True}


def test_connect(saw):
    assert saw("connect") == {"text": "1\n", "found": True}


def test_running(saw):
    assert saw("running") == [PATH]


RENAMED = {"same": True, "path": "b.py", "name": "b", "type": "console", "kernel": True}


def test_rename(saw):
    assert saw("rename") == RENAMED


def test_change_kernel(saw):
    """The kernel before it ends."""
    expected = {**RENAMED, "gone": True}
    assert saw("change_kernel_by_name") == {"text": "False\n", **expected}
    assert saw("change_kernel_by_id") == {"text": "there\n", **expected}


def test_unknown_kernel(saw):
    refusal = saw("unknown_kernel")
    assert refusal["status"] == 501 and "none" in refusal["message"]


def test_shutdown(saw):
    assert saw("shutdown") == {"disposed": True, "left": 0, "kernel": False}


def test_kernel_goes_first(saw):
    assert saw("kernel_goes_first")["status"] == 410
