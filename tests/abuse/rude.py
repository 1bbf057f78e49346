"""rude - a client that keeps no rules but those it is asked to keep: plain sockets, so that a test
can stop anywhere, by an orderly close or by a reset, and can send what no library would.

The one complication is time: nothing here waits without a bound, and a wait that ends in nothing
fails the test.
"""

import contextlib
import json
import os
import socket
import struct
import uuid

# Patience, not a measure: a busy machine may be slow, a lost message never comes.
PATIENCE_S = 60

PARTS = ("header", "parent_header", "metadata", "content")
TEXT, BINARY, CLOSE, PING, PONG = 1, 2, 8, 9, 10


class Gone(Exception):
    """The server closed the connection, or reset it."""


class Wire:
    """One TCP connection to a server with `port` and `token`."""

    def __init__(self, server, receive_buffer=None):
        self.server = server
        self.socket = socket.socket()
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(PATIENCE_S)
        self.socket.connect(("127.0.0.1", server.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.buffer = bytearray()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    # -- leaving --------------------------------------------------------------------------------

    def close(self):
        """An orderly end of the connection: FIN."""
        self.socket.close()

    def reset(self):
        """A disorderly one: RST, and what was on its way is thrown away."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    # -- sending --------------------------------------------------------------------------------

    def send(self, data):
        try:
            self.socket.sendall(data)
        except OSError as error:
            raise Gone from error

    def send_request(self, method, path, body=None, headers=()):
        self.send(self.request_bytes(method, path, body, headers))

    def request_bytes(self, method, path, body=None, headers=()):
        """A request with a token; body, when it is no bytes, is sent as JSON."""
        if body is not None and not isinstance(body, bytes):
            body = json.dumps(body).encode()
        lines = [f"{method} {path} HTTP/1.1", f"Host: 127.0.0.1:{self.server.port}"]
        lines += [f"Authorization: token {self.server.token}", *headers]
        lines += [f"Content-Length: {len(body)}"] if body is not None else []
        return "\r\n".join([*lines, "", ""]).encode() + (body or b"")

    # -- receiving ------------------------------------------------------------------------------

    def fill(self, size):
        while len(self.buffer) < size:
            try:
                data = self.socket.recv(1 << 18)
            except ConnectionError as error:
                raise Gone from error
            if not data:
                raise Gone
            self.buffer += data

    def take(self, size):
        self.fill(size)
        taken = bytes(self.buffer[:size])
        del self.buffer[:size]
        return taken

    def take_line(self):
        while b"\r\n" not in self.buffer:
            self.fill(len(self.buffer) + 1)
        line = self.take(self.buffer.index(b"\r\n") + 2)
        return line[:-2].decode()

    def response(self):
        """(status, headers, parsed JSON or None) of the next answer."""
        status = int(self.take_line().split()[1])
        headers = {}
        while line := self.take_line():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        body = self.take(int(headers.get("content-length", 0)))
        return status, headers, json.loads(body) if body else None

    def ask(self, method, path, body=None, headers=()):
        """(status, parsed JSON or None)."""
        self.send_request(method, path, body, headers)
        status, _, value = self.response()
        return status, value

    def is_gone(self):
        """Whether the server ends this connection, whatever it says before."""
        with contextlib.suppress(Gone):
            while True:
                self.take(1)
        return True


class Rude(Wire):
    """A WebSocket on the channels of a kernel."""

    def __init__(self, server, kernel_id, session_id=None, v1=False, **options):
        super().__init__(server, **options)
        self.kernel_id = kernel_id
        self.session = session_id or uuid.uuid4().hex
        self.send(self.upgrade_bytes(kernel_id, session_id, v1))
        status, _, body = self.response()
        assert status == 101, (status, body)

    def upgrade_bytes(self, kernel_id, session_id=None, v1=False):
        headers = [
            "Connection: Upgrade",
            "Upgrade: websocket",
            "Sec-WebSocket-Version: 13",
            "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==",
            "User-Agent: rude",
        ]
        headers += ["Sec-WebSocket-Protocol: v1.kernel.websocket.jupyter.org"] if v1 else []
        query = f"?session_id={session_id}" if session_id else ""
        return self.request_bytes("GET", f"/api/kernels/{kernel_id}/channels{query}", None, headers)

    # -- frames ---------------------------------------------------------------------------------

    @staticmethod
    def frame(opcode, payload, final=True):
        """A masked frame; its mask is zero, so the payload stays as it is."""
        head = bytes([opcode | (0x80 if final else 0)])
        size = len(payload)
        if size < 126:
            head += bytes([0x80 | size])
        elif size < 1 << 16:
            head += struct.pack("!BH", 0x80 | 126, size)
        else:
            head += struct.pack("!BQ", 0x80 | 127, size)
        return head + bytes(4) + payload

    def send_frame(self, payload, opcode=TEXT, final=True):
        self.send(self.frame(opcode, payload, final))

    def receive_frame(self):
        """(opcode, payload) of the next frame."""
        first, second = self.take(2)
        assert first & 0x80 and not second & 0x80, "the server sends whole frames, unmasked"
        size = second
        if size == 126:
            (size,) = struct.unpack("!H", self.take(2))
        elif size == 127:
            (size,) = struct.unpack("!Q", self.take(8))
        return first & 0x0F, self.take(size)

    def close_code(self):
        """Reads to the close frame: (code, reason); (None, "") where the connection just ends."""
        with contextlib.suppress(Gone):
            while True:
                opcode, payload = self.receive_frame()
                if opcode == CLOSE:
                    return int.from_bytes(payload[:2], "big"), payload[2:].decode()
        return None, ""

    # -- messages -------------------------------------------------------------------------------

    def message(self, kind, content, channel="shell", **header):
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": kind,
            "session": self.session,
            "username": "rude",
            "version": "5.3",
            "date": "2026-01-01T00:00:00.000000Z",
            **header,
        }
        parts = {"channel": channel, "header": header, "parent_header": {}, "metadata": {}}
        return {**parts, "content": content, "buffers": []}

    @staticmethod
    def encode(message):
        return json.dumps(message).encode()

    def send_message(self, message):
        self.send_frame(self.encode(message))
        return message["header"]["msg_id"]

    def execute(self, code, **header):
        return self.send_message(self.execute_message(code, **header))

    def execute_message(self, code, **header):
        content = {"code": code, "silent": False, "store_history": True, "stop_on_error": False}
        content |= {"user_expressions": {}, "allow_stdin": False}
        return self.message("execute_request", content, **header)

    def receive(self):
        """The next message; Gone at a close frame."""
        while True:
            opcode, payload = self.receive_frame()
            if opcode == CLOSE:
                raise Gone
            if opcode != TEXT:
                continue
            text = payload.decode()
            # What a hostile kernel takes for JSON is passed on as it is.
            with contextlib.suppress(json.JSONDecodeError):
                return json.loads(text)

    def until(self, condition):
        while True:
            message = self.receive()
            if condition(message):
                return message

    def result(self, msg_id):
        """The reply's content, read up to both ends of the request."""
        ends = self.ends({msg_id})
        return ends[msg_id]

    def ends(self, msg_ids):
        """Reads until each of them has its one reply and its one idle: msg_id -> reply content."""
        wanted, replies, idles = set(msg_ids), {}, set()
        while len(replies) < len(wanted) or len(idles) < len(wanted):
            message = self.receive()
            parent = parent_of(message)
            if parent not in wanted:
                continue
            if message["header"]["msg_type"] == "execute_reply":
                assert parent not in replies, f"a second reply: {message}"
                replies[parent] = message["content"]
            elif is_idle(message):
                assert parent not in idles, f"a second idle: {message}"
                idles.add(parent)
        return replies

    def run(self, code):
        return self.result(self.execute(code))


def parent_of(message):
    return (message["parent_header"] or {}).get("msg_id")


def is_idle(message):
    is_status = message["header"]["msg_type"] == "status"
    return is_status and message["content"]["execution_state"] == "idle"


# -- kernels --------------------------------------------------------------------------------------


def start(server, name="echo", **body):
    """The id of a new kernel."""
    status, model = server.request("POST", "/api/kernels", {"name": name, **body})
    assert status == 201, model
    return model["id"]


def end(server, kernel_id):
    status, answer = server.request("DELETE", f"/api/kernels/{kernel_id}")
    assert status == 204, answer


def kernel_ids(server):
    status, models = server.request("GET", "/api/kernels")
    assert status == 200
    return {model["id"] for model in models}


def state(server, kernel_id):
    """The model of a kernel, or None where there is none."""
    status, model = server.request("GET", f"/api/kernels/{kernel_id}")
    return model if status == 200 else None


# -- processes ------------------------------------------------------------------------------------


def descriptors(pid):
    return len(os.listdir(f"/proc/{pid}/fd"))


def resident_kib(pid):
    with open(f"/proc/{pid}/status") as file:
        for line in file:
            if line.startswith("VmRSS:"):
                return int(line.split()[1])
    raise AssertionError(f"process {pid} has no VmRSS")
