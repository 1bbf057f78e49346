"""Idle kernels end: which, when, and what those hear of it who are there.

No test here measures time. That a kernel goes on is seen by another one, the clock, which was idle
for a shorter time and is gone: one look judges all. And where a slow machine lets a kernel go
before the test has made of it what it is to be, the test begins again with twice the time."""

import contextlib
import json
import socket

import cellblock
import kernelspecs
import pytest
import websocket
from channels import PATIENCE_S, Channels, parent_of
from rest import Rest, check_error

TIMES_S = (1, 2, 4, 8, 16, 32)
INTERVAL = "--cull-interval-ms=50"


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The echo kernel, likewise with times of its own, and one that ends at once."""
    folder = tmp_path_factory.mktemp("kernels")
    argv = [str(cellblock.BUILD / "cellblock-echo"), "{connection_file}"]
    for name, metadata in {
        "echo": {},
        "brief": {"cull_idle_timeout": 1},
        "brief-ours": {"cull_idle_timeout": 7200, "cellblock": {"idle_s": 1}},
        "long": {"cull_idle_timeout": 7200},
        "too-long": {"cull_idle_timeout": 7201},
    }.items():
        kernelspecs.write_kernelspec(folder, name, argv, metadata=metadata)
    kernelspecs.write_kernelspec(folder, "dies", ["/bin/false"])
    return folder


@pytest.fixture(scope="module")
def serve(kernels):
    with cellblock.Serve(INTERVAL, "--max-cull-idle-timeout-ms=2h", kernels=kernels) as server:
        yield server


@pytest.fixture(scope="module")
def rest(serve):
    return Rest(serve)


def start(rest, idle_s=None, **body):
    parameters = {} if idle_s is None else {"cellblock": {"idle_s": idle_s}}
    return rest.start_kernel(**{"name": "echo", **parameters, **body})


def await_end(rest, kernel_id):
    cellblock.wait_until(
        lambda: kernel_id not in rest.kernel_ids(), PATIENCE_S, f"the end of {kernel_id}"
    )


def outlast(rest, idle_s):
    """Until every kernel has been judged that is idle since before now for idle_s."""
    await_end(rest, start(rest, idle_s))


def lines_on(serve, kernel_id):
    """What the gateway's log says of a kernel."""
    return [line for line in serve.log().splitlines() if kernel_id in line and "warden" not in line]


# -- the matrix -----------------------------------------------------------------------------------


def read_until(channels, *parts):
    """Reads up to a status of such a state and parent; False where the socket is closed."""
    while message := channels.receive():
        if (message["content"].get("execution_state"), parent_of(message)) == parts:
            return True
    return False


def begin(serve, rest, idle_s, is_busy):
    """A kernel's id and socket once it is busy, or idle after its first cell; None where it was
    culled sooner."""
    kernel_id = start(rest, idle_s)
    try:
        channels = Channels(serve, kernel_id)
    except websocket.WebSocketBadStatusException as error:
        assert error.status_code == 404
        return None
    msg_id = channels.execute("sleep 80000000" if is_busy else "1")
    return (
        (kernel_id, channels)
        if read_until(channels, "busy" if is_busy else "idle", msg_id)
        else None
    )


def begin_in_time(serve, rest, is_busy):
    """(idle_s, id, socket) of the first that was not culled sooner."""
    for idle_s in TIMES_S:
        begun = begin(serve, rest, idle_s, is_busy)
        if begun:
            return idle_s, *begun
    raise AssertionError(f"not even {TIMES_S[-1]} s are enough to begin")


class Scene:
    """Four kernels of one server, by (is_busy, is_connected), and which are left when a clock that
    began last is gone."""

    def __init__(self, serve):
        self.serve, self.rest = serve, Rest(serve)
        self.ids, self.sockets, times_s = {}, {}, set()
        for key in [(busy, connected) for busy in (False, True) for connected in (False, True)]:
            idle_s, self.ids[key], self.sockets[key] = begin_in_time(serve, self.rest, key[0])
            times_s.add(idle_s)
            if not key[1]:
                self.sockets[key].close()
        outlast(self.rest, max(times_s))
        left = self.rest.kernel_ids()
        self.left = {key for key, kernel_id in self.ids.items() if kernel_id in left}


@pytest.fixture(scope="module")
def scene(request, kernels):
    connected, busy = request.param
    arguments = [INTERVAL, *(["--cull-connected"] * connected), *(["--cull-busy"] * busy)]
    with cellblock.Serve(*arguments, "--cull-idle-timeout-ms=300", kernels=kernels) as server:
        yield Scene(server)


