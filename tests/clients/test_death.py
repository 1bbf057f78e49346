"""Every accepted execute ends: when its kernel is killed, leaves by itself, never starts, is
restarted or deleted. nbclient reads the reply, smolagents and AutoGen read iopub alone, so both
say it, and before any status that makes clients give up what is open."""

import statistics
import time

import cellblock
import pytest
from channels import PATIENCE_S, Channels, end_of, parent_of
from rest import Rest, check_error

BLOCK = "input()"
# Waits for a word first: what a kernel says right before SIGKILL may never leave it.
KILL = "import os, signal\ninput()\nos.kill(os.getpid(), signal.{})"


def check_ended(answer, *words):
    """iopub error, then the reply with status error, then iopub idle; each word in the reason."""
    last = answer.messages[-3:]
    kinds = [(m["channel"], m["header"]["msg_type"]) for m in last]
    assert kinds == [("iopub", "error"), ("shell", "execute_reply"), ("iopub", "status")]
    error, reply, idle = (m["content"] for m in last)
    assert reply["status"] == "error"
    assert idle["execution_state"] == "idle"
    for content in (error, reply):
        assert isinstance(content["ename"], str) and isinstance(content["traceback"], list)
        assert content["evalue"] == reply["evalue"]
        for word in words:
            assert word in f"{content['ename']}: {content['evalue']}", content


def check_ends_precede_restarting(channels, *msg_ids):
    """@jupyterlab/services cancels what is open when it hears `restarting`."""
    states = [m["content"].get("execution_state") for m in channels.log]
    if "restarting" not in states:
        return
    after = channels.log[states.index("restarting") :]
    assert not [m for m in after if parent_of(m) in msg_ids and end_of(m)]


def send_kill(channels, signal="SIGKILL"):
    """The msg_id of a cell that kills its kernel as soon as go_ahead is called."""
    msg_id = channels.execute(KILL.format(signal), allow_stdin=True)
    channels.until_kind("input_request", msg_id)
    return msg_id


def go_ahead(channels):
    channels.send("input_reply", {"value": ""}, "stdin")


def kill(channels):
    msg_id = send_kill(channels)
    go_ahead(channels)
    return channels.answer(msg_id)


def kill_once(serve, rest, signal):
    """Seconds from the word to the cell's end."""
    kernel_id = rest.start_kernel()
    with Channels(serve, kernel_id) as channels:
        channels.run("1")
        msg_id = send_kill(channels, signal)
        begin = time.monotonic()
        go_ahead(channels)
        answer = channels.answer(msg_id)
        seconds = time.monotonic() - begin
        response = rest.get(f"/api/kernels/{kernel_id}")
        check_ended(answer, signal)
        assert response.status_code == 404 or response.json()["execution_state"] != "busy"
        check_ends_precede_restarting(channels, msg_id)
    rest.delete(f"/api/kernels/{kernel_id}")
    return seconds


def test_kill_in_a_cell(serve, rest):
    """The median of three, so that one hiccup of a busy machine does not decide."""
    assert statistics.median(kill_once(serve, rest, "SIGKILL") for _ in range(3)) < 1.0


@pytest.mark.parametrize("signal", ["SIGSEGV", "SIGABRT", "SIGTERM"])
def test_other_signals_are_named(serve, rest, signal):
    kill_once(serve, rest, signal)


@pytest.mark.parametrize("encoding", ["legacy", "v1"])
def test_queued_cells_end_with_the_kernel(serve, rest, own_kernel_id, encoding):
    with Channels(serve, own_kernel_id, encoding) as channels:
        channels.run("1")
        dying = send_kill(channels)
        queued = [channels.execute(f"print({n})") for n in range(3)]
        go_ahead(channels)
        for answer in channels.answers(dying, *queued):
            check_ended(answer, "SIGKILL")
        check_ends_precede_restarting(channels, dying, *queued)


