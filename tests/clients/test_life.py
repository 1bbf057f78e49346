"""A kernel's life as clients see it: states that are true, a start that nobody waits for, restart
in place, deletion."""

import concurrent.futures
import json
import socket
import statistics
import time
import types

import pytest
import websocket
from channels import Channels, parent_of

# -- start ----------------------------------------------------------------------------------------


def test_socket_opens_and_queues_while_the_kernel_starts(serve, rest):
    """open-webui gives up where the upgrade waits for the kernel."""
    kernel_id = rest.start_kernel(name="slow")
    with Channels(serve, kernel_id) as channels:
        assert rest.kernel(kernel_id)["execution_state"] == "starting"
        first = channels.execute("print('first')")
        second = channels.execute("print('second')")
        assert rest.kernel(kernel_id)["execution_state"] == "starting"
        answers = channels.answers(first, second)
        assert [answer.text for answer in answers] == ["first\n", "second\n"]
    rest.end_kernel(kernel_id)


def test_a_starting_kernel_holds_up_nobody(serve, rest, kernel_id):
    slow = rest.start_kernel(name="slow")
    with Channels(serve, slow), Channels(serve, kernel_id) as channels:
        assert channels.run("print('meanwhile')").text == "meanwhile\n"
        assert rest.kernel(slow)["execution_state"] == "starting"
    rest.end_kernel(slow)


def test_a_starting_kernel_can_be_deleted(serve, rest):
    kernel_id = rest.start_kernel(name="slow")
    with Channels(serve, kernel_id) as channels:
        channels.execute("1")
        rest.end_kernel(kernel_id)
    assert rest.get(f"/api/kernels/{kernel_id}").status_code == 404


def check_only_own(channels, *msg_ids):
    """Every message answers one of ours, also for a client that was there before the kernel."""
    for message in channels.log:
        assert parent_of(message) in msg_ids, message


@pytest.mark.parametrize("encoding", ["legacy", "v1"])
def test_probing_leaks_no_message(serve, rest, own_kernel_id, encoding):
    """How the gateway finds out that a kernel is ready is its own business."""
    with Channels(serve, own_kernel_id, encoding) as early:
        first = early.execute("1")
        early.answer(first)
        with Channels(serve, own_kernel_id, encoding) as late:
            second = late.execute("2")
            late.answer(second)
            check_only_own(late, second)
        early.run("3")
        check_only_own(early, first, second, parent_of(early.log[-1]))


# -- states ---------------------------------------------------------------------------------------


def test_states_are_true(serve, rest):
    model = rest.post("/api/kernels", json={"name": "python3"}).json()
    kernel_id = model["id"]
    assert model["execution_state"] == "starting"
    with Channels(serve, kernel_id) as channels:
        channels.run("1")
        rest.await_state(kernel_id, "idle")
        for _ in range(3):
            msg_id = channels.execute("input()", allow_stdin=True)
            channels.until_kind("input_request", msg_id)
            assert rest.kernel(kernel_id)["execution_state"] == "busy"
            channels.send("input_reply", {"value": ""}, "stdin")
            channels.answer(msg_id)
            rest.await_state(kernel_id, "idle")
    rest.end_kernel(kernel_id)


def test_a_kernel_that_nobody_talks_to_becomes_idle(rest, own_kernel_id):
    rest.await_state(own_kernel_id, "idle")


def test_last_activity_moves_with_work(serve, rest, kernel_id):
    with Channels(serve, kernel_id) as channels:
        channels.run("1")
        before = rest.kernel(kernel_id)["last_activity"]
        channels.run("2")
        assert rest.kernel(kernel_id)["last_activity"] > before


def test_looking_is_no_activity(serve, rest, kernel_id):
    rest.await_state(kernel_id, "idle")
    before = rest.kernel(kernel_id)["last_activity"]
    with Channels(serve, kernel_id):
        rest.kernel_ids()
    assert rest.kernel(kernel_id)["last_activity"] == before


# -- restart --------------------------------------------------------------------------------------


def test_restart_in_place(serve, rest, own_kernel_id):
    with Channels(serve, own_kernel_id) as channels:
        channels.run("kept = 1\nopen('kept.txt', 'w').write('still here')")
        pid = channels.run("import os; os.getpid()").text
        answer = rest.post(f"/api/kernels/{own_kernel_id}/restart", data="{}")
        assert answer.json()["id"] == own_kernel_id
    with Channels(serve, own_kernel_id) as channels:
        assert channels.run("'kept' in globals()").text == "False"
        assert channels.run("print(open('kept.txt').read())").text == "still here\n"
        assert channels.run("1").content["execution_count"] == 3
        assert pid
    assert rest.kernel_ids() >= {own_kernel_id}


