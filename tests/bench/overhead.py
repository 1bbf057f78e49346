"""overhead - what the gateway adds to a request: the same cell on the same echo kernel in its jail,
over plain ZeroMQ and through the gateway, sample by sample in turns.

Both clients are as thin as Python allows: no library in between but libzmq's own binding and a
plain socket. Its one complication is that every client hears what the kernel says to any: each
waits, outside of the measured time, until it has heard the other's sample to its end. The figure
that is promised is the lowest of ROUNDS: what a neighbour on the machine adds to some is not ours.
"""

import argparse
import functools
import hashlib
import hmac
import itertools
import json
import os
import pathlib
import socket
import statistics
import struct
import sys

import zmq

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "support"))

import frames  # noqa: E402
from cellblock import BUILD, Serve, descendants  # noqa: E402
from rest import Rest  # noqa: E402
from samples import heading, line, milliseconds  # noqa: E402

ROUNDS = 10
WARM_UP = 50
MOST_MS = 0.5
SUBSCRIPTION_MS = 100
PATIENCE_S = 60
DELIMITER = b"<IDS|MSG>"
serial = itertools.count()


def make_request():
    """(msg_id, the four JSON parts); the date is anything, since no kernel reads it."""
    msg_id = f"overhead-{next(serial)}"
    header = {"msg_id": msg_id, "msg_type": "execute_request", "session": "s", "username": "u"}
    header |= {"version": "5.4", "date": "2026-11-30T00:00:00.000000Z"}
    content = {"code": "1 + 1", "silent": False, "store_history": False, "allow_stdin": False}
    return msg_id, [json.dumps(part).encode() for part in (header, {}, {}, content)]


class Lane:
    """A client that notes which requests it has heard the reply and the idle of."""

    def __init__(self):
        self.replied, self.idle = None, None

    def note(self, header, parent, content):
        kind = json.loads(header)["msg_type"]
        if kind == "execute_reply":
            self.replied = json.loads(parent)["msg_id"]
        elif kind == "status" and json.loads(content)["execution_state"] == "idle":
            self.idle = json.loads(parent)["msg_id"]

    def run(self, msg_id, parts):
        self.send(parts)
        while not self.replied == self.idle == msg_id:
            self.receive()

    def hear_idle(self, msg_id):
        while self.idle != msg_id:
            self.receive()


class Plain(Lane):
    """A client of the kernel itself, by descriptors of the sockets in its jail."""

    def __init__(self, server):
        super().__init__()
        (pid,) = [p for p in descendants(server.pid) if is_echo(p)]
        root = pathlib.Path(f"/proc/{pid}/root")
        file = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")[1].decode()
        self.info = json.loads((root / file.lstrip("/")).read_text())
        self.root, self.key = root, self.info["key"].encode()
        context = zmq.Context.instance()
        self.shell, self.iopub = context.socket(zmq.DEALER), context.socket(zmq.SUB)
        self.iopub.subscribe(b"")
        self.poller = zmq.Poller()
        for name in ("shell", "iopub"):
            self.connect(getattr(self, name), self.info[f"{name}_port"])
        while self.idle is None:  # a subscription takes its time, and tells nobody when it is there
            self.send(make_request()[1])
            if self.poller.poll(SUBSCRIPTION_MS):
                self.receive()

    def connect(self, endpoint, port):
        path = self.root / f"{self.info['ip']}-{port}".lstrip("/")
        endpoint.connect(f"ipc:///proc/self/fd/{os.open(path, os.O_PATH)}")
        self.poller.register(endpoint, zmq.POLLIN)

    def send(self, parts):
        signature = hmac.new(self.key, b"".join(parts), hashlib.sha256).hexdigest().encode()
        self.shell.send_multipart([DELIMITER, signature, *parts])

    def receive(self):
        ready = self.poller.poll(PATIENCE_S * 1000)
        assert ready, "the kernel is silent"
        for endpoint, _ in ready:
            parts = endpoint.recv_multipart()
            at = parts.index(DELIMITER)
            self.note(parts[at + 2], parts[at + 3], parts[at + 5])


