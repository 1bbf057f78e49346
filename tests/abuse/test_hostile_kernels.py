"""Kernels that behave badly (hostile.py), each beside one that does not: what clients of the bad
one hear, and that nobody else notices."""

import time

import cellblock
import hostile
import pytest
import rude

# A kernel that ends stays dead, so that its end can be looked at.
ARGUMENTS = ("--launch-timeout-ms=2s", "--gateway-memory-bytes=256MiB", "--restart-limit=0")

# What the clients of a kernel hear that starts badly; None: that all is well.
STARTS = {
    "leave": "the kernel left by itself with exit status 3",
    "hang_up": "socket: the connection was closed",
    "speak_as_another": "socket: the connection was closed",
    "take_datagrams": "the kernel's shell socket: connect: Protocol wrong type for socket",
    "shout": None,
}
# Those that only time ends.
NEVER = ("never_bind", "never_listen", "never_speak", "put_links", "churn", "speak_noise")


def check_death(serve, kernel_id, client, sentence):
    reply = client.run("x")
    assert reply["status"] == "error" and sentence in reply["evalue"], reply
    assert rude.state(serve, kernel_id)["execution_state"] == "dead"
    assert client.run("y")["evalue"] == reply["evalue"], "whoever asks later hears it too"


@pytest.mark.parametrize("way", STARTS)
def test_start(serve, witness, way):
    kernel_id = rude.start(serve, way)
    with rude.Rude(serve, kernel_id) as client:
        if STARTS[way] is None:
            assert client.run("x")["status"] == "ok"
        else:
            check_death(serve, kernel_id, client, STARTS[way])
    rude.end(serve, kernel_id)


def test_starts_without_an_end(serve, witness):
    kernel_ids = [rude.start(serve, way) for way in NEVER]
    for way, kernel_id in zip(NEVER, kernel_ids, strict=True):
        with rude.Rude(serve, kernel_id) as client:
            # Noise may happen to look like an end of the connection.
            sentence = "" if way == "speak_noise" else "within 2000 ms (launch_timeout_ms)"
            check_death(serve, kernel_id, client, sentence)
        rude.end(serve, kernel_id)


def test_a_kernel_that_goes_to_the_background(serve, witness):
    """Its child may have answered by then; with the kernel itself everything ends."""
    kernel_id = rude.start(serve, "go_to_background")

    def is_dead():
        return rude.state(serve, kernel_id)["execution_state"] == "dead"

    cellblock.wait_until(is_dead, rude.PATIENCE_S, "the kernel is dead")
    assert "exit status 0" in rude.state(serve, kernel_id)["reason"]
    rude.end(serve, kernel_id)


@pytest.fixture
def bad(serve, request):
    """(id, client) of the kernel that the test's parameter names."""
    kernel_id = rude.start(serve, request.param.lower())
    with rude.Rude(serve, kernel_id) as client:
        yield kernel_id, client
    rude.end(serve, kernel_id)


@pytest.mark.parametrize("bad", ("Forger", "Babbler", "Replacer"), indirect=True)
def test_run(serve, witness, bad):
    """What is wrong is left out, what is right comes through, before a restart and after it."""
    kernel_id, client = bad
    for _ in range(2):
        for _ in range(3):
            assert client.run("x") == {"status": "ok", "execution_count": 1}
        assert serve.request("POST", f"/api/kernels/{kernel_id}/restart")[0] == 200


@pytest.mark.parametrize("bad", ["Forger"], indirect=True)
def test_forged_words_are_not_heard(serve, bad):
    _, client = bad
    msg_id, next_id = client.execute("x"), client.execute("y")
    heard, ends = [], set()
    while len(ends) < 2:  # a channel keeps its order: behind the ends of the next nothing comes
        heard.append(client.receive())
        if rude.parent_of(heard[-1]) == next_id and rude.is_idle(heard[-1]):
            ends.add("idle")
        elif rude.parent_of(heard[-1]) == next_id and is_right(heard[-1]):
            ends.add("reply")
    assert "error" not in [message["header"]["msg_type"] for message in heard]
    ours = [m for m in heard if rude.parent_of(m) == msg_id and is_right(m)]
    assert len(ours) == 1, "what has been said once is not said again"


