"""permessage-deflate frame by frame: what is compressed, what is not, and what is no such frame."""

import os
import zlib

import pytest
import rude

MESSAGE_BYTES = 1 << 20
ARGUMENTS = ("--ws-message-bytes", "1MiB")
RSV1 = 0x40
TAIL = b"\x00\x00\xff\xff"
GROWTH_KIB = 64 << 10


def pack(data):
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return (packer.compress(data) + packer.flush(zlib.Z_SYNC_FLUSH)).removesuffix(TAIL)


class Packed(rude.Rude):
    """Offers compression and unpacks what comes; packed and plain have the size of each message
    that came so, packed also that of its frame."""

    offer = "permessage-deflate; client_max_window_bits"

    def __init__(self, *arguments, **options):
        self.packed, self.plain = [], []
        super().__init__(*arguments, **options)

    def upgrade_bytes(self, *arguments):
        line = f"Sec-WebSocket-Extensions: {self.offer}\r\nUser-Agent".encode()
        return super().upgrade_bytes(*arguments).replace(b"User-Agent", line)

    def receive_frame(self):
        self.fill(2)
        is_packed, self.buffer[0] = self.buffer[0] & RSV1, self.buffer[0] & ~RSV1
        opcode, payload = super().receive_frame()
        if not is_packed:
            self.plain.append(len(payload))
            return opcode, payload
        message = zlib.decompressobj(-15).decompress(payload + TAIL)
        self.packed.append((len(payload), len(message)))
        return opcode, message

    def send_packed(self, payload, opcode=rude.TEXT):
        frame = bytearray(self.frame(opcode, payload))
        frame[0] |= RSV1
        self.send(frame)


class SmallWindow(Packed):
    offer = "permessage-deflate; server_max_window_bits=9"


@pytest.mark.parametrize("kind", [Packed, SmallWindow])
def test_what_pays_is_compressed(serve, kernel_id, kind):
    with kind(serve, kernel_id) as client:
        assert client.run("lines 1000")["status"] == "ok"
        assert client.run("bytes 500000")["status"] == "ok"
        assert client.packed and min(whole for _, whole in client.packed) >= 1024
        assert all(size <= whole * 3 / 4 for size, whole in client.packed)
        assert max(whole for _, whole in client.packed) > 200_000
        assert max(client.plain) < 1024  # statuses and the like


def test_what_is_too_large_is_not(serve, kernel_id):
    with Packed(serve, kernel_id) as client:
        assert client.run("result 1500000")["status"] == "ok"
        assert max(client.plain) > 1_500_000


def test_a_request_that_comes_compressed(serve, kernel_id):
    with Packed(serve, kernel_id) as client:
        message = client.execute_message("echo " + "x" * 100_000)
        client.send_packed(pack(client.encode(message)))
        assert client.result(message["header"]["msg_id"])["status"] == "ok"


def test_bombs(serve, kernel_id, witness):
    """They unpack to one byte more than a message may have, or to hundreds of times that."""
    before = rude.resident_kib(serve.first_gateway)
    for payload in [pack(b" " * (MESSAGE_BYTES + 1))] * 10 + [make_bomb()] * 3:
        with Packed(serve, kernel_id) as client:
            client.send_packed(payload)
            code, reason = client.close_code()
            assert code == 1009 and f"ws_message_bytes = {MESSAGE_BYTES}" in reason
        assert witness.run("still here")["status"] == "ok"
    growth = rude.resident_kib(serve.first_gateway) - before
    assert growth < GROWTH_KIB, f"the gateway grew by {growth} KiB"


def make_bomb():
    """As large as a frame may be, of blocks that are 1 MiB each when unpacked."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    block = packer.compress(b" " * (1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return block * ((MESSAGE_BYTES - 1) // len(block))


@pytest.mark.parametrize(
    "payload", [b"", b"\xff\xff\xff\xff", pack(b"cut" * 99)[:5], pack(b"\xff")]
)
def test_what_cannot_be_unpacked(serve, kernel_id, witness, payload):
    with Packed(serve, kernel_id) as client:
        client.send_packed(payload)
        assert client.close_code()[0] == 1007
    assert witness.run("still here")["status"] == "ok"


def test_noise_in_compressed_frames(serve, kernel_id, witness):
    for size in (1, 10, 1000, 100_000):
        with Packed(serve, kernel_id) as client:
            client.send_packed(os.urandom(size), rude.BINARY)
            client.close_code()
    assert witness.run("still here")["status"] == "ok"


def test_rsv1_without_an_agreement(serve, kernel_id, witness):
    with rude.Rude(serve, kernel_id) as client:
        client.send(b"\xc1\x80" + bytes(4))
        assert client.close_code()[0] == 1002