def is_echo(pid):
    try:
        return os.readlink(f"/proc/{pid}/exe").endswith("cellblock-echo")
    except OSError:
        return False


class Through(Lane):
    """A client of the gateway's WebSocket, in the v1 encoding."""

    def __init__(self, server, kernel_id):
        super().__init__()
        self.socket = socket.create_connection(("127.0.0.1", server.port), PATIENCE_S)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = b""
        head = [f"GET /api/kernels/{kernel_id}/channels?session_id=o HTTP/1.1", "Host: h"]
        head += ["Upgrade: websocket", "Connection: Upgrade", "Sec-WebSocket-Version: 13"]
        head += ["Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ=="]
        head += [f"Authorization: token {server.token}"]
        head += [f"Sec-WebSocket-Protocol: {frames.V1}", "", ""]
        self.socket.sendall("\r\n".join(head).encode())
        while b"\r\n\r\n" not in self.buffer:
            self.buffer += self.socket.recv(1 << 16)
        assert self.buffer.startswith(b"HTTP/1.1 101 ")
        self.buffer = self.buffer.partition(b"\r\n\r\n")[2]

    def send(self, parts):
        """The mask is zero, so that masking costs nothing here."""
        payload = self.encode([b"shell", *parts])
        self.socket.sendall(b"\x82\xfe" + struct.pack("!H", len(payload)) + bytes(4) + payload)

    @staticmethod
    def encode(segments):
        first = 8 * (len(segments) + 2)
        offsets = itertools.accumulate(map(len, segments), initial=first)
        table = struct.pack(f"<{len(segments) + 2}Q", len(segments) + 1, *offsets)
        return table + b"".join(segments)

    def take(self, size):
        while len(self.buffer) < size:
            self.buffer += self.socket.recv(1 << 16)
        taken, self.buffer = self.buffer[:size], self.buffer[size:]
        return taken

    def receive(self):
        first, size = self.take(2)
        if size > 125:
            form = "!H" if size == 126 else "!Q"
            (size,) = struct.unpack(form, self.take(struct.calcsize(form)))
        payload = self.take(size)
        if first & 0x0F != 2:  # a ping
            return
        (count,) = struct.unpack_from("<Q", payload)
        offsets = struct.unpack_from(f"<{count}Q", payload, 8)
        parts = [payload[begin:end] for begin, end in itertools.pairwise(offsets)]
        self.note(parts[1], parts[2], parts[4])


def measure(lanes, count):
    """The samples of each lane, in milliseconds."""
    samples = {name: [] for name in lanes}
    for _ in range(count):
        for name, lane in lanes.items():
            msg_id, parts = make_request()
            samples[name].append(milliseconds(functools.partial(lane.run, msg_id, parts)))
            for other in lanes.values():
                other.hear_idle(msg_id)
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=5000, help="of each lane (5000)")
    arguments = parser.parse_args()
    with Serve(kernels=BUILD / "kernels") as server:
        kernel_id = Rest(server).start_kernel(name="echo")
        Rest(server).await_state(kernel_id, "idle")
        lanes = {"plain ZeroMQ": Plain(server), "through Cellblock": Through(server, kernel_id)}
        measure(lanes, WARM_UP)
        rounds = [measure(lanes, arguments.samples // ROUNDS) for _ in range(ROUNDS)]
    heading("a cell of the echo kernel, ms")
    for name in lanes:
        line(name, [value for samples in rounds for value in samples[name]])
    medians = [[statistics.median(values) for values in samples.values()] for samples in rounds]
    added = [through - plain for plain, through in medians]
    print(
        f"the gateway adds {min(added):.3f} ms at the median in the best of {ROUNDS} rounds, "
        f"{statistics.median(added):.3f} in the middle one, {max(added):.3f} in the worst"
    )
    return 0 if min(added) <= MOST_MS else 1


if __name__ == "__main__":
    sys.exit(main())