SERVERS = [(False, False), (True, False), (False, True), (True, True)]


@pytest.mark.parametrize("is_connected", [False, True], ids=["alone", "connected"])
@pytest.mark.parametrize("is_busy", [False, True], ids=["idle", "busy"])
@pytest.mark.parametrize(
    "scene", SERVERS, indirect=True, ids=["neither", "cull_connected", "cull_busy", "both"]
)
def test_matrix(request, scene, is_busy, is_connected):
    cull_connected, cull_busy = request.node.callspec.params["scene"]
    is_culled = (cull_busy or not is_busy) and (cull_connected or not is_connected)
    key = (is_busy, is_connected)
    assert (key in scene.left) != is_culled
    lines = lines_on(scene.serve, scene.ids[key])
    assert len(lines) == is_culled and all("the kernel was idle for" in line for line in lines)
    if is_connected and not is_culled:
        assert scene.sockets[key].socket.connected


@pytest.mark.parametrize("scene", SERVERS[-1:], indirect=True, ids=["both"])
def test_what_is_open_ends_with_the_reason(scene):
    channels = scene.sockets[(True, True)]
    (msg_id,) = {parent_of(message) for message in channels.log if parent_of(message)}
    channels.log.clear()
    while channels.receive():
        pass
    ends = [message for message in channels.log if parent_of(message) == msg_id]
    kinds = [message["header"]["msg_type"] for message in ends]
    assert kinds[-3:] == ["error", "execute_reply", "status"]
    error, reply, status = ends[-3:]
    assert error["content"]["ename"] == reply["content"]["ename"] == "KernelEvicted"
    assert (
        "idle for" in reply["content"]["evalue"] and "idle_s allows" in reply["content"]["evalue"]
    )
    assert reply["content"]["status"] == "error"
    assert reply["metadata"]["cellblock"]["reason"] == "evicted"
    assert status["content"]["execution_state"] == "idle"


@pytest.mark.parametrize("scene", SERVERS[-1:], indirect=True, ids=["both"])
def test_sockets_are_closed_for_good(scene):
    assert scene.sockets[(False, True)].close_code() == 1000
    answer = check_error(scene.rest.get(f"/api/kernels/{scene.ids[(False, True)]}"), 404)
    assert answer["code"] == "kernel_not_found"


@pytest.mark.parametrize("scene", SERVERS[-1:], indirect=True, ids=["both"])
def test_a_kernelspec_may_allow_more(scene):
    kernel_id = start(scene.rest, name="long")
    await_end(scene.rest, start(scene.rest))
    assert scene.rest.kernel(kernel_id)["cellblock"]["idle_s"] == 7200
    scene.rest.end_kernel(kernel_id)


# -- who says how long ----------------------------------------------------------------------------

BRIEF = {
    "kernelspec, Jupyter's key": {"name": "brief"},
    "kernelspec, ours": {"name": "brief-ours"},
    "variable": {"env": {"KERNEL_CELLBLOCK": json.dumps({"idle_s": 1})}, "name": "long"},
    "member": {"cellblock": {"idle_s": 1}, "name": "long"},
}


@pytest.mark.parametrize("place", BRIEF)
def test_who_says_how_long(rest, place):
    kernel_id, other = start(rest, **BRIEF[place]), start(rest)
    await_end(rest, kernel_id)
    assert rest.kernel(other)["cellblock"]["idle_s"] == 3600
    rest.end_kernel(other)


def test_the_maximum_may_be_asked_for_and_no_more(rest):
    kernel_id = start(rest, 7200)
    assert rest.kernel(kernel_id)["cellblock"]["idle_s"] == 7200
    rest.end_kernel(kernel_id)
    body = {"name": "echo", "cellblock": {"idle_s": 7200.5}}
    answer = check_error(rest.post("/api/kernels", json=body), 400)
    assert answer["code"] == "out_of_range"
    assert "7200.5 is more than 7200, which max_cull_idle_timeout_ms allows" in answer["message"]


def test_a_kernelspec_that_says_more_is_left_out(serve, rest):
    assert "too-long" not in rest.get("/api/kernelspecs").json()["kernelspecs"]
    assert "kernelspec too-long: metadata: /cull_idle_timeout: 7201 is more than" in serve.log()


def test_for_ever_is_until_it_dies(start_serve, kernels):
    """Without a time of its own a kernel stays; a dead one never does."""
    rest = Rest(start_serve(INTERVAL, "--cull-idle-timeout-ms=0", kernels=kernels))
    kernel_id = start(rest)
    outlast(rest, 1)
    await_end(rest, start(rest, name="dies"))
    assert "idle_s" not in rest.kernel(kernel_id)["cellblock"]


