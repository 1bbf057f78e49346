"""What is no message: frames, encodings and members that are wrong, from fixed tables and from a
fixed seed."""

import contextlib
import json
import random
import struct

import pytest
import rude

FRAMES = {
    "reserved opcode": b"\x83\x80" + bytes(4),
    "reserved control opcode": b"\x8b\x80" + bytes(4),
    "reserved bit": b"\xc1\x80" + bytes(4),
    "no mask": b"\x81\x02{}",
    "long ping": b"\x89\xfe\x00\x7e" + bytes(4 + 126),
    "ping in pieces": b"\x09\x80" + bytes(4),
    "continuation of nothing": b"\x80\x80" + bytes(4),
    "text within text": rude.Rude.frame(1, b"{", final=False) + rude.Rude.frame(1, b"}"),
    "size with its highest bit": b"\x81\xff" + b"\xff" * 8 + bytes(4),
    "size not in its shortest form": b"\x81\xfe\x00\x01" + bytes(4) + b"x",
    "close of one byte": rude.Rude.frame(8, b"\x03"),
    "close with a code of nobody": rude.Rude.frame(8, struct.pack("!H", 1005)),
    "close with a reason that is no text": rude.Rude.frame(8, b"\x03\xe8\xff"),
}
PAYLOADS = {
    "no UTF-8": (1, b'{"header": "\xff"}'),
    "nothing": (1, b""),
    "no JSON": (1, b"hello"),
    "a list": (1, b"[]"),
    "a number": (1, b"1"),
    "two objects": (1, b"{}{}"),
    "an open object": (1, b'{"header": {'),
    "deep": (1, b"[" * 100_000),
    "a header that is a list": (1, b'{"channel": "shell", "header": [], "content": {}}'),
    "no header": (1, b'{"channel": "shell", "content": {}}'),
    "no offsets": (2, b""),
    "offsets of nothing": (2, bytes(8)),
    "too many offsets": (2, b"\xff" * 64),
    "offsets that go back": (2, struct.pack("!4I", 3, 16, 8, 12)),
    "offsets beyond the end": (2, struct.pack("!3I", 2, 12, 4000) + b"{}"),
}


def v1_payload(parts):
    """As v1.kernel.websocket.jupyter.org lays them out."""
    offset, offsets = 8 * (len(parts) + 2), []
    for part in [*parts, b""]:
        offsets.append(offset)
        offset += len(part)
    return struct.pack(f"<{len(offsets) + 1}Q", len(offsets), *offsets) + b"".join(parts)


V1_PAYLOADS = {
    "nothing": b"",
    "one byte": b"\0",
    "offsets of nothing": struct.pack("<Q", 0),
    "very many offsets": struct.pack("<Q", 1 << 61) + bytes(100),
    "offsets that go back": struct.pack("<8Q", 7, 64, 56, 48, 40, 32, 24, 16),
    "offsets beyond the end": struct.pack("<8Q", 7, 64, 69, 1 << 40, 1 << 41, 1 << 42, 1 << 43, 8),
    "a header that is no JSON": v1_payload([b"shell", b"{", b"{}", b"{}", b"{}"]),
    "a header that is a list": v1_payload([b"shell", b"[]", b"{}", b"{}", b"{}"]),
    "no content": v1_payload([b"shell", b"{}", b"{}", b"{}"]),
}


def test_frames(serve, kernel_id, witness):
    for name, frame in FRAMES.items():
        with rude.Rude(serve, kernel_id) as client:
            client.send(frame)
            assert client.close_code()[0] in (1002, 1007, 1009), name
        assert witness.run(name)["status"] == "ok"


def test_payloads(serve, kernel_id, witness):
    for name, (opcode, payload) in PAYLOADS.items():
        with rude.Rude(serve, kernel_id) as client:
            client.send_frame(payload, opcode)
            code, reason = client.close_code()
            assert code == 1007 and reason, name
        assert witness.run(name)["status"] == "ok"


def test_v1_payloads(serve, kernel_id, witness):
    for name, payload in V1_PAYLOADS.items():
        with rude.Rude(serve, kernel_id, v1=True) as client:
            client.send_frame(payload, rude.BINARY)
            code, reason = client.close_code()
            assert code == 1007 and reason, name
        assert witness.run(name)["status"] == "ok"


