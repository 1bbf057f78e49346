"""Restart, interrupt and DELETE at any moment and at the same time, from several clients: each is
answered with what the page says, nothing hangs, and what is left works. On the echo kernel, which
starts in milliseconds."""

import concurrent.futures
import itertools

import cellblock
import pytest
from channels import Channels, parent_of
from rest import check_error

FINE = {"restart": {200, 409}, "interrupt": {204, 409}}


@pytest.fixture(scope="module")
def serve():
    """However slow the machine is, deaths follow each other in a row."""
    with cellblock.Serve("--stable-start-ms=1h") as server:
        yield server


@pytest.fixture
def kernel(rest):
    """The id of an echo kernel of the test's own."""
    kernel_id = rest.start_kernel(name="echo")
    yield kernel_id
    rest.delete(f"/api/kernels/{kernel_id}")


@pytest.fixture(scope="module")
def pool():
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        yield pool


def act(rest, kernel_id, verb):
    return rest.post(f"/api/kernels/{kernel_id}/{verb}")


def check_works(serve, kernel_id, channels=None):
    """On this socket, or on a new one."""
    if channels:
        assert channels.run("echo works").text == "works"
    else:
        with Channels(serve, kernel_id) as channels:
            check_works(serve, kernel_id, channels)


def start_cell(channels):
    """The msg_id of a cell that runs until somebody ends it."""
    msg_id = channels.execute("print on\nsleep 86400000")
    channels.until_kind("stream", msg_id)
    return msg_id


# -- what is sent right after a restart -----------------------------------------------------------


@pytest.mark.parametrize("encoding", ["legacy", "v1"])
def test_requests_before_a_restart_is_answered(serve, rest, pool, kernel, encoding):
    """`starting` says that the old kernel's requests are over; the new one has not answered yet."""
    with Channels(serve, kernel, encoding) as channels:
        open_cell = start_cell(channels)
        restart = pool.submit(act, rest, kernel, "restart")
        channels.until(lambda m: m["content"].get("execution_state") == "starting")
        msg_ids = [channels.execute(f"echo {n}") for n in range(20)]
        answers = channels.answers(*msg_ids)
        assert [answer.text for answer in answers] == [str(n) for n in range(20)]
        replies = [parent_of(m) for m in channels.log if m["header"]["msg_type"] == "execute_reply"]
        assert replies == [open_cell, *msg_ids]
        assert [a.content["execution_count"] for a in answers] == list(range(1, 21))
        assert restart.result().status_code == 200


# -- restart of every state -----------------------------------------------------------------------


def test_restart_of_a_starting_kernel(serve, rest):
    for _ in range(5):
        kernel_id = rest.start_kernel(name="echo")
        assert act(rest, kernel_id, "restart").status_code == 200
        check_works(serve, kernel_id)
        rest.end_kernel(kernel_id)


def test_restart_of_a_busy_kernel(serve, rest, kernel):
    with Channels(serve, kernel) as channels:
        msg_id = start_cell(channels)
        assert rest.kernel(kernel)["execution_state"] == "busy"
        assert act(rest, kernel, "restart").status_code == 200
        assert channels.answer(msg_id).content["ename"] == "KernelRestarted"
        check_works(serve, kernel, channels)


@pytest.mark.parametrize("code", ["exit 3", "signal 9"])
def test_restart_of_a_dying_kernel(serve, rest, pool, kernel, code):
    """It may come before the end is seen, in the middle of it, or after it."""
    with Channels(serve, kernel) as channels:
        for _ in range(5):
            check_works(serve, kernel, channels)
            dying = channels.execute(code)
            assert act(rest, kernel, "restart").status_code == 200
            assert channels.answer(dying).content["status"] == "error"
            check_works(serve, kernel, channels)


# -- at the same time -----------------------------------------------------------------------------


def test_two_restarts_at_once(serve, rest, pool, kernel):
    with Channels(serve, kernel) as channels:
        for _ in range(5):
            msg_id = start_cell(channels)
            answers = [pool.submit(act, rest, kernel, "restart") for _ in range(2)]
            assert {answer.result().status_code for answer in answers} == {200}
            assert channels.answer(msg_id).content["ename"] == "KernelRestarted"
            check_works(serve, kernel, channels)