def test_a_client_without_a_part_in_it_hears_the_end(serve, rest, own_kernel_id):
    with Channels(serve, own_kernel_id) as runner, Channels(serve, own_kernel_id) as watcher:
        watcher.run("1")
        answer = kill(runner)
        check_ended(answer, "SIGKILL")
        error = watcher.until_kind("error", parent_of(answer.reply))
        assert "SIGKILL" in error["content"]["ename"] + error["content"]["evalue"]


def test_death_of_an_idle_kernel_is_told(serve, rest, own_kernel_id):
    code = "import os, threading\nthreading.Timer(1, os.kill, (os.getpid(), 9)).start()"
    with Channels(serve, own_kernel_id) as channels:
        assert channels.run(code).content["status"] == "ok"
        status = channels.until(
            lambda m: m["content"].get("execution_state") in ("dead", "restarting")
        )
        assert rest.kernel(own_kernel_id)["execution_state"] not in ("busy", "idle")
        assert status["channel"] == "iopub"


def await_status(channels, state):
    """The gateway's own: it has no parent that is known."""
    channels.until(lambda m: m["content"].get("execution_state") == state and not parent_of(m))


def test_a_killed_kernel_is_started_again(serve, rest, own_kernel_id):
    """In place: the id and the files stay, and the socket that was open goes on."""
    with Channels(serve, own_kernel_id) as channels:
        channels.run("kept = 1\nopen('kept.txt', 'w').write('still here')")
        dying = kill(channels).reply
        await_status(channels, "restarting")
        await_status(channels, "idle")
        code = "print('kept' in globals(), open('kept.txt').read())"
        assert channels.run(code).text == "False still here\n"
        check_ends_precede_restarting(channels, parent_of(dying))
        assert "SIGKILL" in rest.kernel(own_kernel_id)["reason"]


def test_cells_sent_while_it_is_started_again(serve, rest, own_kernel_id):
    """They wait for the new kernel, which answers them in order."""
    with Channels(serve, own_kernel_id) as channels:
        channels.run("1")
        kill(channels)
        await_status(channels, "restarting")
        code = "n = globals().get('n', 0) + 1; print({}, n)"
        msg_ids = [channels.execute(code.format(n)) for n in range(3)]
        answers = channels.answers(*msg_ids)
        assert [answer.text for answer in answers] == ["0 1\n", "1 2\n", "2 3\n"]


def test_restarts_have_a_limit(start_serve, kernels):
    """What comes after the last one ends at once, with the reason; a restart forgives."""
    server = start_serve("--restart-limit=2", "--stable-start-ms=1h", kernels=kernels)
    rest = Rest(server)
    kernel_id = rest.start_kernel()
    with Channels(server, kernel_id) as channels:
        for _ in range(2):
            kill(channels)
            await_status(channels, "restarting")
            await_status(channels, "idle")
        kill(channels)
        await_status(channels, "dead")
        check_ended(channels.run("2"), "SIGKILL", "2 times in a row", "restart_limit")
        model = rest.kernel(kernel_id)
        assert model["execution_state"] == "dead"
        assert "SIGKILL" in model["reason"] and "restart_limit" in model["reason"]
        assert rest.post(f"/api/kernels/{kernel_id}/restart").status_code == 200
        assert "reason" not in rest.kernel(kernel_id)
        kill(channels)
        await_status(channels, "restarting")
        assert channels.run("print('again')").text == "again\n"


def test_a_new_start_that_fails_is_the_last(serve, rest, own_kernel_id):
    """No loop: what stopped it would stop it again."""
    startup = "~/.ipython/profile_default/startup"
    code = (
        "import os\n"
        f"folder = os.path.expanduser('{startup}')\n"
        "os.makedirs(folder, exist_ok=True)\n"
        "open(f'{folder}/0.py', 'w').write('import os\\nos._exit(5)')\n"
    )
    with Channels(serve, own_kernel_id) as channels:
        assert channels.run(code).content["status"] == "ok"
        kill(channels)
        await_status(channels, "dead")
        check_ended(channels.run("2"), "exit status 5")
    response = rest.post(f"/api/kernels/{own_kernel_id}/restart")
    assert check_error(response, 500)["code"] == "restart_failed"
    assert "exit status 5" in response.json()["message"]


