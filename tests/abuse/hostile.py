#!/usr/bin/python3
"""hostile - a kernel that behaves badly in one chosen way: `hostile.py WAY CONNECTION_FILE`.

It speaks ZeroMQ's wire protocol itself (ZMTP 3.0, rfc.zeromq.org/spec/23), because a library would
keep it from doing wrong. Standard library alone: it runs in a jail that shows /usr and this file.
"""

import contextlib
import hashlib
import hmac
import itertools
import json
import os
import signal
import socket
import struct
import sys
import threading

SHELL, IOPUB, STDIN, CONTROL, HB = range(1, 6)
TYPES = {SHELL: b"ROUTER", IOPUB: b"XPUB", STDIN: b"ROUTER", CONTROL: b"ROUTER", HB: b"REP"}
DELIMITER = b"<IDS|MSG>"
CHUNK = b"x" * (1 << 20)


def exact(peer, size):
    data = b""
    while len(data) < size:
        more = peer.recv(size - len(data))
        if not more:
            raise EOFError
        data += more
    return data


def frame(data, more=False, command=False):
    flags = (1 if more else 0) | (4 if command else 0)
    if len(data) < 256:
        return bytes([flags, len(data)]) + data
    return bytes([flags | 2]) + struct.pack("!Q", len(data)) + data


def prop(name, value):
    return bytes([len(name)]) + name + struct.pack("!I", len(value)) + value


def shake_hands(peer, port):
    peer.sendall(b"\xff" + bytes(8) + b"\x7f\x03\x00" + b"NULL".ljust(20, b"\0") + bytes(32))
    exact(peer, 64)
    body = b"\x05READY" + prop(b"Socket-Type", TYPES[port]) + prop(b"Identity", b"")
    peer.sendall(frame(body, command=True))
    read_frame(peer)


def read_frame(peer):
    flags, size = exact(peer, 2)
    if flags & 2:
        (size,) = struct.unpack("!Q", bytes([size]) + exact(peer, 7))
    return flags, exact(peer, size)


def read_message(peer):
    parts, flags = [], 1
    while flags & 1:
        flags, data = read_frame(peer)
        if not flags & 4:
            parts.append(data)
    return parts


class Kernel:
    """One that does what it should; a way to be hostile replaces what it likes."""

    def __init__(self, connection_file):
        with open(connection_file) as file:
            self.info = json.load(file)
        self.key = self.info["key"].encode()
        self.peers = {}
        self.serial = itertools.count()
        self.sockets = {}

    def path(self, port):
        return f"{self.info['ip']}-{port}"

    def bind(self, listen=True, kind=socket.SOCK_STREAM):
        for port in TYPES:
            self.sockets[port] = socket.socket(socket.AF_UNIX, kind)
            self.sockets[port].bind(self.path(port))
            if listen:
                self.sockets[port].listen(8)

    # The gateway connects once to see whether somebody listens, and leaves; the next one stays.
    def accept(self, port):
        while True:
            peer, _ = self.sockets[port].accept()
            try:
                shake_hands(peer, port)
            except (EOFError, ConnectionError):
                continue
            self.peers[port] = peer
            return peer

    def connect(self):
        for port in (SHELL, CONTROL, STDIN, IOPUB):
            self.accept(port)

    # -- saying ---------------------------------------------------------------------------------

    def parts(self, kind, content, parent, key=None):
        header = {"msg_id": f"k{next(self.serial)}", "msg_type": kind, "session": "kernel"}
        header |= {"username": "kernel", "version": "5.3", "date": "2026-01-01T00:00:00Z"}
        return self.signed([header, parent, {}, content], key)

    def signed(self, objects, key=None):
        datas = [o if isinstance(o, bytes) else json.dumps(o).encode() for o in objects]
        signature = hmac.new(key or self.key, b"".join(datas), hashlib.sha256).hexdigest()
        return [DELIMITER, signature.encode(), *datas]

    def send(self, port, parts):
        last = len(parts) - 1
        self.peers[port].sendall(b"".join(frame(p, more=i < last) for i, p in enumerate(parts)))

    def publish(self, kind, content, parent):
        self.send(IOPUB, [b"topic", *self.parts(kind, content, parent)])

    def status(self, state, parent):
        self.publish("status", {"execution_state": state}, parent)

    def reply(self, request, content, port=SHELL):
        kind = request["msg_type"].replace("_request", "_reply")
        self.send(port, self.parts(kind, {"status": "ok", **content}, request))

    # -- doing ----------------------------------------------------------------------------------

    def serve(self):
        self.bind()
        self.connect()
        threading.Thread(target=self.loop, args=[CONTROL], daemon=True).start()
        self.loop(SHELL)

    def loop(self, port):
        while True:
            parts = read_message(self.peers[port])
            at = parts.index(DELIMITER)
            header, content = json.loads(parts[at + 2]), json.loads(parts[at + 5])
            self.handle(header, content, port)

    def handle(self, header, content, port):
        self.status("busy", header)
        if header["msg_type"] == "kernel_info_request":
            info = {"protocol_version": "5.3", "implementation": "hostile", "banner": ""}
            self.reply(header, {**info, "language_info": {"name": "none"}}, port)
        elif header["msg_type"] == "execute_request":
            self.execute(header, content["code"])
        else:
            self.reply(header, {}, port)
        self.status("idle", header)

    def execute(self, header, code):
        self.publish("stream", {"name": "stdout", "text": code}, header)
        self.reply(header, {"execution_count": 1})


