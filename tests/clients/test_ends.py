"""What is left when a kernel, the server, the gateway or the warden ends: nothing. Looked for from
outside the jails, by what was there before."""

import contextlib
import json
import os
import pathlib
import signal
import socket
import threading
import time
import types

import cellblock
import peer
import pytest
import reports
import requests
from channels import PATIENCE_S, Channels
from rest import Rest

# A child in a session of its own, which no signal to the kernel's group reaches.
DAEMON = (
    "import subprocess\n"
    "child = subprocess.Popen(['setsid', 'sleep', '{number}'])\n"
    "other = subprocess.Popen(['sh', '-c', 'trap \"\" TERM INT HUP; sleep {number} & wait'])\n"
    "import os\n"
    "print(os.listdir('/proc/self/fd') and 'started')"
)
NUMBERS = iter(range(1_000_000 + os.getpid() % 100_000, 2_000_000))


def processes_that_say(word):
    """Pids whose command line has the word."""
    found = set()
    for entry in pathlib.Path("/proc").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, NotADirectoryError):
            if entry.name.isdigit() and word in (entry / "cmdline").read_text().split("\0"):
                found.add(int(entry.name))
    return found


def cgroups_of(pids):
    """Folders of the cgroups that these processes are in and the tests are not."""

    def read(pid):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            lines = pathlib.Path(f"/proc/{pid}/cgroup").read_text().splitlines()
            return {tuple(line.split(":", 2)[1:]) for line in lines}
        return set()

    below = set().union(*map(read, pids)) - read(os.getpid())
    tops = [pathlib.Path("/sys/fs/cgroup") / names for names, _ in below]
    folders = {top / path.lstrip("/") for top, (_, path) in zip(tops, below, strict=True)}
    return {folder for folder in folders if folder.is_dir()}


class Lives:
    """The processes below a server, each held by a pidfd: a number may be used again, what a pidfd
    names may not."""

    def __init__(self, server, but=()):
        self.pids = cellblock.descendants(server.pid) - set(but)
        self.cgroups = cgroups_of(self.pids)
        self.pidfds = {}
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                self.pidfds[pid] = os.pidfd_open(pid)

    def living(self):
        alive = []
        for pid, pidfd in self.pidfds.items():
            with contextlib.suppress(ProcessLookupError):
                signal.pidfd_send_signal(pidfd, 0)
                alive.append(cellblock.describe(pid))
        return alive

    def check_gone(self):
        assert self.pidfds
        assert self.living() == []
        assert [folder for folder in self.cgroups if folder.exists()] == []

    def close(self):
        for pidfd in self.pidfds.values():
            os.close(pidfd)


@contextlib.contextmanager
def lives_in(server):
    """Those in its jails."""
    lives = Lives(server, but=[server.gateway_pid])
    try:
        yield lives
    finally:
        lives.close()


def start_daemon(serve, kernel_id):
    """Runs the cell; the number that its children's command lines hold."""
    number = str(next(NUMBERS))
    with Channels(serve, kernel_id) as channels:
        assert channels.run(DAEMON.format(number=number)).text == "started\n"
    cellblock.wait_until(
        lambda: len(processes_that_say(number)) >= 2, PATIENCE_S, "the children of the cell"
    )
    return number


# -- a kernel -------------------------------------------------------------------------------------


def use_and_delete(serve, rest):
    """A kernel's whole life; the descriptors that warden and gateway then hold."""
    kernel_id = rest.start_kernel()
    number = start_daemon(serve, kernel_id)
    with lives_in(serve) as lives:
        rest.end_kernel(kernel_id)
        assert processes_that_say(number) == set()
        lives.check_gone()
    return {pid: len(os.listdir(f"/proc/{pid}/fd")) for pid in (serve.pid, serve.gateway_pid)}


def test_delete_leaves_nothing(serve, rest):
    """Not a process, not a cgroup, and no descriptor: ZeroMQ makes some at its first use."""
    first = use_and_delete(serve, rest)
    for _ in range(3):
        last = use_and_delete(serve, rest)
    # Requests' own connections come and go.
    assert all(last[pid] <= first[pid] + 2 for pid in first)


def test_delete_during_a_cell_leaves_nothing(serve, rest):
    kernel_id = rest.start_kernel()
    number = start_daemon(serve, kernel_id)
    with Channels(serve, kernel_id) as channels, lives_in(serve) as lives:
        channels.until_kind("stream", channels.execute("print('on', flush=True)\nwhile True: pass"))
        rest.end_kernel(kernel_id)
        assert processes_that_say(number) == set()
        lives.check_gone()


def test_restart_leaves_no_child(serve, rest, own_kernel_id):
    number = start_daemon(serve, own_kernel_id)
    with lives_in(serve) as lives:
        assert rest.post(f"/api/kernels/{own_kernel_id}/restart").status_code == 200
        assert processes_that_say(number) == set()
        assert lives.living() == []


