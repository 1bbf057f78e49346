"""Cells of the echo kernel: what they say, in which order, and how they end."""

import os

import cellblock
import echo
import pytest


def outputs(wire, msg_id):
    """iopub of a cell without its frame: busy, execute_input, ..., idle."""
    found = wire.receive_all(until_idle_of=msg_id)
    assert all(echo.parent_of(message) == msg_id for message in found)
    assert echo.is_status(found[0], "busy")
    assert found[1]["msg_type"] == "execute_input"
    return found[2:-1]


def run(wire, code, **content):
    """(reply, outputs)."""
    msg_id = wire.execute(code, **content)
    reply = wire.receive()
    assert reply["msg_type"] == "execute_reply"
    assert echo.parent_of(reply) == msg_id
    return reply["content"], outputs(wire, msg_id)


def run_ok(wire, code, **content):
    """(msg_type, content) of each output."""
    reply, found = run(wire, code, **content)
    assert reply["status"] == "ok", reply
    return [(message["msg_type"], message["content"]) for message in found]


def test_a_line_without_a_command_is_its_own_result(wire):
    [(kind, content)] = run_ok(wire, "1 + 1 = zwei, три")
    assert kind == "execute_result"
    assert content["data"] == {"text/plain": "1 + 1 = zwei, три"}


@pytest.mark.parametrize(
    "code, kind, content",
    [
        ("print hello", "stream", {"name": "stdout", "text": "hello\n"}),
        ("stderr a  b", "stream", {"name": "stderr", "text": "a  b\n"}),
        ("bytes 12", "stream", {"name": "stdout", "text": "012345678901"}),
        ("clear", "clear_output", {"wait": False}),
        (
            'display application/json {"a": [1]}',
            "display_data",
            {"data": {"application/json": {"a": [1]}}, "metadata": {}, "transient": {}},
        ),
        (
            "display text/html <b>x</b>",
            "display_data",
            {"data": {"text/html": "<b>x</b>"}, "metadata": {}, "transient": {}},
        ),
    ],
)
def test_outputs(wire, code, kind, content):
    assert run_ok(wire, code) == [(kind, content)]


def test_lines_run_in_order_and_a_backslash_joins(wire):
    found = run_ok(wire, "print a\n\n   print b\\\nc\necho d")
    assert [content.get("text") or content["data"]["text/plain"] for _, content in found] == [
        "a\n",
        "bc\n",
        "d",
    ]


def test_nothing_is_lost_in_a_flood(wire):
    msg_id = wire.execute("lines 5000\nbytes 5000000")
    found = outputs(wire, msg_id)
    assert [m["content"]["text"] for m in found[:-1]] == [f"line {i}\n" for i in range(1, 5001)]
    assert found[-1]["content"]["text"] == "0123456789" * 500000
    assert wire.receive()["content"]["status"] == "ok"


def test_the_count_grows_with_what_history_keeps(wire):
    first, _ = run(wire, "echo a")
    kept, found = run(wire, "echo b")
    unkept, _ = run(wire, "echo c", store_history=False)
    silent = wire.execute("print d\necho e", silent=True)
    assert wire.receive()["content"]["execution_count"] == first["execution_count"] + 1
    said = wire.receive_all(until_idle_of=silent)
    assert [message["msg_type"] for message in said] == ["status", "status"]
    assert kept["execution_count"] == first["execution_count"] + 1
    assert unkept["execution_count"] == kept["execution_count"]
    assert found[0]["content"]["execution_count"] == kept["execution_count"]


def test_user_expressions_and_payload(wire):
    reply, _ = run(wire, "page some text", user_expressions={"x": "y z", "bad": 1})
    assert reply["user_expressions"]["x"] == {
        "status": "ok",
        "data": {"text/plain": "y z"},
        "metadata": {},
    }
    assert reply["user_expressions"]["bad"]["status"] == "error"
    assert reply["payload"][0]["data"] == {"text/plain": "some text"}


@pytest.mark.parametrize(
    "code, ename, evalue",
    [
        ("error NameError x is not defined", "NameError", "x is not defined"),
        ("error Quiet", "Quiet", ""),
        ("sleep soon", "ValueError", "usage: sleep MS"),
        ("exit 256", "ValueError", "usage: exit CODE"),
        ("cat /nowhere", "OSError", "/nowhere: No such file or directory"),
        ("env NOT_SET_ANYWHERE", "KeyError", "NOT_SET_ANYWHERE"),
    ],
)
def test_errors_end_the_cell(wire, code, ename, evalue):
    reply, found = run(wire, f"{code}\nprint not reached")
    assert [message["msg_type"] for message in found] == ["error"]
    for content in (reply, found[0]["content"]):
        assert content["status"] == "error"
        assert (content["ename"], content["evalue"]) == (ename, evalue)
        assert content["traceback"] == [f"{ename}: {evalue}"]
    assert reply["execution_count"] > 0


def statuses(wire, *msg_ids):
    replies = [wire.receive() for _ in msg_ids]
    assert [echo.parent_of(reply) for reply in replies] == list(msg_ids)
    for msg_id in msg_ids:
        wire.receive_all(until_idle_of=msg_id)
    return [reply["content"]["status"] for reply in replies]


# A cell that fails when what was sent after it has come to the kernel.
FAILING = "input ?\nsleep 300\nerror E"


def let_fail(wire):
    assert wire.receive("stdin")["msg_type"] == "input_request"
    wire.send("input_reply", {"value": ""}, channel="stdin")


