"""A link that is cut loses nothing and repeats nothing: what a session_id's socket has not been
acknowledged, and what follows while there is none, comes to its next socket, in either encoding."""

import contextlib
import random
import uuid

import cutter
import pytest
import websocket
from channels import Channels, end_of, parent_of
from rest import Rest

SEED = 20261130
CUTS = 60
# So that frames are larger than segments, and one in a while than the window.
NUMBERS = "import time\nfor i in range({count}):\n    print(i, '.' * (i * 37 % 900), flush=True)\n"
PAUSE = "    time.sleep(0.001)\n"
GONE = (OSError, websocket.WebSocketException)


@pytest.fixture
def kernel(rest):
    kernel_id = rest.start_kernel()
    with contextlib.closing(Channels(rest.server, kernel_id)) as channels:
        channels.run("1")
    yield kernel_id
    rest.end_kernel(kernel_id)


class Returning:
    """A client that connects again, in any encoding, until it has seen the end of its request."""

    def __init__(self, server, kernel_id, chance):
        self.server, self.kernel_id, self.chance = server, kernel_id, chance
        self.session_id = uuid.uuid4().hex
        self.log, self.ends, self.connections = [], set(), 0

    def connect(self):
        self.connections += 1
        encoding = self.chance.choice(["legacy", "v1"])
        return Channels(self.server, self.kernel_id, encoding, self.session_id)

    def read(self, channels, msg_id):
        """Whatever comes, to the end of msg_id or of the connection."""
        try:
            while not self.is_over():
                message = channels.receive()
                self.log.append(message)
                if parent_of(message) == msg_id:
                    self.ends.add(end_of(message))
        finally:
            channels.socket.shutdown()

    def is_over(self):
        return {"reply", "idle"} <= self.ends

    def run(self, code):
        channels = self.connect()
        msg_id = channels.execute(code)
        while not self.is_over():
            with contextlib.suppress(*GONE):
                self.read(channels or self.connect(), msg_id)
            channels = None
        return msg_id


def check_exactly_once(log, msg_id, count):
    ids = [m["header"]["msg_id"] for m in log]
    assert len(ids) == len(set(ids)), "a message came twice"
    ours = [m for m in log if parent_of(m) == msg_id]
    kinds = [m["header"]["msg_type"] for m in ours]
    assert kinds.count("execute_input") == 1 and kinds.count("execute_reply") == 1
    text = "".join(m["content"]["text"] for m in ours if m["header"]["msg_type"] == "stream")
    assert text == "".join(f"{i} {'.' * (i * 37 % 900)}\n" for i in range(count))


def make_cuts(chance, kinds, count):
    """Some within the upgrade itself, most within the frames."""
    sizes = (lambda: chance.randrange(400), lambda: chance.randrange(20000))
    return [cutter.Cut(chance.choice(kinds), chance.choice(sizes)()) for _ in range(count)]


@pytest.mark.parametrize("kinds", [cutter.KINDS, ("reset",), ("end",), ("silence",)])
@pytest.mark.parametrize("pace", ["slow", "at once"])
def test_every_number_once(serve, kernel, kinds, pace):
    chance = random.Random(f"{SEED} {kinds} {pace}")
    count = 2000
    code = NUMBERS.format(count=count) + (PAUSE if pace == "slow" else "")
    cuts = [cutter.Cut(kinds[0], 5000), *make_cuts(chance, kinds, CUTS)]
    with cutter.Cutter(serve, cuts) as proxy:
        client = Returning(proxy, kernel, chance)
        msg_id = client.run(code)
        assert len(proxy.done) >= CUTS // 2, "most of the cuts were in the middle of it"
        assert any(proxy.done), "no cut was within a frame"
    print(f"{client.connections} connections, {len(proxy.done)} cuts, {sum(proxy.done)} in frames")
    check_exactly_once(client.log, msg_id, count)
