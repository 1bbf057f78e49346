"""The echo kernel on the wire: identities, signatures, topics, comms, and its ends."""

import json
import os
import signal
import subprocess

import cellblock
import echo
import pytest
from jupyter_client.session import Session


def test_kernel_info_on_shell_and_control(wire):
    for channel in ("shell", "control"):
        msg_id = wire.send("kernel_info_request", channel=channel)
        reply = wire.receive(channel)
        assert reply["msg_type"] == "kernel_info_reply"
        assert echo.parent_of(reply) == msg_id
        content = reply["content"]
        assert content["status"] == "ok"
        assert content["protocol_version"] == "5.5"
        assert content["implementation"] == "cellblock-echo"
        assert content["supported_features"] == []
        assert content["language_info"]["file_extension"] == ".echo"
        states = wire.receive_all(until_idle_of=msg_id)
        assert [m["content"]["execution_state"] for m in states] == ["busy", "idle"]


def test_every_message_is_whole(wire):
    msg_id = wire.execute("print a")
    ids = set()
    for message in [wire.receive(), *wire.receive_all(until_idle_of=msg_id)]:
        header = message["header"]
        assert header["version"] == "5.4"
        assert header["session"] != wire.session.session
        assert header["username"]
        assert header["date"].tzinfo is not None
        assert message["metadata"] == {}
        assert message["parent_header"]["session"] == wire.session.session
        ids.add(message["msg_id"])
    assert len(ids) == 5


def receive_welcome(wire):
    """The next one but that of the fixture's own subscription, which may come late."""
    while True:
        message = wire.receive("iopub")
        assert message["msg_type"] == "iopub_welcome"
        if message["content"]["subscription"]:
            return message


def test_the_first_subscriber_of_a_topic_is_welcomed(wire, kernel):
    for topic in ("kernel.some", "a topic, ünïcode"):
        wire.sockets["iopub"].subscribe(topic.encode())
        welcome = receive_welcome(wire)
        assert welcome["content"] == {"subscription": topic}
        assert welcome["parent_header"] == {}
        with echo.Wire(kernel) as second:
            second.sockets["iopub"].unsubscribe(b"")
            second.sockets["iopub"].subscribe(topic.encode())
            assert is_alive(second)
        while message := wire.receive("iopub", timeout_s=0.1):
            assert message["msg_type"] == "status"


def test_topics(wire):
    msg_id = wire.execute("print a")
    topics = []
    while len(topics) < 4:
        parts = wire.sockets["iopub"].recv_multipart()
        assert parts[1] == b"<IDS|MSG>"
        if parts[0]:  # else a welcome that came late
            topics.append(parts[0].decode())
    session = wire.receive()["header"]["session"]
    names = ["status", "execute_input", "stream", "status"]
    assert topics == [f"kernel.{session}.{name}" for name in names], msg_id


def is_alive(wire):
    msg_id = wire.send("kernel_info_request")
    return echo.parent_of(wire.receive()) == msg_id


def test_a_wrong_signature_is_not_answered(wire):
    other = Session(key=b"another", signature_scheme="hmac-sha256")
    other.send(wire.sockets["shell"], other.msg("kernel_info_request"))
    assert is_alive(wire)


def test_a_replay_is_not_answered(wire):
    parts = wire.session.serialize(wire.session.msg("kernel_info_request"))
    for _ in range(2):
        wire.sockets["shell"].send_multipart(parts)
    assert wire.receive()["msg_type"] == "kernel_info_reply"
    assert is_alive(wire)


@pytest.mark.parametrize(
    "parts",
    [
        [b""],
        [b"<IDS|MSG>"],
        [b"<IDS|MSG>", b"sig", b"{}", b"{}", b"{}"],
        [b"<IDS|MSG>", b"", b"{}", b"{}", b"{}", b"{}"],
        [b"x"] * 40,
        [b"<IDS|MSG>", b"sig", b"{}", b"{}", b"{}", b"{}", *[b"buffer"] * 3000],
    ],
)
def test_what_is_no_message_is_dropped(wire, parts):
    wire.sockets["shell"].send_multipart(parts)
    wire.sockets["control"].send_multipart(parts)
    assert is_alive(wire)