def test_a_failed_cell_aborts_the_queued_ones(wire):
    failing = wire.execute(FAILING, stop_on_error=True)
    queued = [wire.execute("echo a", stop_on_error=True) for _ in range(3)]
    let_fail(wire)
    assert statuses(wire, failing, *queued) == ["error", "aborted", "aborted", "aborted"]
    assert run(wire, "echo b")[0]["status"] == "ok"


def test_other_requests_are_not_aborted(wire):
    failing = wire.execute(FAILING)
    info = wire.send("kernel_info_request")
    let_fail(wire)
    assert statuses(wire, failing, info) == ["error", "ok"]


@pytest.mark.parametrize("content", [{"stop_on_error": False}, {"silent": True}])
def test_a_failed_cell_that_aborts_nothing(wire, content):
    failing = wire.execute(FAILING, **content)
    queued = wire.execute("echo a")
    let_fail(wire)
    assert statuses(wire, failing, queued) == ["error", "ok"]


@pytest.mark.parametrize("how", ["SIGINT", "interrupt_request"])
@pytest.mark.parametrize("code", ["sleep 60000", "spin 60000", "input ?"])
def test_interrupt(kernel, wire, how, code):
    msg_id = wire.execute(code, allow_stdin=True)
    wire.await_busy(msg_id)
    assert wire.receive("iopub")["msg_type"] == "execute_input"
    if how == "SIGINT":
        kernel.interrupt_kernel()
    else:
        wire.send("interrupt_request", channel="control")
        assert wire.receive("control")["content"] == {"status": "ok"}
    reply = wire.receive()
    assert reply["content"]["ename"] == "KeyboardInterrupt"
    assert run_after(wire, msg_id) == "ok"


def run_after(wire, msg_id):
    wire.receive_all(until_idle_of=msg_id)
    return run(wire, "echo still here")[0]["status"]


def test_an_interrupt_without_a_cell_does_nothing(kernel, wire):
    kernel.interrupt_kernel()
    wire.send("interrupt_request", channel="control")
    assert wire.receive("control")["content"] == {"status": "ok"}
    next_cell = wire.execute("sleep 100\necho a")
    assert wire.receive()["content"]["status"] == "ok"
    wire.receive_all(until_idle_of=next_cell)


@pytest.mark.parametrize("code", ["sleep 60000", "spin 60000"])
def test_control_and_heartbeat_are_answered_meanwhile(wire, code):
    msg_id = wire.execute(code)
    wire.await_busy(msg_id)
    info = wire.send("kernel_info_request", channel="control")
    reply = wire.receive("control")
    assert reply["msg_type"] == "kernel_info_reply"
    assert [message["msg_type"] for message in wire.receive_all(until_idle_of=info)][-2:] == [
        "status",
        "status",
    ]
    wire.sockets["hb"].send(b"ping")
    assert wire.sockets["hb"].poll(echo.TIMEOUT_S * 1000)
    assert wire.sockets["hb"].recv() == b"ping"
    second = wire.send("execute_request", {"code": "echo b"}, channel="control")
    assert wire.receive("control")["content"]["ename"] == "RuntimeError"
    wire.receive_all(until_idle_of=second)
    wire.send("interrupt_request", channel="control")
    assert wire.receive()["content"]["ename"] == "KeyboardInterrupt"
    wire.receive_all(until_idle_of=msg_id)


@pytest.mark.parametrize("command, password", [("input", False), ("password", True)])
def test_input(wire, command, password):
    wire.send("input_reply", {"value": "stale"}, channel="stdin")
    msg_id = wire.execute(f"{command} name? ", allow_stdin=True)
    question = wire.receive("stdin")
    assert question["msg_type"] == "input_request"
    assert question["content"] == {"prompt": "name? ", "password": password}
    assert echo.parent_of(question) == msg_id
    wire.send("input_reply", {"value": "Ada"}, channel="stdin")
    assert wire.receive()["content"]["status"] == "ok"
    [result] = outputs(wire, msg_id)
    assert result["content"]["data"]["text/plain"] == "Ada"


def test_input_where_the_client_takes_none(wire):
    reply, _ = run(wire, "input ?", allow_stdin=False)
    assert reply["ename"] == "StdinNotImplementedError"


def test_what_the_process_sees(wire, tmp_path):
    def text_of(code):
        [(_, content)] = run_ok(wire, code)
        return content.get("text") or content["data"]["text/plain"]

    path = tmp_path / "file"
    assert run_ok(wire, f"write {path} some text") == []
    assert path.read_text() == "some text\n"
    assert text_of(f"cat {path}") == "some text\n"
    assert text_of(f"ls {tmp_path}") == "file\n"
    path.write_bytes(b"a\xff\xc3(")
    assert text_of(f"cat {path}") == "a\ufffd\ufffd("
    assert text_of("fds").startswith("0 ")
    assert text_of("cwd") == f"{os.getcwd()}\n"
    assert text_of("uid").startswith("uid ")
    assert "PATH=" in text_of("env")
    assert int(text_of("pid")) > 0
    assert "overflow" in text_of("help")


def test_the_reference_names_every_command(wire):
    [(_, content)] = run_ok(wire, "help")
    reference = (cellblock.ROOT / "docs" / "echo.md").read_text()
    for line in content["text"].splitlines():
        usage, _, text = line.partition(" - ")
        assert f"| `{usage}` | {text} |" in reference
