"""@jupyterlab/services in Node: sessions, kernelspecs and the user. sessions.mjs acts and says what
it saw, and here is what it should have seen."""

import node_steps
import pytest

PATH = "folder/ünï 1.ipynb"


@pytest.fixture(scope="module")
def saw(serve):
    return node_steps.Steps("sessions.mjs", f"{serve.url}/", serve.token)


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
