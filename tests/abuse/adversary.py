#!/usr/bin/env python3
"""adversary - a client that means harm, as a process of its own: `adversary.py ATTACK PORT TOKEN
KERNEL_ID`. It repeats its attack until its stdin ends, says "begun" once the first round is under
way, and at the end, as JSON, what came of each try: a status, a close code, or a word.

The one complication is the end: whoever attacks without reading must still learn what became of
the connection, so that is looked at by poll(2), and nothing is waited for without a bound."""

import contextlib
import json
import select
import socket
import sys
import time
import types

import rude

CROWD = 40
# The largest wait for what the server does by itself.
END_S = 30
JUNK = bytes(range(256)) * 8
DEEP = 100_000
NOBODY = "00000000-0000-4000-8000-000000000000"


class Adversary:
    def __init__(self, port, token, kernel_id):
        self.server = types.SimpleNamespace(port=port, token=token)
        self.kernel_id = kernel_id
        self.outcomes = {}

    def note(self, outcome):
        self.outcomes[str(outcome)] = self.outcomes.get(str(outcome), 0) + 1

    def wire(self):
        return rude.Wire(self.server)

    def channels(self, **options):
        return rude.Rude(self.server, self.kernel_id, **options)

    def statuses(self, wire):
        """Notes the status of each answer until the connection ends."""
        with contextlib.suppress(rude.Gone):
            while True:
                self.note(wire.response()[0])

    def ask(self, data):
        """Sends a request that may be refused before all of it has been read."""
        with self.wire() as wire:
            with contextlib.suppress(rude.Gone):
                wire.send(data)
            self.statuses(wire)

    def request(self, path="/api/kernels", method="GET", headers=(), body=None):
        headers = ["Connection: close", *headers]
        return self.wire_bytes(method, path, body, headers)

    def wire_bytes(self, *arguments):
        return rude.Wire.request_bytes(types.SimpleNamespace(server=self.server), *arguments)


def has_ended(wire):
    """Whether the other side has closed, without reading what it sent before."""
    poll = select.poll()
    poll.register(wire.socket, select.POLLRDHUP | select.POLLHUP | select.POLLERR)
    return bool(poll.poll(END_S * 1000))


def send_what_fits(wire, data):
    """Sends until the other side takes no more, or has gone."""
    wire.socket.settimeout(0.2)
    with contextlib.suppress(OSError):
        while True:
            wire.socket.sendall(data)
    wire.socket.settimeout(rude.PATIENCE_S)


# -- slow ones ------------------------------------------------------------------------------------


def drip(adversary, wires, data):
    """A byte at a time on each, until the server has had enough of all of them."""
    deadline = time.monotonic() + END_S
    left = list(wires)
    while left and time.monotonic() < deadline:
        for wire in list(left):
            try:
                wire.socket.send(data)
            except OSError:
                left.remove(wire)
        readable, _, _ = select.select([wire.socket for wire in left], [], [], 0.1)
        left = [wire for wire in left if wire.socket not in readable]
    for wire in wires:
        adversary.statuses(wire)
        wire.close()


def slow_heads(adversary):
    wires = [adversary.wire() for _ in range(CROWD)]
    for wire in wires:
        wire.send(b"GET /api/kernels HTTP/1.1\r\nHost: h\r\n")
    drip(adversary, wires, b"A:b\r\n")


def slow_bodies(adversary):
    wires = [adversary.wire() for _ in range(CROWD)]
    for i, wire in enumerate(wires):
        framing = "Transfer-Encoding: chunked" if i % 2 else "Content-Length: 1000"
        wire.send_request("POST", "/api/kernels", headers=[framing])
        wire.send(b"f" if i % 2 else b"{")
    for wire in wires:
        adversary.statuses(wire)
        wire.close()


def slow_frames(adversary):
    """Frames of which never more than a part comes: they may take their time, and cost little."""
    clients = [adversary.channels() for _ in range(CROWD)]
    for i, client in enumerate(clients):
        client.send(rude.Rude.frame(rude.TEXT, bytes(1 << 20))[: 10 + i])
    for _ in range(10):
        for client in clients:
            client.send(b"x")
        time.sleep(0.05)
    for client in clients:
        poll = select.poll()
        poll.register(client.socket, select.POLLRDHUP)
        adversary.note("ended" if poll.poll(0) else "open")
        client.reset()


# -- loud ones ------------------------------------------------------------------------------------


def pings(adversary):
    """Thousands of pings by somebody who reads nothing, and then looks for the last one's pong."""
    with adversary.channels(receive_buffer=4096) as client:
        many = client.frame(rude.PING, b"p" * 125) * 500
        for _ in range(20):
            client.send(many)
        client.send(client.frame(rude.PING, b"the last"))
        while client.receive_frame() != (rude.PONG, b"the last"):
            pass
        adversary.note("pong")


