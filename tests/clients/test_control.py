"""What JupyterLab does beside running cells: control while the shell is busy, subshells, the
debugger, and questions to two people at once. All of it is ipykernel's own; the gateway passes it
on, to the one who asked."""

import itertools
import uuid

import pytest
from channels import Channels, execute_content, parent_of

serial = itertools.count(1)


@pytest.fixture
def channels(serve, kernel_id):
    with Channels(serve, kernel_id, "v1") as channels:
        yield channels


def execute_in(channels, subshell_id, code):
    message = channels.message("execute_request", execute_content(code))
    message["header"]["subshell_id"] = subshell_id
    return channels.send_message(message)


def ask_control(channels, kind, content=None):
    return channels.answer(channels.send(kind, content or {}, "control")).content


# -- subshells (JEP 91) ---------------------------------------------------------------------------


def test_a_subshell_answers_while_the_shell_is_busy(channels):
    created = ask_control(channels, "create_subshell_request")
    assert created["status"] == "ok"
    subshell_id = created["subshell_id"]
    assert subshell_id in ask_control(channels, "list_subshell_request")["subshell_id"]
    waiting = channels.execute("print(input())", allow_stdin=True)
    channels.until_kind("input_request", waiting)
    answer = channels.answer(execute_in(channels, subshell_id, "print('beside')"))
    assert answer.text == "beside\n"
    assert answer.content["status"] == "ok"
    channels.send("input_reply", {"value": "now"}, "stdin")
    assert channels.answer(waiting).text == "now\n"
    deleted = ask_control(channels, "delete_subshell_request", {"subshell_id": subshell_id})
    assert deleted["status"] == "ok"
    assert subshell_id not in ask_control(channels, "list_subshell_request")["subshell_id"]


# -- the debugger ---------------------------------------------------------------------------------


def debug(channels, command, arguments=None):
    content = {"type": "request", "seq": next(serial), "command": command}
    content["arguments"] = arguments or {}
    return ask_control(channels, "debug_request", content)


def test_the_debugger_stops_and_goes_on(serve, own_kernel_id):
    """A breakpoint in a cell: its event comes on iopub while the cell, stopped, keeps the shell."""
    with Channels(serve, own_kernel_id) as channels:
        assert debug(channels, "debugInfo")["body"]["isStarted"] is False
        assert debug(channels, "initialize", {"clientID": "t", "adapterID": ""})["success"]
        assert debug(channels, "attach")["success"]
        code = "x = 20\ny = x + 1\nprint(y)"
        path = debug(channels, "dumpCell", {"code": code})["body"]["sourcePath"]
        points = {"breakpoints": [{"line": 3}], "source": {"path": path}, "sourceModified": False}
        assert debug(channels, "setBreakpoints", points)["success"]
        assert debug(channels, "configurationDone")["success"]
        msg_id = channels.execute(code)
        stopped = channels.until(lambda m: event_of(m) == "stopped")
        thread = {"threadId": stopped["content"]["body"]["threadId"]}
        frames = debug(channels, "stackTrace", thread)["body"]["stackFrames"]
        assert frames[0]["line"] == 3
        assert debug(channels, "continue", thread)["success"]
        assert channels.answer(msg_id).text == "21\n"
        assert debug(channels, "disconnect")["success"]


def event_of(message):
    return message["content"].get("event") if message["channel"] == "iopub" else None


# -- stdin ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("first", ["one", "two"])
def test_each_is_asked_about_its_own_cell(serve, kernel_id, first):
    """Two cells that ask, of two clients: the second is asked when the first has answered."""
    with Channels(serve, kernel_id) as one, Channels(serve, kernel_id, "v1") as two:
        clients = [("one", one), ("two", two)]
        if first == "two":
            clients.reverse()
        cells = [(client, name, client.execute("print(input('? '))", allow_stdin=True))
                 for name, client in clients if client.kernel_info()]  # fmt: skip
        for client, name, msg_id in cells:
            client.until_kind("input_request", msg_id)
            client.send("input_reply", {"value": name}, "stdin")
            assert client.answer(msg_id).text == f"{name}\n"
        for client, _, msg_id in cells:
            asked = {parent_of(m) for m in client.log if m["channel"] == "stdin"}
            assert asked == {msg_id}


# -- a kernel that still starts -------------------------------------------------------------------


def test_a_socket_right_after_the_post(serve, rest):
    """What is sent while the kernel starts is answered in order; that the upgrade does not wait for
    it is what a kernel that never starts shows (test_death.py)."""
    kernel_id = rest.start_kernel()
    with Channels(serve, kernel_id) as channels:
        cells = [channels.execute(f"print({n})") for n in range(3)]
        assert [answer.text for answer in channels.answers(*cells)] == ["0\n", "1\n", "2\n"]
    rest.end_kernel(kernel_id)


# -- loose messages -------------------------------------------------------------------------------


def test_another_session_in_every_message(serve, kernel_id):
    """smolagents: replies and questions follow the socket, not the header's session."""
    with Channels(serve, kernel_id) as channels:
        for n in range(3):
            channels.session = uuid.uuid4().hex
            msg_id = channels.execute(f"print(input(), {n})", allow_stdin=True)
            channels.until_kind("input_request", msg_id)
            channels.session = uuid.uuid4().hex
            channels.send("input_reply", {"value": "me"}, "stdin")
            assert channels.answer(msg_id).text == f"me {n}\n"