# -- ways to start badly --------------------------------------------------------------------------


def leave(_kernel):
    """Exits at once."""
    sys.exit(3)


def never_bind(_kernel):
    """No socket ever."""
    threading.Event().wait()


def never_listen(kernel):
    """Bound sockets on which nobody listens."""
    kernel.bind(listen=False)
    threading.Event().wait()


def never_speak(kernel):
    """Connections are taken, and that is all."""
    kernel.bind()
    threading.Event().wait()


def hang_up(kernel):
    """Every connection is ended at once."""
    kernel.bind()
    while True:
        kernel.sockets[SHELL].accept()[0].close()


def speak_noise(kernel):
    """What it says is no ZeroMQ."""
    kernel.bind()
    peers = []
    while True:
        peers.append(kernel.sockets[SHELL].accept()[0])
        try:
            peers[-1].sendall(os.urandom(200))
        except OSError:
            pass


def speak_as_another(kernel):
    """ZeroMQ, but sockets of the wrong types."""
    for port in TYPES:
        TYPES[port] = b"PULL"
    kernel.serve()


def take_datagrams(kernel):
    """Sockets, but of a kind that cannot be connected to."""
    kernel.bind(listen=False, kind=socket.SOCK_DGRAM)
    threading.Event().wait()


def put_links(kernel):
    """No sockets: links, pipes, folders and files by their names."""
    os.symlink("/dev/null", kernel.path(SHELL))
    os.mkfifo(kernel.path(IOPUB))
    os.mkdir(kernel.path(STDIN))
    open(kernel.path(CONTROL), "w").close()
    os.symlink(kernel.path(HB), kernel.path(HB))
    threading.Event().wait()


def churn(kernel):
    """Names that come and go."""
    while True:
        for port in TYPES:
            os.symlink("x", kernel.path(port))
        for port in TYPES:
            os.unlink(kernel.path(port))


def shout(kernel):
    """10 MB on stderr, then a kernel like any other."""
    for _ in range(10):
        sys.stderr.write("e" * (1 << 20))
    kernel.serve()


def go_to_background(kernel):
    """A child goes on, the kernel itself leaves."""
    if os.fork() == 0:
        os.setsid()
        kernel.serve()
    sys.exit(0)


# -- ways to run badly ----------------------------------------------------------------------------


class Forger(Kernel):
    """Answers with what it did not sign, what is not asked for, and the right one among them."""

    def execute(self, header, code):
        wrong = {"execution_count": 666}
        for key in (b"another key", b"\0"):
            self.send(SHELL, self.parts("execute_reply", wrong, header, key=key))
            self.send(IOPUB, [b"t", *self.parts("error", wrong, header, key=key)])
        stranger = {**header, "msg_id": "nobody's", "session": "nobody"}
        self.send(SHELL, self.parts("execute_reply", wrong, stranger))
        self.send(SHELL, self.parts("inspect_reply", wrong, header))
        right = self.parts("execute_reply", {"status": "ok", "execution_count": 1}, header)
        self.send(SHELL, right)
        self.send(SHELL, right)


class Babbler(Kernel):
    """Multiparts of every wrong shape on every channel."""

    def execute(self, header, code):
        deep = b"[" * 5000 + b"]" * 5000
        wrong = [
            [b""],
            [b"", b"", b""],
            [DELIMITER],
            [DELIMITER, b""],
            [b"a" * 300, DELIMITER, b"00", b"{}", b"{}", b"{}"],
            [DELIMITER] * 40,
            [b"x"] * 3000,
            self.signed([b"\xff\xfe", b"{}", b"{}", b"{}"]),
            self.signed([b"{}", b"{}", b"{}", b"{}"]),
            self.signed([b"null", b"null", b"null", b"null"]),
            self.signed([b"[]", b"[]", b"[]", b"[]"]),
            self.signed([b'{"msg_type": 7}', b'"text"', b"", b"{"]),
            self.signed([deep, deep, deep, deep]),
            self.signed([b'{"msg_id": "' + b"m" * 70000 + b'"}', b"{}", b"{}", b"{}"]),
            self.signed([{"msg_type": "status"}, header, {}, {"execution_state": ["idle"]}]),
            self.signed([{"msg_type": "status\0x"}, header, {}, b'"idle"']),
            self.signed([{"msg_type": "stream\n\r\x7f"}, header, b"\xff", b'{"a": "\xff\xfe"}']),
            self.signed([{"msg_type": "stream"}, header, {}, b'}, "x": {']),
            self.signed([{"msg_type": "stream"}, header, {}, {}, *[b"buffer"] * 1500]),
            self.signed([{"msg_type": "comm_msg"}, header, {}, {}, *[b"buffer"] * 1000]),
        ]
        for port in (IOPUB, SHELL, CONTROL, STDIN):
            for parts in wrong:
                self.send(port, parts)
        super().execute(header, code)


