"""A link that is cut loses nothing and repeats nothing: what a session_id's socket has not been
acknowledged, and what follows while there is none, comes to its next socket, in either encoding."""

import contextlib
import random
import ssl
import uuid

import cutter
import pytest
import websocket
from cellblock import wait_until
from channels import PATIENCE_S, Channels, end_of, parent_of
from rest import Rest

SEED = 20261130
CUTS = 60
NUMBERS = 2000
GONE = (ConnectionError, ssl.SSLError, websocket.WebSocketConnectionClosedException)


def line(number):
    """Of any length, so that some frames are larger than the proxy's window."""
    return f"{number} {'.' * (number * 37 % 900)}\n"


def print_lines(count, pause_s=0):
    return (
        f"import time\nfor i in range({count}):\n"
        f"    print(i, '.' * (i * 37 % 900), flush=True)\n    time.sleep({pause_s})\n"
    )


def idle_kernel(rest):
    kernel_id = rest.start_kernel()
    rest.await_state(kernel_id, "idle")
    yield kernel_id
    rest.end_kernel(kernel_id)


@pytest.fixture
def kernel(rest):
    yield from idle_kernel(rest)


@pytest.fixture
def secure_kernel(secure):
    yield from idle_kernel(Rest(secure))


class Reader(Channels):
    """Answers no ping: writing would fail on a connection that is gone, and hide what came."""

    def receive(self, seconds=PATIENCE_S):
        self.socket.settimeout(seconds)
        while True:
            frame = self.socket.recv_frame()
            if frame.opcode == websocket.ABNF.OPCODE_TEXT:
                return self._decode(frame.data.decode())
            if frame.opcode == websocket.ABNF.OPCODE_BINARY:
                return self._decode(frame.data)
            assert frame.opcode == websocket.ABNF.OPCODE_PING, frame


class Returning:
    """A client of one cell that connects again, in any encoding, until it has seen the end."""

    def __init__(self, server, kernel_id, chance=None):
        self.server, self.kernel_id = server, kernel_id
        self.chance = chance or random.Random(SEED)
        self.session_id = uuid.uuid4().hex
        self.msg_id, self.log, self.ends, self.connections = None, [], set(), 0

    def is_over(self):
        return {"reply", "idle"} <= self.ends

    def connect(self):
        self.connections += 1
        encoding = self.chance.choice(["legacy", "v1"])
        return Reader(self.server, self.kernel_id, encoding, self.session_id)

    def read(self, channels):
        """Whatever comes, to the end of the cell or of the connection."""
        with contextlib.suppress(*GONE):
            while not self.is_over():
                message = channels.receive()
                self.log.append(message)
                if parent_of(message) == self.msg_id:
                    self.ends.add(end_of(message))
        channels.cut()

    def begin(self, code):
        """Reads to the first loss of the connection."""
        channels = self.connect()
        self.msg_id = channels.execute(code)
        self.read(channels)

    def go_on(self):
        while not self.is_over():
            with contextlib.suppress(*GONE):
                self.read(self.connect())

    def messages(self, kind):
        ours = (m for m in self.log if parent_of(m) == self.msg_id)
        return [m for m in ours if m["header"]["msg_type"] == kind]

    def text(self, name="stdout"):
        contents = (m["content"] for m in self.messages("stream"))
        return "".join(content["text"] for content in contents if content["name"] == name)

    def check_nothing_twice(self):
        ids = [m["header"]["msg_id"] for m in self.log]
        assert len(ids) == len(set(ids)), "a message came twice"
        assert len(self.messages("execute_reply")) == 1

    def check_exactly_once(self, count):
        self.check_nothing_twice()
        assert len(self.messages("execute_input")) == 1
        assert self.text() == "".join(map(line, range(count)))


def make_cuts(chance, kinds, count):
    """Some within the upgrade itself, most within the frames."""
    sizes = (lambda: chance.randrange(1, 400), lambda: chance.randrange(1, 20000))
    return [cutter.Cut(chance.choice(kinds), chance.choice(sizes)()) for _ in range(count)]


def check_every_line_once(serve, kernel, kinds, pause_s):
    chance = random.Random(f"{SEED} {kinds} {pause_s}")
    cuts = [cutter.Cut(kinds[0], 5000), *make_cuts(chance, kinds, CUTS)]
    with cutter.Cutter(serve, cuts) as proxy, Channels(serve, kernel) as observer:
        client = Returning(proxy, kernel, chance)
        client.begin(print_lines(NUMBERS, pause_s))
        client.go_on()
        observer.until(lambda m: parent_of(m) == client.msg_id and end_of(m) == "idle")
    print(f"{client.connections} connections, {len(proxy.done)} cuts, {sum(proxy.done)} in frames")
    assert len(proxy.done) >= CUTS // 2, "most of the cuts were in the middle of it"
    assert any(proxy.done), "no cut was within a frame"
    assert observer.answer_so_far(client.msg_id).text == "".join(map(line, range(NUMBERS)))
    client.check_exactly_once(NUMBERS)