ODD = {
    "unknown channel": {"channel": "no such"},
    "iopub": {"channel": "iopub"},
    "channel of a number": {"channel": 7},
    "kind of a number": {"header": {"msg_type": 7}},
    "unknown kind": {"header": {"msg_type": "no_such_request", "msg_id": "x", "session": "y"}},
    "kind with NUL": {"header": {"msg_type": "execute_request\0", "msg_id": "x", "session": "y"}},
    "a reply": {"header": {"msg_type": "execute_reply", "msg_id": "x", "session": "y"}},
    "status": {"header": {"msg_type": "status", "msg_id": "x", "session": "y"}},
    "empty header": {"header": {}},
    "long ids": {"header": {"msg_type": "execute_request", "msg_id": "i" * 50_000}},
    "other members": {"header": {"msg_type": "comm_msg"}, "content": {"x": "y"}, "more": [1, 2]},
    "parents of a list": {"header": {"msg_type": "comm_msg"}, "parent_header": [1]},
}


def test_odd_messages(serve, kernel_id, witness):
    """Well-formed, and nothing that anybody sends: answered, ignored or refused; the kernel lives,
    and so does every other client."""
    for name, parts in ODD.items():
        with rude.Rude(serve, kernel_id) as client:
            client.send_frame(client.encode({**client.message("x_request", {}), **parts}))
            msg_id = client.execute("after")
            with contextlib.suppress(rude.Gone):
                assert client.result(msg_id)["status"] == "ok", name
        with rude.Rude(serve, kernel_id) as client:
            assert client.run("after")["status"] == "ok", name
        assert witness.run(name)["status"] == "ok"


def test_wrong_channels(serve, kernel_id):
    """Nothing is passed to the kernel that it does not answer there; nothing waits for ever."""
    with rude.Rude(serve, kernel_id) as client:
        for kind in ("execute_request", "kernel_info_request", "input_reply"):
            for channel in ("control", "stdin", "iopub"):
                message = client.message(kind, {"code": "x", "value": "x"}, channel)
                client.send_frame(client.encode(message))
                assert client.run("after")["status"] == "ok"
                assert rude.state(serve, kernel_id)["execution_state"] == "idle"


def mutate(generator, data):
    data = bytearray(data)
    for _ in range(generator.randrange(1, 5)):
        at = generator.randrange(len(data))
        what = generator.randrange(4)
        if what == 0:
            data[at] = generator.randrange(256)
        elif what == 1:
            del data[at : at + generator.randrange(20)]
        elif what == 2:
            data[at:at] = generator.randbytes(generator.randrange(8))
        else:
            data[at:at] = data[: generator.randrange(40)]
        data = data or bytearray(b"x")
    return bytes(data)


def whole(client, v1):
    message = client.execute_message("x")
    if not v1:
        return client.frame(rude.TEXT, client.encode(message))
    parts = [json.dumps(message[part]).encode() for part in rude.PARTS]
    return client.frame(rude.BINARY, v1_payload([b"shell", *parts]))


@pytest.mark.parametrize("v1", (False, True), ids=("legacy", "v1"))
def test_mutants(serve, kernel_id, witness, v1):
    """Good frames with a few bytes changed, one connection each."""
    generator = random.Random(11)
    for _ in range(150):
        with rude.Rude(serve, kernel_id, v1=v1) as client:
            client.send(mutate(generator, whole(client, v1)))
            client.reset()
    with rude.Rude(serve, kernel_id) as client:
        assert client.run("after")["status"] == "ok"


def test_mutants_of_requests(serve):
    """Good requests with a few bytes changed, one connection each; none is answered by a 5xx but
    for what is not implemented."""
    generator = random.Random(12)
    statuses = set()
    for _ in range(300):
        with rude.Wire(serve) as wire:
            request = wire.request_bytes("POST", "/api/kernels", b'{"name": "echo"}')
            wire.send(mutate(generator, request) + b"\r\n\r\n")
            wire.socket.shutdown(1)
            with contextlib.suppress(rude.Gone):
                statuses.add(wire.response()[0])
    assert statuses & {400} and not statuses - {501, 505} & set(range(500, 600)), statuses
    for kernel_id in rude.kernel_ids(serve):
        rude.end(serve, kernel_id)