class Liar(Kernel):
    """States that are none and in no order, kinds that nobody knows, and answers on every channel
    but their own, around what is right."""

    def execute(self, header, code):
        for state in ("idle", "idle", "busy", "restarting", "dead", "terminating", "no such", 7):
            self.status(state, header)
            for port in (SHELL, CONTROL, STDIN):
                self.send(port, self.parts("status", {"execution_state": state}, header))
        for kind in ("", "no_such", "k" * 2000, "execute_request", "shutdown_reply", "input_reply"):
            for port in (IOPUB, SHELL, CONTROL, STDIN):
                self.send(port, self.parts(kind, {"status": "ok", "restart": False}, header))
        for port in (IOPUB, CONTROL, STDIN):
            self.send(port, self.parts("execute_reply", {"execution_count": 666}, header))
        super().execute(header, code)
        self.status("idle", header)
        for state in ("busy", "idle", "idle"):
            self.status(state, {**header, "msg_id": "nobody's"})


COMMANDS = (
    frame(b"\x04PING\x00\x64context", command=True),
    frame(b"\x05READY" + prop(b"Socket-Type", b"PUB"), command=True),
    frame(b"\x05ERROR\x06reason", command=True),
    frame(b"\x09SUBSCRIBEtopic", command=True),
    frame(b"\x07NO_SUCH", command=True),
    frame(b"", command=True),
    frame(b"\xff", command=True),
    frame(b"\x04PING" + b"c" * 70_000, command=True),
    frame(b"more of nothing", more=True, command=True),
    b"\xf8\x00",  # flags that are reserved
    b"\x02" + bytes(8),  # a long frame without a byte
    frame(b"\x01topic"),
    frame(b"") * 1000,
)


class Commander(Kernel):
    """ZeroMQ's own commands, and frames that are none, between its messages."""

    def execute(self, header, code):
        for port in (IOPUB, SHELL, CONTROL, STDIN):
            if code.isdigit():
                self.peers[port].sendall(COMMANDS[int(code)])
        super().execute(header, code)


class Flooder(Kernel):
    """Output without end."""

    def execute(self, header, code):
        if code != "flood":
            return super().execute(header, code)
        content = {"name": "stdout", "text": "x" * 1000}
        parts = [self.parts("stream", content, header) for _ in range(100)]
        many = b""
        for some in parts:
            some = [b"topic", *some]
            many += b"".join(frame(p, more=i < len(some) - 1) for i, p in enumerate(some))
        while True:
            self.peers[IOPUB].sendall(many)


class Endless(Kernel):
    """One message whose parts never end."""

    def execute(self, header, code):
        if code != "flood":
            return super().execute(header, code)
        self.peers[IOPUB].sendall(frame(b"topic", more=True))
        part = frame(CHUNK, more=True)
        while True:
            self.peers[IOPUB].sendall(part)


class Giant(Kernel):
    """A part that is announced as larger than any memory."""

    def execute(self, header, code):
        if code != "flood":
            return super().execute(header, code)
        with contextlib.suppress(ConnectionError):
            self.peers[IOPUB].sendall(b"\x02" + struct.pack("!Q", 1 << 62) + CHUNK)
        threading.Event().wait()


class Quitter(Kernel):
    """Closes the connection of its output, and lives."""

    def execute(self, header, code):
        if code == "close":
            self.peers[IOPUB].close()
            self.peers[IOPUB] = socket.socketpair()[0]
            threading.Event().wait()
        super().execute(header, code)


class Replacer(Kernel):
    """Puts other things in the place of its sockets once it is connected."""

    def connect(self):
        super().connect()
        for port in TYPES:
            os.unlink(self.path(port))
            os.symlink("/proc/self/fd/0", self.path(port))


class Stubborn(Kernel):
    """Says busy and nothing more, whatever comes."""

    def execute(self, header, code):
        threading.Event().wait()

    def handle(self, header, content, port):
        if port == SHELL:
            super().handle(header, content, port)


STARTS = (
    leave, never_bind, never_listen, never_speak, hang_up, speak_noise, speak_as_another,
    take_datagrams, put_links, churn, shout, go_to_background,
)  # fmt: skip
KERNELS = (
    Kernel, Forger, Babbler, Liar, Commander, Flooder, Endless, Giant, Quitter, Replacer, Stubborn,
)  # fmt: skip
WAYS = {way.__name__: way for way in STARTS + KERNELS}


def main():
    name, connection_file = sys.argv[1:]
    way = WAYS[name]
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(EOFError, ConnectionError):  # the gateway hung up
        if way in KERNELS:
            way(connection_file).serve()
        else:
            way(Kernel(connection_file))


if __name__ == "__main__":
    main()