@pytest.mark.parametrize("bad", ["Liar"], indirect=True)
def test_lies(serve, witness, bad):
    """Each request ends with its own answer, and the state is what the right words say."""
    kernel_id, client = bad
    for _ in range(2):
        for _ in range(5):
            await_right(client, client.execute("x"))

        def is_idle():
            return rude.state(serve, kernel_id)["execution_state"] == "idle"

        cellblock.wait_until(is_idle, rude.PATIENCE_S, "the kernel is idle")
        assert serve.request("POST", f"/api/kernels/{kernel_id}/restart")[0] == 200


@pytest.mark.parametrize("bad", ["Commander"], indirect=True)
def test_commands_of_zeromq(serve, witness, bad):
    """They do nothing, or end the connection and with it the kernel, which can be started again."""
    kernel_id, client = bad
    for number in range(len(hostile.COMMANDS)):
        reply = client.run(str(number))
        assert reply["status"] == "ok" or reply["ename"] == "KernelLost", (number, reply)
        assert serve.request("POST", f"/api/kernels/{kernel_id}/restart")[0] == 200
        assert client.run("x")["status"] == "ok"
        assert witness.run("still here")["status"] == "ok"


def await_right(client, msg_id):
    client.until(lambda message: rude.parent_of(message) == msg_id and is_right(message))


def is_right(message):
    is_reply = message["header"]["msg_type"] == "execute_reply"
    return is_reply and message["content"]["execution_count"] == 1


@pytest.mark.parametrize("bad", ["Quitter"], indirect=True)
def test_a_connection_that_is_closed(serve, witness, bad):
    kernel_id, client = bad
    assert client.run("x")["status"] == "ok"
    reply = client.run("close")
    assert reply["ename"] == "KernelLost" and "iopub" in reply["evalue"]
    assert serve.request("POST", f"/api/kernels/{kernel_id}/restart")[0] == 200
    assert client.run("x")["status"] == "ok"


@pytest.mark.parametrize("bad", ["Stubborn"], indirect=True)
def test_one_that_heeds_nothing(serve, witness, bad):
    kernel_id, client = bad
    msg_id = client.execute("x")
    client.until(lambda message: rude.parent_of(message) == msg_id)
    others = [client.execute("y") for _ in range(5)]
    assert serve.request("POST", f"/api/kernels/{kernel_id}/interrupt")[0] == 204
    assert rude.state(serve, kernel_id)["execution_state"] == "busy"
    assert serve.request("POST", f"/api/kernels/{kernel_id}/restart")[0] == 200
    replies = client.ends([msg_id, *others])
    assert {reply["ename"] for reply in replies.values()} == {"KernelRestarted"}
    msg_id = client.execute("x")
    client.until(lambda message: rude.parent_of(message) == msg_id)


@pytest.mark.parametrize("bad", ("Flooder", "Endless", "Giant"), indirect=True)
def test_a_flood(serve, witness, bad):
    """More than can be passed on, and a message without an end: the kernel is ended before it fills
    the gateway, and the others go on meanwhile."""
    kernel_id, client = bad
    assert client.run("x")["status"] == "ok"
    client.execute("flood")
    client.socket.shutdown(0)
    sizes = []
    deadline = time.monotonic() + rude.PATIENCE_S
    while rude.state(serve, kernel_id)["execution_state"] != "dead":
        assert time.monotonic() < deadline
        assert witness.run("still here")["status"] == "ok"
        sizes.append(rude.resident_kib(serve.first_gateway))
    assert max(sizes, default=0) < 1 << 20, "KiB"
    reason = rude.state(serve, kernel_id)["reason"]
    assert "gateway_memory_bytes" in reason or "part of a message" in reason
    assert serve.request("POST", f"/api/kernels/{kernel_id}/restart")[0] == 200
    with rude.Rude(serve, kernel_id) as other:
        assert other.run("x")["status"] == "ok"


def test_every_way_is_tried():
    tried = {*STARTS, *NEVER, "go_to_background", "Kernel", "Forger", "Babbler", "Replacer", "Liar"}
    tried |= {"Commander"}
    assert set(hostile.WAYS) == tried | {"Quitter", "Stubborn", "Flooder", "Endless", "Giant"}
