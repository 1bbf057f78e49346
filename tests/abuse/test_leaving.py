"""Clients that leave in the middle, by an orderly end of the connection or by a reset."""

import cellblock
import pytest
import rude

LEAVES = (rude.Wire.close, rude.Wire.reset)
POST = b'{"name": "echo", "env": {"KERNEL_X": "' + b"x" * 2000 + b'"}}'


@pytest.fixture(params=LEAVES, ids=("close", "reset"))
def leave(request):
    return request.param


def wait_for_no_connection(serve):
    def is_alone():
        return serve.request("GET", "/api/status")[1]["http_connections"] == 1

    cellblock.wait_until(is_alone, rude.PATIENCE_S, "the server saw everyone leave")


def wait_for_state(serve, kernel_id, wanted):
    def fits():
        return rude.state(serve, kernel_id)["execution_state"] == wanted

    cellblock.wait_until(fits, rude.PATIENCE_S, f"the kernel is {wanted}")


@pytest.mark.parametrize("share", (0.02, 0.1, 0.5, 0.999))
def test_within_a_request(serve, leave, share):
    wire = rude.Wire(serve)
    request = wire.request_bytes("POST", "/api/kernels", POST)
    wire.send(request[: int(len(request) * share)])
    leave(wire)
    wait_for_no_connection(serve)
    assert rude.kernel_ids(serve) == set()


def test_before_the_answer(serve, leave):
    wire = rude.Wire(serve)
    wire.send_request("POST", "/api/kernels", POST)
    leave(wire)
    wait_for_no_connection(serve)
    started = rude.kernel_ids(serve)
    assert len(started) <= 1, "a reset may come before the request was read"
    for kernel_id in started:
        rude.end(serve, kernel_id)


@pytest.mark.parametrize("what", ("restart", "interrupt"))
def test_while_the_kernel_does_it(serve, kernel_id, leave, what):
    with rude.Rude(serve, kernel_id) as client:
        client.run("ready")
    wire = rude.Wire(serve)
    wire.send_request("POST", f"/api/kernels/{kernel_id}/{what}")
    leave(wire)
    wait_for_no_connection(serve)
    with rude.Rude(serve, kernel_id) as client:
        assert client.run("after")["status"] == "ok"


def test_while_a_deletion_waits(serve, leave):
    kernel_id = rude.start(serve)
    wires = [rude.Wire(serve) for _ in range(3)]
    for wire in wires:
        wire.send_request("DELETE", f"/api/kernels/{kernel_id}")
    for wire in wires:
        leave(wire)
    wait_for_no_connection(serve)
    if kernel_id in rude.kernel_ids(serve):  # every request was lost with its connection
        rude.end(serve, kernel_id)


def test_within_the_upgrade(serve, kernel_id, leave):
    wire = rude.Wire(serve)
    request = rude.Rude.upgrade_bytes(wire, kernel_id)
    wire.send(request[: len(request) // 2])
    leave(wire)
    wire = rude.Wire(serve)
    wire.send(request)
    leave(wire)
    wait_for_no_connection(serve)


def frames_cut_short():
    whole = rude.Rude.frame(rude.TEXT, b"x" * 70000)
    yield "header", whole[:5]
    yield "mask", whole[:12]
    yield "payload", whole[:40000]
    yield "fragment", rude.Rude.frame(rude.TEXT, b"x" * 10, final=False)
    yield "two fragments", 2 * rude.Rude.frame(0, b"x", final=False)
    yield "close", rude.Rude.frame(rude.CLOSE, b"\x03\xe8bye")[:4]


@pytest.mark.parametrize("part", [pytest.param(p, id=name) for name, p in frames_cut_short()])
def test_within_a_frame(serve, kernel_id, leave, part):
    client = rude.Rude(serve, kernel_id)
    client.send(part)
    leave(client)
    wait_for_no_connection(serve)


def test_within_a_large_answer(serve, kernel_id, leave):
    client, other = rude.Rude(serve, kernel_id), rude.Rude(serve, kernel_id)
    client.execute("result 20000000")
    client.fill(1 << 20)
    leave(client)
    other.until(lambda message: message["header"]["msg_type"] == "execute_result")
    assert other.run("after")["status"] == "ok"
    other.close()


def test_while_the_kernel_starts(serve, leave):
    kernel_id = rude.start(serve)
    client = rude.Rude(serve, kernel_id)
    client.execute("write left.txt here")
    leave(client)
    wait_for_no_connection(serve)
    wait_for_state(serve, kernel_id, "idle")
    with rude.Rude(serve, kernel_id) as other:
        assert other.run("cat left.txt")["status"] == "ok", "what was sent before is done"
    rude.end(serve, kernel_id)


def test_while_a_cell_runs(serve, kernel_id, leave):
    """The cell goes on; who comes back under the same session_id gets its reply."""
    client = rude.Rude(serve, kernel_id, session_id="s")
    client.run("ready")
    msg_id = client.execute("sleep 60000")
    client.until(lambda message: message["header"]["msg_type"] == "status")
    leave(client)
    wait_for_no_connection(serve)
    wait_for_state(serve, kernel_id, "busy")
    with rude.Rude(serve, kernel_id, session_id="s") as back:
        assert serve.request("POST", f"/api/kernels/{kernel_id}/interrupt")[0] == 204
        assert back.result(msg_id)["ename"] == "KeyboardInterrupt"


def test_everything_in_one_write(serve, leave):
    """Requests that each change the kernel, behind one another on one connection."""
    kernel_id = rude.start(serve)
    path = f"/api/kernels/{kernel_id}"
    requests = [("POST", f"{path}/restart")] * 3 + [("DELETE", path), ("GET", path)]
    requests += [("POST", f"{path}/restart"), ("POST", f"{path}/interrupt"), ("DELETE", path)]
    wire = rude.Wire(serve)
    wire.send(b"".join(wire.request_bytes(*request) for request in requests))
    statuses = [wire.response()[0] for _ in requests]
    assert statuses == [200] * 3 + [204] + [404] * 4
    leave(wire)
