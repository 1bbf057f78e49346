"""The gateway killed in the middle, and the server told to end in the middle."""

import os
import signal
import threading

import cellblock
import pytest
import reports
import rude

KERNELS = 20


def pids_of_users(first, count):
    """Processes of the user ids that nobody else uses."""
    found = set()
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and first <= os.stat(f"/proc/{entry}").st_uid < first + count:
                found.add(int(entry))
        except FileNotFoundError:
            pass
    return found


def begin_much(serve, executes=5):
    """Kernels in every state of a start, each with a client that has cells open and waiting."""
    clients = []
    for _ in range(KERNELS):
        client = rude.Rude(serve, rude.start(serve))
        for _ in range(executes):
            client.execute("daemon 60000\nsleep 60000")
        clients.append(client)
    client = rude.Rude(serve, rude.start(serve))
    assert client.run("ready")["status"] == "ok"
    client.execute("daemon 60000\nsleep 60000")
    return [*clients, client]


def kill(pid):
    """Ends a gateway, and says that it was the test. A young one may not have said yet that it is
    there, but a dead one says nothing more."""
    os.kill(pid, signal.SIGKILL)
    cellblock.wait_until(lambda: not os.path.exists(f"/proc/{pid}"), rude.PATIENCE_S, "its end")
    reports.note_killed(cellblock.REPORTS, "gateway", pid=pid)


def kill_gateway(serve):
    pid = serve.gateway_pid
    kill(pid)
    return pid


def accepted_wire(serve):
    """A connection that the gateway of this moment has accepted: one that still waits in the
    listening socket outlives it, and the next gateway takes it."""
    wire = rude.Wire(serve)
    assert wire.ask("GET", "/api")[0] == 200
    return wire


def test_a_killed_gateway(start_serve, kernels):
    """Clients see their connections end, every jail goes, and the next one answers on the port."""
    serve = start_serve("--uid-base", "310000", kernels=kernels)
    clients = begin_much(serve)
    wires = [accepted_wire(serve) for _ in range(10)]
    killed = kill_gateway(serve)
    for wire in (*clients, *wires):
        assert wire.is_gone()
        wire.close()
    assert rude.kernel_ids(serve) == set(), "asked before the next one listens: it waits"
    assert serve.gateway_pid != killed
    assert pids_of_users(310000, 4096) == {serve.gateway_pid}
    client = rude.Rude(serve, rude.start(serve))
    assert client.run("echo again")["status"] == "ok"
    client.close()


def test_a_connection_that_waits_outlives_the_gateway(start_serve, kernels):
    """It is in the warden's listening socket: the next gateway accepts and answers it."""
    serve = start_serve("--uid-base", "310000", kernels=kernels)
    os.kill(serve.gateway_pid, signal.SIGSTOP)
    waiting = rude.Wire(serve)
    kill_gateway(serve)
    assert waiting.ask("GET", "/api")[0] == 200
    waiting.close()


def wait_for_more(statuses):
    wanted = len(statuses) + 8
    cellblock.wait_until(lambda: len(statuses) >= wanted, rude.PATIENCE_S, "8 more answers")


def test_a_gateway_killed_while_many_ask(start_serve, kernels):
    """Requests at the moment of its death are answered, by the old one or the next, or end in a
    closed connection; never in anything else."""
    serve = start_serve("--uid-base", "310000", "--max-kernels", "9", kernels=kernels)
    statuses, stop = [], threading.Event()

    def ask():
        while not stop.is_set():
            try:
                with rude.Wire(serve) as wire:
                    statuses.append(wire.ask("POST", "/api/kernels", {"name": "echo"})[0])
            except (rude.Gone, ConnectionError):
                statuses.append(None)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        wait_for_more(statuses)
        kill_gateway(serve)
    stop.set()
    for thread in threads:
        thread.join()
    assert set(statuses) <= {201, 403, None}
    for kernel_id in rude.kernel_ids(serve):
        rude.end(serve, kernel_id)
    assert pids_of_users(310000, 4096) == {serve.gateway_pid}


def check_nothing_is_left(serve, number):
    clients = begin_much(serve)
    serve.stop(number)  # holds: status 0, no process, mount, cgroup, socket or file of it
    assert pids_of_users(310000, 4096) == set()
    for client in clients:
        assert client.close_code()[0] in (1012, None)
        client.close()


def test_sigterm_in_the_middle(start_serve, kernels):
    check_nothing_is_left(start_serve("--uid-base", "310000", kernels=kernels), signal.SIGTERM)


def test_sigint_in_the_middle(start_serve, kernels):
    check_nothing_is_left(start_serve("--uid-base", "310000", kernels=kernels), signal.SIGINT)


def test_many_signals_at_once(start_serve, kernels):
    serve = start_serve("--uid-base", "310000", kernels=kernels)
    begin_much(serve, executes=1)
    for number in (signal.SIGHUP, signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGHUP):
        serve.process.send_signal(number)
    serve.stop()
    assert pids_of_users(310000, 4096) == set()


def test_sigterm_while_the_gateway_is_dead(start_serve, kernels):
    serve = start_serve("--uid-base", "310000", kernels=kernels)
    begin_much(serve, executes=1)
    kill_gateway(serve)
    serve.stop()
    assert pids_of_users(310000, 4096) == set()


def gateways(serve):
    program = str(cellblock.BUILD / "cellblock-gateway")
    below = cellblock.descendants(serve.pid)
    return {pid for pid in below if cellblock.read_link(f"/proc/{pid}/exe") == program}


def test_a_gateway_that_dies_again_and_again(kernels):
    """It is given up, loudly; nothing is left then either."""
    serve = cellblock.Serve("--uid-base", "310000", kernels=kernels)
    killed = set()

    def has_ended():
        for pid in gateways(serve) - killed:
            kill(pid)
            killed.add(pid)
        return serve.process.poll() is not None

    cellblock.wait_until(has_ended, rude.PATIENCE_S, "the server gives up")
    with pytest.raises(AssertionError, match="serve ended with 1:(.|\n)*died too often"):
        serve.stop()
    assert len(killed) == 5
    assert pids_of_users(310000, 4096) == set()
