"""Messages that are larger than a client's library takes, and binary ones for clients that take
none."""

import asyncio
import base64
import json
import uuid

import pytest
import tornado.websocket
import websockets
from channels import PATIENCE_S, Channels, end_of, parent_of
from rest import Rest

MEGABYTE = 1_000_000
PART_MAX = 256 << 10  # bytes of a stream's text, as it stands in JSON
TORNADO_MAX = 10 << 20  # the default of tornado's client, which jupyter_server is


def url_of(server, kernel_id, query):
    return f"{server.ws_url}/api/kernels/{kernel_id}/channels?token={server.token}&{query}"


@pytest.fixture
def asker(serve, kernel_id):
    """Asks, so that another connection alone has to hear what is large."""
    with Channels(serve, kernel_id, "v1") as asker:
        yield asker


# -- streams --------------------------------------------------------------------------------------


async def hear_print(server, kernel_id, code):
    """The cell's streams through a library that takes no frame above 1 MiB (AutoGen's)."""
    streams = []
    async with websockets.connect(url_of(server, kernel_id, "")) as socket:
        message = Channels.message(MessageMaker(), "execute_request", execute(code))
        await socket.send(json.dumps(message))
        while True:
            heard = json.loads(await asyncio.wait_for(socket.recv(), PATIENCE_S))
            if parent_of(heard) != message["header"]["msg_id"]:
                continue
            if heard["msg_type"] == "stream":
                streams.append(heard)
            if end_of(heard) == "idle":
                return streams


class MessageMaker:
    """What Channels.message needs of a Channels."""

    session = uuid.uuid4().hex


def execute(code):
    return {"code": code, "silent": False, "store_history": False, "allow_stdin": False}


def test_a_print_of_ten_megabytes_for_a_client_that_takes_one(serve, kernel_id):
    """Every byte, in order, whatever characters the parts' borders meet."""
    line, count = "0123456789 é漢\U0001f40d\\\"\n", 500_000
    streams = asyncio.run(hear_print(serve, kernel_id, f"print({line!r} * {count}, end='')"))
    assert "".join(m["content"]["text"] for m in streams) == line * count
    assert {m["content"]["name"] for m in streams} == {"stdout"}
    texts = (json.dumps(m["content"]["text"], ensure_ascii=False) for m in streams)
    assert max(len(text.encode()) for text in texts) <= PART_MAX + len('""')
    ids = [m["header"]["msg_id"] for m in streams]
    assert len(set(ids)) == len(ids)
    assert [m["msg_id"] for m in streams] == ids


# -- a client that dies on a message --------------------------------------------------------------


async def hear_with_tornado(server, kernel_id, session_id, msg_id):
    """What comes up to the cell's idle; None at the end where the connection ended before."""
    heard = []
    url = url_of(server, kernel_id, f"session_id={session_id}")
    socket = await tornado.websocket.websocket_connect(url)
    while not heard or heard[-1] is not None:
        frame = await asyncio.wait_for(socket.read_message(), PATIENCE_S)
        heard.append(frame and json.loads(frame))
        if frame and parent_of(heard[-1]) == msg_id and end_of(heard[-1]) == "idle":
            socket.close(1001)
            break
    return heard


def test_a_message_on_which_a_client_dies(serve, kernel_id, asker):
    """Its connection ends each time in the middle of it; the third time it is told instead."""
    session_id = uuid.uuid4().hex
    with Channels(serve, kernel_id, session_id=session_id) as client:
        client.run("1")
        client.cut()
    size = TORNADO_MAX + MEGABYTE
    msg_id = asker.execute(f"type('Big', (), {{'__repr__': lambda self: 'b' * {size}}})()")
    asker.answer(msg_id)
    for _ in range(2):
        heard = asyncio.run(hear_with_tornado(serve, kernel_id, session_id, msg_id))
        assert heard[-1] is None
    heard = asyncio.run(hear_with_tornado(serve, kernel_id, session_id, msg_id))
    ours = [m for m in heard if parent_of(m) == msg_id]
    assert "execute_result" not in {m["msg_type"] for m in ours}
    (told,) = (m for m in ours if m["metadata"].get("cellblock"))
    assert told["content"]["name"] == "stderr"
    assert "execute_result: a message of 114" in told["content"]["text"]
    assert end_of(ours[-1]) == "idle"


# -- clients of text alone ------------------------------------------------------------------------

ECHO_COMM = """
from comm import get_comm_manager
def opened(comm, message):
    comm.on_msg(lambda m: comm.send(m['content']['data'], buffers=m['buffers'][::-1]))
get_comm_manager().register_target('echo', opened)
"""
BUFFERS = [b"", b"\x00\xff", bytes(range(256))]


def hear_buffers(server, kernel_id, query, **options):
    """How the echo of binary buffers comes to a socket with that query: (is text, message)."""
    session_id = uuid.uuid4().hex
    with Channels(server, kernel_id, session_id=f"{session_id}{query}", **options) as channels:
        channels.run(ECHO_COMM)
        channels.send("comm_open", {"comm_id": session_id, "target_name": "echo", "data": {}})
        channels.send("comm_msg", {"comm_id": session_id, "data": {}}, buffers=BUFFERS)
        message = channels.until_kind("comm_msg")
        return "cellblock" in message, message


def test_buffers_as_text(serve, kernel_id):
    is_text, message = hear_buffers(serve, kernel_id, "&text_only=true")
    assert is_text and message["buffers"] == []
    assert [base64.b64decode(b) for b in message["cellblock"]["buffers"]] == BUFFERS[::-1]


def test_buffers_as_text_by_parameter(start_serve, kernels):
    server = start_serve("--ws-text-only", kernels=kernels)
    kernel_id = Rest(server).start_kernel()
    assert hear_buffers(server, kernel_id, "")[0]
    is_text, message = hear_buffers(server, kernel_id, "&text_only=false")
    assert not is_text and [bytes(b) for b in message["buffers"]] == BUFFERS[::-1]
    is_text, message = hear_buffers(server, kernel_id, "", encoding="v1")
    assert not is_text and [bytes(b) for b in message["buffers"]] == BUFFERS[::-1]