def send_content(wire, msg_type, content):
    """content as bytes, whatever they are."""
    message = wire.session.msg(msg_type)
    parts = [Session().pack(message[name]) for name in ("header", "parent_header", "metadata")]
    parts.append(content)
    signature = wire.session.sign(parts)
    wire.sockets["shell"].send_multipart([b"<IDS|MSG>", signature, *parts])
    return message["header"]["msg_id"]


@pytest.mark.parametrize("content", [b"{", b"[]", b"null", b'{"code": 7}', b'{"code": "\\ud800"}'])
def test_a_content_that_is_not_understood_is_answered(wire, content):
    msg_id = send_content(wire, "execute_request", content)
    reply = wire.receive()
    assert echo.parent_of(reply) == msg_id
    assert reply["content"]["status"] == "error"
    assert reply["content"]["ename"] == "ValueError"


REQUESTS = (
    "execute",
    "inspect",
    "complete",
    "history",
    "is_complete",
    "comm_info",
    "kernel_info",
    "interrupt",
)
ODD_VALUES = (
    b"null",
    b"-1",
    b"-9223372036854775808",
    b"9223372036854775807",
    b"7",
    b"99999999999999999999",
    b"1e400",
    b'""',
    b'"\\u0000\xc3\xa9"',
    b"[]",
    b"{}",
)
MEMBERS = (
    b"code",
    b"cursor_pos",
    b"user_expressions",
    b"silent",
    b"allow_stdin",
    b"hist_access_type",
    b"n",
    b"start",
    b"pattern",
    b"target_name",
)


@pytest.mark.parametrize("request_name", REQUESTS)
def test_odd_members_are_answered(wire, request_name):
    """Each member with each odd value, the others as they should be or absent."""
    good = b'"code": "a", "hist_access_type": "search"'
    for member in MEMBERS:
        for value in ODD_VALUES:
            content = b'{%s, "%s": %s}' % (good, member, value)
            msg_id = send_content(wire, f"{request_name}_request", content)
            reply = wire.receive()
            assert reply, content
            assert echo.parent_of(reply) == msg_id
            assert reply["msg_type"] == f"{request_name}_reply"
            assert reply["content"]["status"] in ("ok", "error", "aborted", "complete")
            wire.receive_all(until_idle_of=msg_id)


def test_an_unknown_type_gets_statuses_alone(wire):
    msg_id = wire.send("curious_request")
    found = wire.receive_all(until_idle_of=msg_id)
    assert [message["content"]["execution_state"] for message in found] == ["busy", "idle"]
    assert is_alive(wire)


def test_an_empty_key_means_no_signatures(tmp_path):
    kernel = echo.manager()
    kernel.session.key = b""
    kernel.start_kernel()
    try:
        with echo.Wire(kernel) as wire:
            assert wire.session.key == b""
            wire.send("kernel_info_request")
            assert wire.sockets["shell"].poll(echo.TIMEOUT_S * 1000)
            parts = wire.sockets["shell"].recv_multipart()
            assert parts[:2] == [b"<IDS|MSG>", b""]
    finally:
        kernel.shutdown_kernel()


def test_a_newcomer_takes_over_an_identity(kernel):
    with echo.Wire(kernel, b"same") as first:
        assert is_alive(first)
        with echo.Wire(kernel, b"same") as second:
            assert is_alive(second)


# -- comms ----------------------------------------------------------------------------------------


def raw_content(wire):
    """The content's bytes and the buffers of the next message on iopub that is no status."""
    while True:
        parts = wire.sockets["iopub"].recv_multipart()
        at = parts.index(b"<IDS|MSG>")
        header = json.loads(parts[at + 2])
        if header["msg_type"] not in ("status", "iopub_welcome"):
            return header["msg_type"], parts[at + 5], parts[at + 6 :]


