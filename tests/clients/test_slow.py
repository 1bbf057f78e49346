"""A client that reads too slowly: it is closed, told why, and loses nothing when it comes back with
its session_id, or is told how much."""

import socket
import uuid

import pytest
import websocket
from channels import Channels, end_of, parent_of
from rest import Rest

QUEUE_BYTES = 1 << 20
LINES, LINE_BYTES = 400, 20_000
CODE = f"for i in range({LINES}):\n    print(i, '.' * {LINE_BYTES}, flush=True)"
WHOLE = "".join(f"{i} {'.' * LINE_BYTES}\n" for i in range(LINES))
SMALL_WINDOW = ((socket.SOL_SOCKET, socket.SO_RCVBUF, 4096),)


class Slow(Channels):
    """It does not read until it is told to."""

    def __init__(self, server, kernel_id, session_id):
        super().__init__(server, kernel_id, session_id=session_id, sockopt=SMALL_WINDOW)

    def read_to_close(self):
        """(code, reason)"""
        while True:
            opcode, frame = self.socket.recv_data()
            if opcode == websocket.ABNF.OPCODE_CLOSE:
                return int.from_bytes(frame[:2], "big"), frame[2:].decode()
            self.log.append(self._decode(frame.decode()))


def streams_of(messages, msg_id, name="stdout"):
    ours = (m for m in messages if parent_of(m) == msg_id)
    return [m for m in ours if m["content"].get("name") == name]


def run_unread(server, kernel_id):
    """(what the slow one read before it was closed and after it came back, the number of messages
    that its cell printed, the cell's msg_id); the slow one is closed with 1013 and the limit."""
    session_id = uuid.uuid4().hex
    with Channels(server, kernel_id, "v1") as watcher, Slow(server, kernel_id, session_id) as slow:
        msg_id = slow.execute(CODE)
        watcher.until_kind("execute_input", msg_id)
        watcher.until(lambda m: is_idle(m, msg_id))
        assert watcher.run("print('alive')").text == "alive\n"
        assert "".join(m["content"]["text"] for m in streams_of(watcher.log, msg_id)) == WHOLE
        code, reason = slow.read_to_close()
        assert code == 1013
        assert f"ws_queue_bytes = {QUEUE_BYTES}" in reason
    with Channels(server, kernel_id, session_id=session_id) as again:
        again.log[:0] = slow.log
        again.answers(msg_id)  # reply and idle come by two sockets: in any order, at any time
        return again.log, len(streams_of(watcher.log, msg_id)), msg_id


def is_idle(message, msg_id):
    return parent_of(message) == msg_id and message["content"].get("execution_state") == "idle"


@pytest.fixture
def start(start_serve, kernels):
    """start(bytes): (server, kernel) that keeps so much for who comes back."""

    def start_with(buffer_bytes):
        limits = (f"--ws-queue-bytes={QUEUE_BYTES}", f"--session-buffer-bytes={buffer_bytes}")
        server = start_serve(*limits, "--ws-close-ms=10min", kernels=kernels)
        kernel_id = Rest(server).start_kernel()
        Rest(server).await_state(kernel_id, "idle")
        return server, kernel_id

    return start_with


def test_who_comes_back_gets_the_rest(start):
    log, _, msg_id = run_unread(*start(64 << 20))
    assert "".join(m["content"]["text"] for m in streams_of(log, msg_id)) == WHOLE
    ends = [end_of(m) for m in log if parent_of(m) == msg_id]
    assert (ends.count("reply"), ends.count("idle")) == (1, 1)


def test_who_comes_back_is_told_what_is_missing(start):
    log, count, msg_id = run_unread(*start(1 << 20))
    (marker,) = streams_of(log, msg_id, "stderr")
    missing = marker["metadata"]["cellblock"]["missing"]
    heard = streams_of(log, msg_id)
    assert missing["messages"] + len(heard) == count
    assert f"{missing['messages']} messages" in marker["content"]["text"]
    at = len(streams_of(log[: log.index(marker)], msg_id))
    assert WHOLE.startswith("".join(m["content"]["text"] for m in heard[:at]))
    assert WHOLE.endswith("".join(m["content"]["text"] for m in heard[at:]))