def test_exit_in_a_cell(serve, rest, own_kernel_id):
    with Channels(serve, own_kernel_id) as channels:
        channels.run("1")
        msg_id = channels.execute("import os\nos._exit(3)")
        check_ended(channels.answer(msg_id), "3")


def test_exit_as_users_write_it(serve, rest, own_kernel_id):
    """The cell is answered, then the kernel leaves, and is started again, once."""
    with Channels(serve, own_kernel_id) as channels:
        assert channels.run("left = 1\nexit()").content["status"] == "ok"
        await_status(channels, "restarting")
        assert channels.run("'left' in globals()").text == "False"
        assert "exit status 0" in rest.kernel(own_kernel_id)["reason"]
        states = [m["content"].get("execution_state") for m in channels.log]
        assert states.count("restarting") == 1


@pytest.mark.parametrize("restart", [False, True])
def test_shutdown_request(serve, rest, own_kernel_id, restart):
    """jupyter-kernel-client shuts a kernel down so and polls until it is gone."""
    with Channels(serve, own_kernel_id) as channels:
        channels.run("kept = 1")
        msg_id = channels.send("shutdown_request", {"restart": restart}, "control")
        reply = channels.until(lambda m: m["channel"] == "control" and parent_of(m) == msg_id)
        assert reply["content"]["restart"] is restart
    path = f"/api/kernels/{own_kernel_id}"
    if not restart:
        cellblock.wait_until(lambda: rest.get(path).status_code == 404, PATIENCE_S, "404")
        return
    with Channels(serve, own_kernel_id) as channels:
        wanted = "print('anew' if 'kept' not in globals() else 'old')"
        cellblock.wait_until(
            lambda: channels.run(wanted).text == "anew\n", PATIENCE_S, "a new kernel"
        )


def test_restart_ends_four_cells(serve, rest, own_kernel_id):
    with Channels(serve, own_kernel_id) as channels:
        channels.run("1")
        running = channels.execute(BLOCK, allow_stdin=True)
        channels.until_kind("input_request", running)
        queued = [channels.execute(f"print({n})") for n in range(3)]
        # A later request's answer says that the gateway has read the earlier ones.
        channels.kernel_info("control")
        response = rest.post(f"/api/kernels/{own_kernel_id}/restart")
        assert response.status_code == 200
        for answer in channels.answers(running, *queued):
            check_ended(answer, "restarted")
        check_ends_precede_restarting(channels, running, *queued)
        assert channels.run("print('anew')").text == "anew\n"


def test_delete_ends_the_open_cell(serve, rest, own_kernel_id):
    with Channels(serve, own_kernel_id) as channels:
        channels.run("1")
        msg_id = channels.execute(BLOCK, allow_stdin=True)
        channels.until_kind("input_request", msg_id)
        rest.end_kernel(own_kernel_id)
        check_ended(channels.answer(msg_id), "deleted")
        assert channels.close_code() == 1000


def test_kernel_that_dies_at_its_start(serve, rest):
    """Its last words are the reason."""
    kernel_id = rest.start_kernel(name="dies")
    with Channels(serve, kernel_id) as channels:
        check_ended(channels.answer(channels.execute("1")), "no licence found")
    rest.delete(f"/api/kernels/{kernel_id}")
    check_error(rest.get(f"/api/kernels/{kernel_id}"), 404)


def test_kernel_that_never_starts(serve, rest):
    kernel_id = rest.start_kernel(name="never", env={"KERNEL_LAUNCH_TIMEOUT": "3"})
    with Channels(serve, kernel_id) as channels:
        answer = channels.answer(channels.execute("1"))
        check_ended(answer)
    rest.delete(f"/api/kernels/{kernel_id}")


def test_a_restart_beside_the_new_start(serve, rest, own_kernel_id):
    """Both are one: the kernel answers, and the socket stays."""
    with Channels(serve, own_kernel_id) as channels:
        channels.run("1")
        kill(channels)
        assert rest.post(f"/api/kernels/{own_kernel_id}/restart").status_code == 200
        assert channels.run("print('again')").text == "again\n"
