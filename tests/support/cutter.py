"""cutter - a TCP proxy that cuts WebSockets at a byte of its choice, as a network does.

Its one complication is to be exact: the client must have been given just what was acknowledged to
the server. At the cut a filter that drops every segment is put on the proxy's socket to the server,
so that nothing more is received or acknowledged (a router that is gone); what was received before
is acknowledged at once and passed on; then the end comes, in one of KINDS.
"""

import contextlib
import ctypes
import dataclasses
import fcntl
import select
import socket
import struct
import termios
import threading

from cellblock import wait_until

# How the server learns of it: a reset, an end of the stream, or not at all.
KINDS = ("reset", "end", "silence")

SO_ATTACH_FILTER = 26
RETURN_CONSTANT = 6  # BPF_RET | BPF_K (linux/bpf_common.h): of each segment nothing is kept
SEGMENT_BYTES = 536
WINDOW_BYTES = 4096
LINGER_NONE = struct.pack("ii", 1, 0)
PATIENCE_S = 60


def deafen(sock):
    """Drops whatever comes from now on, before it is acknowledged."""
    instruction = ctypes.create_string_buffer(struct.pack("HBBI", RETURN_CONSTANT, 0, 0, 0), 8)
    program = struct.pack("HxxxxxxP", 1, ctypes.addressof(instruction))
    sock.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, program)


def unacknowledged(sock):
    answer = fcntl.ioctl(sock, termios.TIOCOUTQ, struct.pack("i", 0))
    return struct.unpack("i", answer)[0]


class Frames:
    """Follows a server's WebSocket frames (RFC 6455 section 5.2): is_inside says whether the bytes
    so far end within one."""

    def __init__(self):
        self._held, self._left, self._in_head = b"", 0, True

    def feed(self, data):
        self._held += data
        if self._in_head:
            _, end, rest = self._held.partition(b"\r\n\r\n")
            if not end:
                return
            self._in_head, self._held = False, rest
        while self._held:
            if self._left:
                taken = min(self._left, len(self._held))
                self._left -= taken
                self._held = self._held[taken:]
                continue
            size = self._header()
            if size is None:
                return
            self._left = size

    def _header(self):
        if len(self._held) < 2:
            return None
        more = {126: 2, 127: 8}.get(self._held[1], 0)
        if len(self._held) < 2 + more:
            return None
        size = int.from_bytes(self._held[2 : 2 + more], "big") if more else self._held[1]
        self._held = self._held[2 + more :]
        return size

    @property
    def is_inside(self):
        return not self._in_head and bool(self._held or self._left)


class Records:
    """Likewise of a server's TLS records (RFC 8446 section 5.1), whose count is kept."""

    def __init__(self):
        self._held, self.count = b"", 0

    def feed(self, data):
        self._held += data
        while len(self._held) >= 5:
            size = 5 + int.from_bytes(self._held[3:5], "big")
            if len(self._held) < size:
                return
            self._held = self._held[size:]
            self.count += 1

    @property
    def is_inside(self):
        return bool(self._held)


@dataclasses.dataclass
class Cut:
    kind: str
    after_bytes: int  # at least one


class Cutter:
    """Use it as a context manager; `cuts` are taken one by WebSocket, in order. Over TLS every
    connection must be a WebSocket, and what a cut was in is a record."""

    def __init__(self, server, cuts=()):
        self.token = server.token
        self._target = ("127.0.0.1", int(server.url.rpartition(":")[2]))
        self._listener = socket.create_server(("127.0.0.1", 0))
        host, port = self._listener.getsockname()
        self.trust = getattr(server, "trust", None)
        s = "s" if self.trust else ""
        self.url, self.ws_url = f"http{s}://{host}:{port}", f"ws{s}://{host}:{port}"
        self.cuts = list(cuts)
        self.done = []  # of the cuts: whether each ended within a frame
        self._silent, self._threads, self._open = [], [], set()
        self._stopping = False

    def __enter__(self):
        self._run(self._accept)
        return self

    def __exit__(self, *_):
        self._stopping = True
        self._listener.shutdown(socket.SHUT_RDWR)
        for sock in list(self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(PATIENCE_S)
            assert not thread.is_alive()
        for sock in self._silent:
            sock.close()
        self._listener.close()

    def _run(self, target, *arguments):
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self):
        while not self._stopping:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            self._run(self._serve, client)

    def _connect(self):
        server = socket.socket()
        # Small steps, so that a frame is received in parts.
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, WINDOW_BYTES)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, SEGMENT_BYTES)
        server.connect(self._target)
        return server

    def _serve(self, client):
        server = self._connect()
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._open |= {client, server}
        with contextlib.suppress(OSError):
            first = client.recv(65536)
            is_websocket = self.trust or b"upgrade: websocket" in first.lower()
            cut = self.cuts.pop(0) if is_websocket and self.cuts else None
            server.sendall(first)
            self._relay(client, server, cut)
        self._open -= {client, server}
        client.close()
        if server not in self._silent:
            server.close()

    def _relay(self, client, server, cut):
        frames, passed = Records() if self.trust else Frames(), 0
        while True:
            ready, _, _ = select.select([client, server], [], [])
            if client in ready:
                data = client.recv(65536)
                if not data:
                    return
                server.sendall(data)
            if server in ready:
                most = min(65536, cut.after_bytes - passed) if cut else 65536
                data = server.recv(most)
                if not data:
                    return
                client.sendall(data)
                frames.feed(data)
                passed += len(data)
            if cut and passed >= cut.after_bytes:
                return self._cut(client, server, frames, cut)

    def _cut(self, client, server, frames, cut):
        deafen(server)
        server.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while data := server.recv(65536):
                client.sendall(data)
                frames.feed(data)
        server.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        wait_until(lambda: unacknowledged(client) == 0, PATIENCE_S, "the client's acknowledgement")
        self.done.append(frames.is_inside)
        if cut.kind == "reset":
            for sock in (server, client):
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, LINGER_NONE)
        elif cut.kind == "end":
            server.shutdown(socket.SHUT_WR)
        else:
            self._silent.append(server)