def test_death_leaves_no_child(serve, rest, own_kernel_id):
    """The jail stays for the new kernel, its processes do not."""
    number = start_daemon(serve, own_kernel_id)
    with Channels(serve, own_kernel_id) as channels, lives_in(serve) as lives:
        channels.run("import os\nos.kill(os.getpid(), 9)")
        assert processes_that_say(number) == set()
        assert lives.living() == []


def test_many_deaths_leave_no_zombie(serve, rest):
    before = cellblock.descendants(serve.pid)
    kernel_ids = [rest.start_kernel() for _ in range(5)]
    for kernel_id in kernel_ids:
        with Channels(serve, kernel_id) as channels:
            channels.run("import os\nos.fork() or os._exit(0)\nos.kill(os.getpid(), 9)")
        rest.end_kernel(kernel_id)
    assert cellblock.descendants(serve.pid) == before


# -- the server -----------------------------------------------------------------------------------


def start_three(server):
    """An idle kernel with children, one that is busy, and one that is starting: a socket to the
    busy one."""
    rest = Rest(server)
    start_daemon(server, rest.start_kernel())
    busy = Channels(server, rest.start_kernel())
    busy.until_kind("stream", busy.execute("print('on', flush=True)\nwhile True: pass"))
    rest.start_kernel(name="slow")
    return busy


def note_killed(program, **which):
    """Its silence is not to be taken for a crash."""
    if cellblock.REPORTS.is_dir():
        reports.note_killed(cellblock.REPORTS, program, **which)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_stop_leaves_nothing(start_serve, kernels, number):
    """stop itself looks for mounts, cgroups, folders and orphans."""
    server = start_serve(kernels=kernels)
    busy = start_three(server)
    with lives_in(server) as lives:
        server.stop(number)
        lives.check_gone()
    busy.cut()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", server.port)).close()


def left_of(server):
    """Processes that this server left to us, its session's and those in jails."""
    others = set(cellblock.Serve.running)
    others |= {pid for other in others for pid in cellblock.descendants(other)}
    mine = cellblock.descendants(os.getpid()) - others
    return [pid for pid in mine if cellblock.is_ours(pid, server.pid)]


def reap_orphans():
    """Whoever lost its parent is a child of the tests now."""
    for pid in cellblock.descendants(os.getpid()) - cellblock.Serve.running:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def test_a_killed_warden_takes_everything_along(start_serve, kernels):
    server = start_serve(kernels=kernels)
    busy = start_three(server)
    kernel_ids = Rest(server).kernel_ids()
    lives = Lives(server)
    server.process.kill()
    server.returncode = server.process.wait()
    cellblock.Serve.running.discard(server.pid)

    def is_over():
        reap_orphans()
        return not lives.living() and not left_of(server)

    cellblock.wait_until(is_over, PATIENCE_S, "nothing left")
    lives.close()
    busy.cut()
    note_killed("warden", pid=server.pid)
    for kernel_id in kernel_ids:
        note_killed("init", tag=kernel_id)


def test_a_killed_gateway_is_replaced(start_serve, kernels):
    """Its kernels end with it; the same address answers again."""
    server = start_serve(kernels=kernels)
    busy = start_three(server)
    old = server.gateway_pid
    with lives_in(server) as lives:
        os.kill(old, signal.SIGKILL)
        cellblock.wait_until(lambda: not lives.living(), PATIENCE_S, "the jails gone")
        lives.check_gone()
    note_killed("gateway", pid=old)
    busy.cut()
    rest = Rest(server)

    def answers():
        with contextlib.suppress(requests.ConnectionError):
            return rest.get("/api/kernels").json() == []
        return False

    cellblock.wait_until(answers, PATIENCE_S, "an answer of the new gateway")
    assert server.gateway_pid != old
    kernel_id = rest.start_kernel()
    with Channels(server, kernel_id) as channels:
        assert channels.run("print('anew')").text == "anew\n"


# -- the start ------------------------------------------------------------------------------------


class Poller:
    """Asks for the kernelspecs over and over, as smolagents does while its server starts."""

    def __init__(self, port, token):
        self.server = types.SimpleNamespace(url=f"http://127.0.0.1:{port}", token=token)
        self.seen = []
        self.thread = threading.Thread(target=self._poll)
        self.thread.start()

    def _poll(self):
        deadline = time.monotonic() + PATIENCE_S
        while self.seen[-1:] != [200] and time.monotonic() < deadline:
            try:
                self.seen.append(Rest(self.server).get("/api/kernelspecs").status_code)
            except requests.ConnectionError as error:
                self.seen.append("refused" if "Connection refused" in str(error) else str(error))


def test_refused_until_answered(start_serve, kernels):
    port = peer.free_port()
    poller = Poller(port, "t0ken")
    start_serve("--listen", f"127.0.0.1:{port}", token="t0ken", kernels=kernels)
    poller.thread.join()
    assert json.dumps(poller.seen[-1]) == "200"
    assert set(poller.seen[:-1]) <= {"refused"}
