"""The WebSocket of a kernel: both encodings, order, what is accepted, and who hears what."""

import json

import pytest
import websocket
from channels import Channels, execute_content
from frames import V1
from rest import Rest

ENCODINGS = pytest.mark.parametrize("encoding", ["legacy", "v1"])
LEGACY_KEYS = {"buffers", "channel", "content", "header", "metadata", "msg_id", "msg_type"}


@pytest.fixture(params=["legacy", "v1"])
def channels(request, serve, kernel_id):
    with Channels(serve, kernel_id, request.param) as channels:
        yield channels


# -- the handshake --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "offered, selected",
    [([], None), ([V1], V1), (["x.y", V1], V1), ([V1, "x.y"], V1)],
    ids=["none", "v1", "v1 last", "v1 first"],
)
def test_subprotocol(serve, kernel_id, offered, selected):
    with Channels(serve, kernel_id, subprotocols=offered) as channels:
        assert channels.socket.getsubprotocol() == selected


def test_unknown_subprotocol_selects_none(serve, kernel_id):
    header = {"Authorization": f"token {serve.token}", "Sec-WebSocket-Protocol": "x.y"}
    with Channels(serve, kernel_id, header=header) as channels:
        assert channels.socket.getsubprotocol() is None
        assert channels.run("print(1)").text == "1\n"


# -- one request ----------------------------------------------------------------------------------


def test_execute(channels):
    answer = channels.run("print('out')\n6 * 7")
    assert answer.kinds == ["status", "execute_input", "stream", "execute_result", "status"]
    assert answer.states == ["busy", "idle"]
    assert answer.text == "out\n42"
    assert answer.content["status"] == "ok"
    assert answer.reply["channel"] == "shell"


def test_error(channels):
    answer = channels.run("1 / 0")
    assert answer.content["status"] == "error"
    (error,) = answer.of_kind("error")
    for content in (answer.content, error["content"]):
        assert content["ename"] == "ZeroDivisionError"
        assert isinstance(content["traceback"], list) and content["traceback"]
    assert answer.states == ["busy", "idle"]


def test_legacy_frames_have_every_key(serve, kernel_id):
    with Channels(serve, kernel_id) as channels:
        answer = channels.run("print(1)")
    for message in answer.messages:
        assert set(message) == LEGACY_KEYS | {"parent_header"}
        assert message["msg_id"] == message["header"]["msg_id"]
        assert message["msg_type"] == message["header"]["msg_type"]
        assert message["buffers"] == []


def test_requests_stay_in_order(channels):
    codes = [f"print({n})" for n in range(50)]
    answers = channels.answers(*map(channels.execute, codes))
    assert [answer.text for answer in answers] == [f"{n}\n" for n in range(50)]
    counts = [answer.content["execution_count"] for answer in answers]
    assert counts == list(range(counts[0], counts[0] + 50))


def test_text_survives(channels):
    text = 'é 漢字 \U0001f40d \\ " \0 \x1f </script> \u2028'
    assert channels.run(f"print({text!r})").text == text + "\n"


def test_big_output(channels):
    answer = channels.run("print('x' * 3_000_000)")
    assert answer.text == "x" * 3_000_000 + "\n"


def test_big_request(channels):
    assert channels.run(f"print(len({'y' * 3_000_000!r}))").text == "3000000\n"


def test_every_line_of_a_flood(channels):
    answer = channels.run("for n in range(100_000):\n    print(n, 'of a flood')")
    assert answer.text == "".join(f"{n} of a flood\n" for n in range(100_000))


def test_thirty_megabytes_each_way(start_serve, kernels):
    """IPython parses such a cell with well above half a gigabyte."""
    server = start_serve("--memory-bytes=2GiB", kernels=kernels)
    with Channels(server, Rest(server).start_kernel(), "v1") as channels:
        answer = channels.run(f"big = {'b' * 30_000_000!r}\nlen(big)")
        assert answer.text == "30000000"
        result = channels.run("type('R', (), {'__repr__': lambda self: big})()")
        assert result.text == "b" * 30_000_000


def test_evalue_is_whole(channels):
    """smolagents carries its final answer there."""
    answer = channels.run("raise ValueError('z' * 2_000_000)")
    (error,) = answer.of_kind("error")
    assert error["content"]["evalue"] == "z" * 2_000_000