@pytest.mark.parametrize(
    ("kinds", "pause_s"),
    [(cutter.KINDS, 0.001), (cutter.KINDS, 0), *(((kind,), 0) for kind in cutter.KINDS)],
)
def test_every_line_once(serve, kernel, kinds, pause_s):
    check_every_line_once(serve, kernel, kinds, pause_s)


@pytest.mark.parametrize("pause_s", [0.001, 0])
def test_every_line_once_over_tls(secure, secure_kernel, pause_s):
    """Bytes of the socket are not bytes of frames: a record counts when acknowledged whole."""
    check_every_line_once(secure, secure_kernel, cutter.KINDS, pause_s)


@pytest.fixture
def quick(start_serve, kernels):
    """A server that soon finds a dead link, and keeps little."""
    options = ("--ws-ping-ms=100ms", "--ws-dead-ms=1s", "--session-buffer-bytes=1MiB")
    return start_serve(*options, kernels=kernels)


def test_a_link_that_is_silent(quick):
    """It counts as lost when nothing is acknowledged any more; a client that only does not read, so
    that it answers no ping, stays."""
    rest = Rest(quick)
    kernel_id = rest.start_kernel()
    with (
        Channels(quick, kernel_id) as reads_nothing,
        cutter.Cutter(quick, [cutter.Cut("silence", 3000)]) as proxy,
    ):
        client = Returning(proxy, kernel_id)
        client.begin(print_lines(30))
        wait_until(lambda: rest.kernel(kernel_id)["connections"] == 1, PATIENCE_S, "one left")
        client.go_on()
        client.check_exactly_once(30)
        reads_nothing.run("1")
    rest.end_kernel(kernel_id)


def test_more_than_is_kept(quick):
    """Head, tail, and words at the place that lacks; the ends are there in any case."""
    rest = Rest(quick)
    kernel_id, count = rest.start_kernel(), 6000
    with cutter.Cutter(quick, [cutter.Cut("reset", 3000)]) as proxy:
        client = Returning(proxy, kernel_id)
        client.begin(print_lines(count))
        rest.await_state(kernel_id, "busy")
        rest.await_state(kernel_id, "idle")
        client.go_on()
    client.check_nothing_twice()
    (marker,) = [m for m in client.messages("stream") if m["content"]["name"] == "stderr"]
    missing = marker["metadata"]["cellblock"]["missing"]
    assert f"{missing['messages']} messages" in marker["content"]["text"]
    assert "session_buffer_bytes is 1048576" in marker["content"]["text"]
    whole, there = "".join(map(line, range(count))), client.text()
    assert len(there) < 2 << 20 and len(whole) - len(there) < missing["bytes"] < 10 * len(whole)
    place = client.log.index(marker)
    head = [m for m in client.log[:place] if m in client.messages("stream")]
    head = "".join(m["content"]["text"] for m in head)
    assert head and whole.startswith(head) and whole.endswith(there[len(head) :])
    assert there.endswith(line(count - 1))
    rest.end_kernel(kernel_id)


def test_a_page_that_comes_in_the_middle(serve, kernel):
    """It is told Busy at once, by a status of the running cell, and its own question is answered
    while the cell runs. Its next cell runs."""
    with Channels(serve, kernel, session_id="before") as before:
        cell = before.execute("input()", allow_stdin=True)
        asked = before.until_kind("input_request", cell)
        with Channels(serve, kernel, session_id="reloaded") as page:
            status = page.until_kind("status", cell)
            assert status["content"]["execution_state"] == "busy"
            assert status["parent_header"]["msg_type"] == "execute_request"
            assert page.kernel_info().content["status"] == "ok"
            assert serve_state(serve, kernel) == "busy"
            following = page.execute("6 * 7")
            before.send("input_reply", {"value": ""}, "stdin", parent_header=asked["header"])
            assert page.answer(following).text == "42"


def serve_state(server, kernel_id):
    return Rest(server).kernel(kernel_id)["execution_state"]


def test_what_a_client_that_left_for_good_does_not_get(serve, kernel):
    """1000 says that it will not come back."""
    with Channels(serve, kernel, session_id="polite") as client:
        msg_id = client.execute("print(1)\ninput()", allow_stdin=True)
        client.until_kind("input_request", msg_id)
    with Channels(serve, kernel) as other:
        Rest(serve).post(f"/api/kernels/{kernel}/interrupt")
        other.until_kind("error", msg_id)
        other.run("1")
    with Channels(serve, kernel, session_id="polite") as again:
        again.run("2")
        assert msg_id not in [parent_of(m) for m in again.log]