@pytest.mark.parametrize("order", ["".join(p) for p in itertools.product("ri", repeat=3)])
def test_interrupts_and_restarts_from_several_clients(serve, rest, pool, kernel, order):
    """r and i: who comes when, all of them under way at once."""
    verbs = [{"r": "restart", "i": "interrupt"}[letter] for letter in order]
    with Channels(serve, kernel) as channels, Channels(serve, kernel) as other:
        for _ in range(3):
            msg_ids = [start_cell(channels), *(channels.execute("echo q") for _ in range(3))]
            calls = [(verb, pool.submit(act, rest, kernel, verb)) for verb in verbs * 2]
            for verb, call in calls:
                assert call.result().status_code in FINE[verb], (verb, call.result().text)
            answers = channels.answers(*msg_ids)
            assert answers[0].content["status"] == "error"
            assert all(answer.states[-1] == "idle" for answer in answers)
            check_works(serve, kernel, channels)
            check_works(serve, kernel, other)
        assert rest.kernel(kernel)["execution_state"] in ("idle", "busy")


def test_interrupt_during_a_restart(serve, rest, pool):
    """There is nothing to interrupt: 409, and it comes to no harm."""
    kernel_id = rest.start_kernel(name="echo")
    response = act(rest, kernel_id, "interrupt")
    if response.status_code != 204:
        assert check_error(response, 409)["code"] == "kernel_pending"
    check_works(serve, kernel_id)
    rest.end_kernel(kernel_id)


def test_delete_during_a_restart(serve, rest, pool):
    """The restart says that there is no kernel any more, unless it was first."""
    for _ in range(10):
        kernel_id = rest.start_kernel(name="echo")
        with Channels(serve, kernel_id) as channels:
            msg_id = start_cell(channels)
            restart = pool.submit(act, rest, kernel_id, "restart")
            deletion = pool.submit(rest.delete, f"/api/kernels/{kernel_id}")
            assert deletion.result().status_code == 204
            assert restart.result().status_code in (200, 404), restart.result().text
            assert rest.get(f"/api/kernels/{kernel_id}").status_code == 404
            assert channels.answer(msg_id).content["status"] == "error"
            assert channels.close_code() == 1000


def test_deletes_at_once(serve, rest, pool):
    """One of them does it; who comes later finds nothing."""
    kernel_id = rest.start_kernel(name="echo")
    calls = [pool.submit(rest.delete, f"/api/kernels/{kernel_id}") for _ in range(4)]
    statuses = sorted(call.result().status_code for call in calls)
    assert statuses == [204, 404, 404, 404]


# -- close codes ----------------------------------------------------------------------------------


def test_only_a_deletion_closes_with_1000(serve, rest, kernel):
    """A socket stays through a death and a restart, even where the kernel stays dead."""
    with Channels(serve, kernel) as channels:
        channels.answer(channels.execute("signal 9"))
        check_works(serve, kernel, channels)
        assert act(rest, kernel, "restart").status_code == 200
        check_works(serve, kernel, channels)
        for _ in range(6):
            last = channels.run("signal 9").content["evalue"]
            channels.until(lambda m: m["content"].get("execution_state") in ("restarting", "dead"))
        assert "5 times in a row" in last
        assert channels.run("echo never").content["evalue"] == last
        rest.end_kernel(kernel)
        assert channels.close_code() == 1000


def test_a_shutdown_request_closes_with_1000(serve, rest, kernel):
    with Channels(serve, kernel) as channels:
        channels.send("shutdown_request", {"restart": False}, "control")
        assert channels.close_code() == 1000
    assert rest.get(f"/api/kernels/{kernel}").status_code == 404


def test_a_server_that_ends_closes_with_1012(start_serve):
    """What comes back may be another server on the same address: never 1000 or 1001."""
    from rest import Rest

    server = start_serve()
    kernel_id = Rest(server).start_kernel(name="echo")
    with Channels(server, kernel_id) as channels:
        check_works(server, kernel_id, channels)
        server.stop()
        assert channels.close_code() == 1012