@pytest.mark.parametrize(
    "kind, content, reply",
    [
        ("complete_request", {"code": "pri", "cursor_pos": 3}, {"status": "ok"}),
        ("inspect_request", {"code": "len", "cursor_pos": 3, "detail_level": 0}, {"found": True}),
        ("is_complete_request", {"code": "for x in y:"}, {"status": "incomplete"}),
        ("comm_info_request", {}, {"status": "ok"}),
        ("kernel_info_request", {}, {"implementation": "ipython"}),
        (
            "history_request",
            {"hist_access_type": "tail", "n": 1, "output": False, "raw": True},
            {"status": "ok"},
        ),
    ],
)
def test_every_shell_request_is_answered(channels, kind, content, reply):
    answer = channels.answer(channels.send(kind, content))
    assert reply.items() <= answer.content.items()
    assert answer.reply["header"]["msg_type"] == kind.replace("request", "reply")
    assert answer.states == ["busy", "idle"]


# -- buffers --------------------------------------------------------------------------------------

ECHO_COMM = """
from comm import get_comm_manager
def opened(comm, message):
    comm.on_msg(lambda m: comm.send(m['content']['data'], buffers=m['buffers'][::-1]))
get_comm_manager().register_target('echo', opened)
"""


def test_buffers_there_and_back(channels):
    channels.run(ECHO_COMM)
    sent = [b"", b"\x00\xff", bytes(range(256)) * 4096]
    opening = {"comm_id": channels.session, "target_name": "echo", "data": {}}
    channels.send("comm_open", opening)
    channels.send("comm_msg", {"comm_id": channels.session, "data": {"n": 1}}, buffers=sent)
    echoed = channels.until_kind("comm_msg")
    assert echoed["content"]["data"] == {"n": 1}
    assert list(echoed["buffers"]) == sent[::-1]


ASCII_COMM = """
from comm import get_comm_manager
def opened(comm, message):
    comm.on_msg(lambda m: comm.send({'heard': ascii(m['content']['data']), 'big': 10**70}))
get_comm_manager().register_target('ascii', opened)
"""


@pytest.mark.parametrize("value", [float("nan"), 10**70, -0.0, 1e308, "\ud800", "\0"], ids=ascii)
def test_values_that_a_strict_parser_refuses(channels, value):
    """Nothing between client and kernel may read content as numbers and strings of its own."""
    channels.run(ASCII_COMM)
    channels.send("comm_open", {"comm_id": channels.session, "target_name": "ascii", "data": {}})
    data = {"value": value}
    msg_id = channels.send("comm_msg", {"comm_id": channels.session, "data": data})
    said = channels.until_kind("comm_msg", msg_id)["content"]["data"]
    assert said == {"heard": ascii(data), "big": 10**70}


# -- what is accepted -----------------------------------------------------------------------------


def without(message, *keys):
    return {key: value for key, value in message.items() if key not in keys}


LOOSE = {
    "no channel": lambda m: without(m, "channel"),
    "no buffers": lambda m: without(m, "buffers"),
    "buffers as object": lambda m: {**m, "buffers": {}},
    "float date": lambda m: {**m, "header": {**m["header"], "date": 1732945678.25}},
    "date with a space": lambda m: {**m, "header": {**m["header"], "date": "2026-11-30 05:06:13"}},
    "no date": lambda m: {**m, "header": without(m["header"], "date")},
    "empty session": lambda m: {**m, "header": {**m["header"], "session": ""}},
    "old version": lambda m: {**m, "header": {**m["header"], "version": "5.0"}},
    "short id": lambda m: {**m, "header": {**m["header"], "msg_id": "fake-msg-id"}},
    "top-level id and type": lambda m: {**m, "msg_id": "x", "msg_type": "execute_request"},
    "unknown key": lambda m: {**m, "subshell": None},
}


@pytest.mark.parametrize("name", LOOSE)
def test_loose_messages_are_answered(serve, kernel_id, name):
    with Channels(serve, kernel_id) as channels:
        message = channels.message("execute_request", execute_content("print('ran')"))
        loose = LOOSE[name](message)
        channels.send_frame(json.dumps(loose))
        assert channels.answer(loose["header"]["msg_id"]).text == "ran\n"


def test_unknown_channel_is_ignored(channels):
    channels.send("execute_request", execute_content("print('never')"), channel="nowhere")
    assert channels.run("print('then')").text == "then\n"
    assert "never" not in json.dumps([m["content"] for m in channels.log])


@pytest.mark.parametrize(
    "frame", ["", "{", "[]", "{}", '{"header": 1}', b"", b"\x00" * 3, b"\xff" * 64]
)
@ENCODINGS
def test_rubbish_harms_nobody(serve, kernel_id, encoding, frame):
    with Channels(serve, kernel_id, encoding) as bad, Channels(serve, kernel_id) as good:
        bad.send_frame(frame)
        assert good.run("print('alive')").text == "alive\n"