def fragments(adversary):
    with adversary.channels() as client:
        with contextlib.suppress(rude.Gone):
            client.send_frame(b"", final=False)
            client.send(client.frame(0, b"", final=False) * 30_000)
        adversary.note(client.close_code()[0])


def connections(adversary):
    wires = []
    for _ in range(200):
        with contextlib.suppress(OSError):
            wires.append(adversary.wire())
    for wire in wires:
        with contextlib.suppress(rude.Gone):
            wire.send_request("GET", "/api", headers=["Connection: close"])
    for wire in wires:
        adversary.statuses(wire)
        wire.close()


def upgrades(adversary):
    """Beginnings of WebSockets that are refused."""
    kind = ["Connection: Upgrade", "Upgrade: websocket", "User-Agent: rude"]
    key = "Sec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg=="
    version = "Sec-WebSocket-Version: 13"
    for kernel_id, headers in (
        (NOBODY, [key, version]),
        (adversary.kernel_id, [key, "Sec-WebSocket-Version: 8"]),
        (adversary.kernel_id, [version]),
        (adversary.kernel_id, [key, key, version]),
        (adversary.kernel_id, [key, version, "Content-Length: 3"]),
    ):
        with adversary.wire() as wire:
            wire.send_request("GET", f"/api/kernels/{kernel_id}/channels", headers=kind + headers)
            adversary.note(wire.response()[0])


def pipelined(adversary):
    """Requests without end, whose answers nobody reads."""
    wires = [adversary.wire() for _ in range(4)]
    for wire in wires:
        wire.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        send_what_fits(wire, wire.request_bytes("GET", "/api/kernelspecs") * 500)
    for wire in wires:
        adversary.note("closed" if has_ended(wire) else "open")
        wire.close()


def huge_heads(adversary):
    for data in (
        adversary.request("/" + "a" * 200_000),
        adversary.request("/api/kernels?a=" + "b" * 200_000),
        adversary.request(headers=["A: " + "b" * 1_000_000]),
        adversary.request(headers=[f"A{i}: b" for i in range(1000)]),
        adversary.request("/" + "%41" * 20_000),
        adversary.request("/api/kernels?" + "a=b&" * 15_000),
        b"G" * 200_000,
    ):
        adversary.ask(data)


# -- what is wrong --------------------------------------------------------------------------------


def deep_json(adversary):
    for body in (b"[" * DEEP, b'{"name":' * DEEP, b'{"env":' + b"[" * DEEP + b"]" * DEEP + b"}"):
        adversary.ask(adversary.request(method="POST", body=body))
        with adversary.channels() as client:
            client.send_frame(body)
            adversary.note(client.close_code()[0])


def wrong_frames(adversary):
    """Each breaks RFC 6455: pieces of a ping, a close in pieces, compression nobody agreed on, a
    reserved opcode, no mask."""
    frame = rude.Rude.frame
    compressed = bytearray(frame(rude.TEXT, b"\xaa\x56\x4a\x2d\x2e\x4e\x4c\x4f\x55\x00"))
    compressed[0] |= 0x40
    for data in (
        frame(rude.PING, b"p", final=False),
        frame(rude.TEXT, b"{", final=False) + frame(rude.CLOSE, b"\x03\xe8", final=False),
        bytes(compressed),
        frame(0xB, b""),
        b"\x81\x02{}",
    ):
        with adversary.channels() as client:
            client.send(data + JUNK)
            adversary.note(client.close_code()[0])


def garbage(adversary):
    """What is no request, in each state of a connection: its head, a chunked body, behind a request
    that is being answered, behind one that has been refused, and where frames should be."""
    chunked = ["Transfer-Encoding: chunked"]
    begun = adversary.wire_bytes("POST", "/api/kernels", None, chunked)
    restart = adversary.wire_bytes("POST", f"/api/kernels/{adversary.kernel_id}/restart", b"")
    adversary.ask(JUNK)
    adversary.ask(begun + JUNK)
    adversary.ask(restart + JUNK)
    with adversary.wire() as wire:
        with contextlib.suppress(rude.Gone):
            for _ in range(200):
                wire.send(JUNK)
        adversary.statuses(wire)
    with adversary.channels() as client:
        client.send(JUNK)
        adversary.note(client.close_code()[0])


ATTACKS = (
    slow_heads, slow_bodies, slow_frames, pings, fragments, connections, upgrades, pipelined,
    huge_heads, deep_json, wrong_frames, garbage,
)  # fmt: skip


def main():
    name, port, token, kernel_id = sys.argv[1:]
    (attack,) = (attack for attack in ATTACKS if attack.__name__ == name)
    adversary = Adversary(int(port), token, kernel_id)
    print("begun", flush=True)
    is_told = False
    while not is_told:
        attack(adversary)
        is_told = bool(select.select([sys.stdin], [], [], 0)[0])
    print(json.dumps(adversary.outcomes), flush=True)


if __name__ == "__main__":
    main()