# -- dead kernels ---------------------------------------------------------------------------------


def test_a_dead_kernel_is_seen_and_then_culled(start_serve, kernels):
    """Somebody's open socket does not keep it. Its reason can be read for an interval at least."""
    serve = start_serve("--cull-interval-ms=2s", kernels=kernels)
    rest = Rest(serve)
    kernel_id = start(rest, name="dies")
    with Channels(serve, kernel_id) as channels:
        channels.until(lambda message: message["content"].get("execution_state") == "dead")
        assert channels.close_code() == 1000
    assert kernel_id not in rest.kernel_ids()
    died, culled = lines_on(serve, kernel_id)
    assert "the kernel was dead: the kernel left by itself with exit status 1" in culled


# -- what counts ----------------------------------------------------------------------------------


@pytest.mark.parametrize("scene", SERVERS[-1:], indirect=True, ids=["both"])
def test_connecting_is_no_activity(scene):
    """Nor is what a page sends by itself: it would keep its kernel for ever."""
    idle_s, kernel_id, first = begin_in_time(scene.serve, scene.rest, is_busy=False)
    first.close()
    clock = start(scene.rest, idle_s)
    while clock in scene.rest.kernel_ids():
        with contextlib.suppress(websocket.WebSocketBadStatusException):
            with Channels(scene.serve, kernel_id) as channels:
                read_until(channels, "idle", channels.send("kernel_info_request", {}))
    assert kernel_id not in scene.rest.kernel_ids()


CONTENT = {
    "execute_request": {"code": "1", "silent": True},
    "complete_request": {"code": "ec", "cursor_pos": 2},
    "inspect_request": {"code": "echo", "cursor_pos": 2, "detail_level": 0},
    "is_complete_request": {"code": "1"},
    "history_request": {"hist_access_type": "tail", "n": 1, "raw": True, "output": False},
    "comm_open": {"comm_id": "c", "target_name": "t", "data": {}},
    "kernel_info_request": {},
    "comm_info_request": {},
}
IS_NONE = {"kernel_info_request", "comm_info_request"}


@pytest.fixture(scope="module")
def looked_at(serve, rest):
    """A kernel's id and its socket."""
    kernel_id = start(rest)
    with Channels(serve, kernel_id) as channels:
        channels.run("1")
        yield kernel_id, channels
    rest.end_kernel(kernel_id)


@pytest.mark.parametrize("kind", CONTENT)
def test_what_is_activity(rest, looked_at, kind):
    kernel_id, channels = looked_at
    before = rest.kernel(kernel_id)["last_activity"]
    msg_id = channels.send(kind, CONTENT[kind])
    assert read_until(channels, "idle", msg_id)
    after = rest.kernel(kernel_id)["last_activity"]
    assert (after == before) if kind in IS_NONE else (after > before)


@pytest.mark.parametrize("what, is_activity", [("interrupt", False), ("restart", True)])
def test_what_is_activity_by_rest(rest, looked_at, what, is_activity):
    kernel_id, _ = looked_at
    before = rest.kernel(kernel_id)["last_activity"]
    assert rest.post(f"/api/kernels/{kernel_id}/{what}").status_code in (200, 204)
    assert (rest.kernel(kernel_id)["last_activity"] > before) == is_activity


# -- kernels that nobody knows of -----------------------------------------------------------------


def test_a_kernel_whose_client_left_in_the_middle_of_its_post(serve, rest):
    """It was made all the same: it is listed, and it is culled."""
    body = json.dumps({"name": "echo", "cellblock": {"idle_s": 1, "labels": {"lost": "yes"}}})
    head = f"POST /t/{serve.token}/api/kernels HTTP/1.1\r\nHost: x\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    before = serve.log().count("the kernel was idle for")
    with socket.create_connection(("127.0.0.1", serve.port)) as connection:
        connection.sendall((head + body).encode())

    def is_culled():
        return serve.log().count("the kernel was idle for") > before

    cellblock.wait_until(is_culled, PATIENCE_S, "the end of a kernel that nobody knows of")
    assert [
        model for model in rest.get("/api/kernels").json() if model["cellblock"]["labels"]
    ] == []


def test_a_session_goes_with_its_kernel(rest):
    body = {"path": "a.ipynb", "type": "notebook", "kernel": {"name": "brief"}}
    session = rest.post("/api/sessions", json=body).json()
    await_end(rest, session["kernel"]["id"])
    assert session["id"] not in [found["id"] for found in rest.get("/api/sessions").json()]