# -- stdin ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("password", [False, True])
def test_input(channels, password):
    ask = "__import__('getpass').getpass" if password else "input"
    msg_id = channels.execute(f"print({ask}('name? ') * 2)", allow_stdin=True)
    asked = channels.until_kind("input_request", msg_id)
    assert asked["channel"] == "stdin"
    assert asked["content"] == {"prompt": "name? ", "password": password}
    channels.send("input_reply", {"value": "ada"}, "stdin", parent_header=asked["header"])
    assert "adaada\n" in channels.answer(msg_id).text


def test_input_asks_only_the_one_who_ran_it(serve, kernel_id):
    with Channels(serve, kernel_id) as runner, Channels(serve, kernel_id, "v1") as watcher:
        watcher.run("1")
        msg_id = runner.execute("print(input())", allow_stdin=True)
        runner.until_kind("input_request", msg_id)
        runner.send("input_reply", {"value": "me"}, "stdin")
        assert runner.answer(msg_id).text == "me\n"
        watcher.run("2")
        assert "stdin" not in {message["channel"] for message in watcher.log}


def test_input_without_leave(channels):
    answer = channels.run("input()")
    assert answer.content["ename"] == "StdinNotImplementedError"


# -- several sockets ------------------------------------------------------------------------------


def test_everyone_hears_iopub_and_the_sender_alone_the_reply(serve, kernel_id):
    with Channels(serve, kernel_id) as one, Channels(serve, kernel_id, "v1") as two:
        two.run("1")
        first = one.execute("print('from one')")
        one.answer(first)
        two.run("2")
        heard = two.answer_so_far(first)
        assert heard.text == "from one\n"
        assert heard.states == ["busy", "idle"]
        assert heard.reply is None


def test_newest_socket_of_a_session_wins(serve, kernel_id):
    with Channels(serve, kernel_id, session_id="the-same") as older:
        older.run("1")
        with Channels(serve, kernel_id, session_id="the-same") as newer:
            assert older.close_code() == 1000
            assert newer.run("print('newer')").text == "newer\n"


def test_two_sockets_of_a_session_then_a_restart(serve, rest, own_kernel_id):
    """JupyterLab opens two within milliseconds; a restart soon after must not hang the second."""
    with (
        Channels(serve, own_kernel_id, session_id="lab"),
        Channels(serve, own_kernel_id, session_id="lab") as newer,
    ):
        newer.run("1")
        assert rest.post(f"/api/kernels/{own_kernel_id}/restart").status_code == 200
    with Channels(serve, own_kernel_id, session_id="lab") as again:
        assert again.run("print('restarted')").text == "restarted\n"


def test_a_socket_for_every_cell(serve, kernel_id):
    """smolagents: state lives in the kernel, not in the socket."""
    for n in range(5):
        with Channels(serve, kernel_id) as channels:
            code = "count = 1" if n == 0 else "count += 1"
            assert channels.run(f"{code}\nprint(count)").text == f"{n + 1}\n"


# -- control --------------------------------------------------------------------------------------


def test_control_is_answered_while_the_shell_is_busy(channels):
    msg_id = channels.execute("input()", allow_stdin=True)
    channels.until_kind("input_request", msg_id)
    answer = channels.kernel_info("control")
    assert answer.reply["channel"] == "control"
    assert answer.content["status"] == "ok"
    channels.send("input_reply", {"value": ""}, "stdin")
    channels.answer(msg_id)


def test_kernel_info_is_answered_while_the_shell_is_busy(serve, kernel_id):
    """JupyterLab holds everything back until this reply when it opens a notebook in mid-cell."""
    with Channels(serve, kernel_id) as runner, Channels(serve, kernel_id, "v1") as newcomer:
        msg_id = runner.execute("input()", allow_stdin=True)
        runner.until_kind("input_request", msg_id)
        answer = newcomer.kernel_info()
        assert answer.content["implementation"] == "ipython"
        assert answer.states == ["busy", "idle"]
        runner.send("input_reply", {"value": ""}, "stdin")
        runner.answer(msg_id)


# -- close codes and pings ------------------------------------------------------------------------


def test_delete_closes_with_1000(serve, rest, own_kernel_id):
    with Channels(serve, own_kernel_id) as channels:
        channels.run("1")
        rest.end_kernel(own_kernel_id)
        assert channels.close_code() == 1000


def test_pings_come(serve, kernel_id):
    """GatewayKernelClient's receive times out after 40 s of silence; a ping is no silence."""
    with Channels(serve, kernel_id) as channels:
        channels.socket.settimeout(40)
        opcode, _ = channels.socket.recv_data(control_frame=True)
        assert opcode == websocket.ABNF.OPCODE_PING


def test_pong_carries_the_ping(serve, kernel_id):
    with Channels(serve, kernel_id) as channels:
        channels.socket.ping("how are you")
        opcode, payload = channels.socket.recv_data(control_frame=True)
        assert (opcode, payload) == (websocket.ABNF.OPCODE_PONG, b"how are you")