def test_comms_say_everything_back(wire):
    wire.send("comm_open", {"comm_id": "c1", "target_name": "t", "data": {"a": 1}})
    assert raw_content(wire) == ("comm_msg", b'{"comm_id":"c1","data":{"a": 1}}', [])

    wire.send("comm_msg", {"comm_id": "c1", "data": {}}, buffers=[b"\0\xff", b""])
    assert raw_content(wire) == ("comm_msg", b'{"comm_id":"c1","data":{}}', [b"\0\xff", b""])

    odd = b'{"nan": NaN, "big": 1' + b"0" * 70 + b', "lone": "\\ud800"}'
    send_content(wire, "comm_msg", b'{"comm_id": "c1", "data": ' + odd + b"}")
    assert raw_content(wire) == ("comm_msg", b'{"comm_id":"c1","data":' + odd + b"}", [])

    wire.send("comm_info_request", {})
    assert wire.receive()["content"]["comms"] == {"c1": {"target_name": "t"}}
    wire.send("comm_info_request", {"target_name": "other"})
    assert wire.receive()["content"]["comms"] == {}

    wire.send("comm_close", {"comm_id": "c1", "data": {}})
    assert raw_content(wire)[0] == "comm_close"
    wire.send("comm_info_request", {})
    assert wire.receive()["content"]["comms"] == {}


def test_a_comm_that_is_not_open_is_silent(wire):
    msg_id = wire.send("comm_msg", {"comm_id": "nowhere", "data": {}})
    found = wire.receive_all(until_idle_of=msg_id)
    assert [message["msg_type"] for message in found] == ["status", "status"]
    send_content(wire, "comm_open", b'{"comm_id": 7}')
    assert is_alive(wire)


# -- ends -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("restart", [False, True])
def test_shutdown(own_kernel, own_wire, restart):
    msg_id = own_wire.send("shutdown_request", {"restart": restart}, channel="control")
    expected = {"status": "ok", "restart": restart}
    reply = own_wire.receive("control")
    assert (reply["msg_type"], reply["content"]) == ("shutdown_reply", expected)
    found = own_wire.receive_all(until_idle_of=msg_id)
    assert [message["msg_type"] for message in found] == ["status", "shutdown_reply", "status"]
    assert found[1]["content"] == expected
    assert echo.wait_for_end(own_kernel) == 0


def test_shutdown_during_a_cell(own_kernel, own_wire):
    own_wire.await_busy(own_wire.execute("sleep 60000"))
    own_wire.send("shutdown_request", {"restart": False}, channel="control")
    assert own_wire.receive("control")["msg_type"] == "shutdown_reply"
    assert echo.wait_for_end(own_kernel) == 0
    assert own_wire.receive(timeout_s=0) is None


@pytest.mark.parametrize(
    "code, status",
    [
        ("exit 0", 0),
        ("exit 7", 7),
        ("signal 9", -9),
        ("signal 11", -11),
        ("signal 15", 0),
        ("print a\nexit 255\nprint b", 255),
    ],
)
def test_a_kernel_that_ends_in_a_cell(own_kernel, own_wire, code, status):
    own_wire.execute(code)
    assert echo.wait_for_end(own_kernel) == status
    assert own_wire.receive(timeout_s=0) is None


def test_sigterm_ends_it(own_kernel, own_wire):
    own_kernel.signal_kernel(signal.SIGTERM)
    assert echo.wait_for_end(own_kernel) == 0


def test_an_interrupting_signal_of_its_own(own_kernel, own_wire):
    own_wire.execute("signal 2\nsleep 60000")
    assert own_wire.receive()["content"]["ename"] == "KeyboardInterrupt"


@pytest.mark.parametrize("command, alone", [("fork", False), ("daemon", True)])
def test_children(own_kernel, own_wire, command, alone):
    msg_id = own_wire.execute(f"{command} 60000")
    assert own_wire.receive()["content"]["status"] == "ok"
    found = own_wire.receive_all(until_idle_of=msg_id)
    child = int(found[2]["content"]["data"]["text/plain"])
    kernel_pid = echo.process_of(own_kernel).pid
    try:
        session = child if alone else os.getsid(kernel_pid)
        cellblock.wait_until(lambda: os.getsid(child) == session, 30, "the child's session")
    finally:
        os.kill(child, signal.SIGKILL)
    cellblock.wait_until(lambda: cellblock.parent_of(child) is None, 30, "the child's end")
    assert is_alive(own_wire)


def test_a_connection_file_that_is_none(tmp_path):
    program = echo.KERNELS / "echo" / "cellblock-echo"
    path = tmp_path / "connection.json"
    for text in ("", "{}", "[]", "x" * 100000):
        path.write_text(text)
        result = subprocess.run([program, path], capture_output=True, text=True)
        assert result.returncode == 1
        assert result.stderr.startswith(f"cellblock-echo: connection file {path}: ")
    assert subprocess.run([program], capture_output=True).returncode == 1