def test_restart_twice_at_once(serve, rest, own_kernel_id):
    for _ in range(2):
        assert rest.post(f"/api/kernels/{own_kernel_id}/restart").status_code == 200
    with Channels(serve, own_kernel_id) as channels:
        assert channels.run("print('up')").text == "up\n"


def test_restart_reaches_the_open_sockets(serve, rest, own_kernel_id):
    """A socket that stays goes on. `restarting` would make JupyterLab say that the kernel died."""
    with Channels(serve, own_kernel_id) as channels:
        channels.run("before = 1")
        channels.log.clear()
        assert rest.post(f"/api/kernels/{own_kernel_id}/restart").status_code == 200
        channels.until(lambda m: m["content"].get("execution_state") == "idle")
        assert {m["content"].get("execution_state") for m in channels.log} == {"starting", "idle"}
        assert channels.run("'before' in globals()").text == "False"


# -- run all --------------------------------------------------------------------------------------


def test_run_all_stops_at_an_error(serve, kernel_id):
    """The kernel aborts what is queued behind it, which is passed on; what comes later runs."""
    with Channels(serve, kernel_id) as channels:
        cells = ("print('first')", "1 / 0", "print('never')")
        msg_ids = [channels.execute(cell) for cell in cells]
        answers = channels.answers(*msg_ids)
        assert [a.content["status"] for a in answers] == ["ok", "error", "aborted"]
        assert [a.text for a in answers] == ["first\n", "", ""]
        assert all(a.states[-1] == "idle" for a in answers)
        assert channels.run("print('later')").text == "later\n"


# -- deletion -------------------------------------------------------------------------------------


def test_deletion_takes_milliseconds(serve, rest):
    """The median of three, so that one hiccup of a busy machine does not decide. Kernels that are
    asked to leave take 0.2 s, and 2.6 s with children."""

    def delete_one():
        kernel_id = rest.start_kernel()
        with Channels(serve, kernel_id) as channels:
            channels.run("import subprocess\nchild = subprocess.Popen(['sleep', '1000'])")
            rest.await_state(kernel_id, "idle")
            begin = time.monotonic()
            rest.end_kernel(kernel_id)
            return time.monotonic() - begin

    assert statistics.median(delete_one() for _ in range(3)) < 1.0


# -- the client that cannot wait ------------------------------------------------------------------


def open_bare(serve, kernel_id):
    """An upgrade as GatewayKernelClient's: the token in the path, and no word on itself."""
    base = types.SimpleNamespace(token="", ws_url=f"{serve.ws_url}/t/{serve.token}")
    return Channels(base, kernel_id, header={})


def test_bare_upgrade_waits_for_the_kernel(serve, rest):
    """It gives a kernel one second after the upgrade, and 40 before it."""
    kernel_id = rest.start_kernel(name="slow")
    with open_bare(serve, kernel_id) as channels:
        assert rest.kernel(kernel_id)["execution_state"] == "idle"
        assert channels.kernel_info().content["status"] == "ok"
    rest.end_kernel(kernel_id)


def test_bare_upgrade_of_a_kernel_that_dies(serve, rest):
    """Refused with the reason, at its start and ever after."""
    kernel_id = rest.start_kernel(name="dies")
    for _ in range(2):
        with pytest.raises(websocket.WebSocketBadStatusException) as refusal:
            open_bare(serve, kernel_id)
        assert refusal.value.status_code == 500
        assert "no licence found" in json.loads(refusal.value.resp_body)["message"]
    rest.end_kernel(kernel_id)


def test_bare_upgrade_of_a_kernel_that_is_deleted_meanwhile(serve, rest):
    kernel_id = rest.start_kernel(name="never")
    with concurrent.futures.ThreadPoolExecutor() as pool:
        upgrade = pool.submit(open_bare, serve, kernel_id)
        rest.end_kernel(kernel_id)
        with pytest.raises(websocket.WebSocketBadStatusException) as refusal:
            upgrade.result()
    assert refusal.value.status_code == 404


def test_bare_upgrade_cut_while_it_waits(serve, rest):
    kernel_id = rest.start_kernel(name="slow")
    path = f"/t/{serve.token}/api/kernels/{kernel_id}/channels"
    head = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
    head += "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: MDEyMzQ1Njc4OWFiY2RlZg==\r\n\r\n"
    with socket.create_connection(("127.0.0.1", serve.port)) as connection:
        connection.sendall(head.encode())
    rest.await_state(kernel_id, "idle")
    with open_bare(serve, kernel_id) as channels:
        assert channels.run("print('on')").text == "on\n"
        assert rest.kernel(kernel_id)["connections"] == 1
    rest.end_kernel(kernel_id)
