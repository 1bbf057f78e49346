"""A session at its limits: memory, processes, files, processor. What goes too far ends or fails in
that session alone, and its client is told why; a neighbour works on."""

import re
import time

import cellblock
import kernelspecs
import pytest
from channels import PATIENCE_S, Channels
from rest import Rest

MEMORY = 256 << 20
LIMITS = ("--memory-bytes", "256MiB", "--workspace-bytes", "16MiB", "--pids", "64")

GROW = """
held = []
while True:
    held.append(bytearray(b'x' * (8 << 20)))
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels") / "kernels"
    return kernelspecs.write_kernelspecs(folder, ("python3",))


@pytest.fixture(scope="module")
def serve(kernels):
    with cellblock.Serve(*LIMITS, kernels=kernels) as server:
        yield server


class Session:
    """A kernel and a client of it."""

    def __init__(self, server):
        self.rest = Rest(server)
        self.kernel_id = self.rest.start_kernel()
        self.channels = Channels(server, self.kernel_id)
        self.run("import errno, os, subprocess, sys, threading, time")

    def run(self, code):
        """What the cell said; fails where it did."""
        answer = self.channels.run(code)
        assert answer.content["status"] == "ok", answer.content
        return answer.text.rstrip("\n")

    def state(self):
        return self.rest.kernel(self.kernel_id)["execution_state"]

    def restart(self):
        response = self.rest.post(f"/api/kernels/{self.kernel_id}/restart")
        assert response.status_code == 200, response.text
        self.run("import errno, os, subprocess, sys, threading, time")

    def end(self):
        self.channels.close()
        self.rest.end_kernel(self.kernel_id)


@pytest.fixture
def session(serve):
    session = Session(serve)
    yield session
    session.end()


@pytest.fixture(scope="module")
def neighbour(serve):
    session = Session(serve)
    yield session
    session.end()


def check_out_of_memory(session, answer):
    """The three messages, the limit and the peak in bytes, and the model."""
    last = answer.messages[-3:]
    kinds = [(m["channel"], m["header"]["msg_type"]) for m in last]
    assert kinds == [("iopub", "error"), ("shell", "execute_reply"), ("iopub", "status")]
    error, reply, idle = last
    assert idle["content"]["execution_state"] == "idle"
    assert reply["content"]["status"] == "error"
    for message in (error, reply):
        assert message["metadata"]["cellblock"]["reason"] == "oom"
        assert message["content"]["ename"] == "KernelOutOfMemory"
    text = reply["content"]["evalue"]
    assert error["content"]["evalue"] == text
    assert f"memory limit of {MEMORY} bytes (256 MiB)" in text
    peak = int(re.search(r"had come to (\d+) bytes", text)[1])
    assert MEMORY // 2 < peak <= MEMORY
    session.rest.await_state(session.kernel_id, "idle")
    assert session.rest.kernel(session.kernel_id)["reason"] == text


@pytest.mark.parametrize(
    "code",
    [
        GROW,
        "import numpy\nheld = [numpy.ones(1 << 20) for _ in range(1000)]",
        "held = 'x' * (1 << 30)",
    ],
    ids=["grows", "numpy", "at once"],
)
def test_a_kernel_that_the_memory_limit_ends(session, neighbour, code):
    running = session.channels.execute(code)
    queued = session.channels.execute("1")
    first, second = session.channels.answers(running, queued)
    check_out_of_memory(session, first)
    assert second.content["ename"] == "KernelOutOfMemory"
    assert neighbour.run("print('well')") == "well"
    session.restart()
    assert session.run("print('held' in globals())") == "False"


def test_a_child_that_the_memory_limit_ends(serve, session):
    """The kernel lives on with all it has; the operator is told."""
    session.run("kept = 'whole'")
    code = f"print(subprocess.run([sys.executable, '-c', {GROW!r}]).returncode, kept)"
    assert session.run(code) == "-9 whole"
    assert session.state() in ("idle", "busy")
    said = f"out of memory: a process of tree \\d+ jail {session.kernel_id} was ended"
    cellblock.wait_until(lambda: re.search(said, serve.log()), PATIENCE_S, "a line in the log")


FILL = """
def fill(folder):
    try:
        with open(folder + '/large', 'wb', buffering=0) as file:
            while file.write(bytes(1 << 20)):
                pass
    except OSError as error:
        return errno.errorcode[error.errno], os.path.getsize(folder + '/large') >> 20
"""


def test_files_are_memory(session, neighbour):
    """Each folder says when it is full; all of them leave room for a kernel."""
    session.run(FILL)
    assert session.run("print(fill('/tmp'))") == "('ENOSPC', 64)"
    assert session.run("print(fill('/dev/shm'))") == "('ENOSPC', 64)"
    check_out_of_memory(session, session.channels.run("held = b'x' * (200 << 20)"))
    assert neighbour.run("print('well')") == "well"
    session.restart()
    assert session.run("print(os.listdir('/dev/shm'), os.path.exists('/tmp/large'))") == "[] True"
    session.run("held = b'x' * (60 << 20)")


def test_a_full_workspace(session):
    """IPython keeps its history there, and says what it thinks of that."""
    session.run(FILL)
    assert session.run("print(fill('/home/user'))") == "('ENOSPC', 15)"
    assert session.run("print('goes on')").startswith("goes on")
    session.restart()
    assert session.run("print(os.path.getsize('large') >> 20)").startswith("15")


# -- processes -------------------------------------------------------------------------------------

FORKS = """
try:
    while True:
        if os.fork() == 0:
            time.sleep(1000)
except OSError as error:
    print(errno.errorcode[error.errno])
"""

THREADS = """
stop = threading.Event()
try:
    while True:
        threading.Thread(target=stop.wait).start()
except RuntimeError as error:
    print('EAGAIN' if "can't start new thread" in str(error) else error)
stop.set()
"""


@pytest.mark.parametrize("code", [FORKS, THREADS], ids=["processes", "threads"])
def test_more_than_it_may_have_at_once(session, neighbour, code):
    assert session.run(code) == "EAGAIN"
    assert neighbour.run("print(subprocess.run(['true']).returncode)") == "0"
    session.restart()
    assert session.run("print(subprocess.run(['true']).returncode)") == "0"


BOMB = """
def explode():
    while True:
        try:
            os.fork()
        except OSError:
            pass
if os.fork() == 0:
    explode()
"""


def seconds(session, code):
    begin = time.monotonic()
    session.run(code)
    return time.monotonic() - begin


def test_a_fork_bomb(session, neighbour):
    """While it explodes a neighbour gets its share, and it is over when the session says so."""
    quiet = max(seconds(neighbour, "sum(range(1000000))") for _ in range(3))
    session.run(BOMB)
    loud = min(seconds(neighbour, "sum(range(1000000))") for _ in range(10))
    assert loud < 20 * quiet + 1
    begin = time.monotonic()
    session.restart()
    print(f"neighbour {quiet:.3f} s, now {loud:.3f} s; restart {time.monotonic() - begin:.3f} s")
    assert session.run("print(subprocess.run(['true']).returncode)") == "0"


# -- processor -------------------------------------------------------------------------------------

BUSY = """
import resource
def busy(seconds):
    begin, used = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    code = f'import time\\nend = time.monotonic() + {seconds}\\nwhile time.monotonic() < end: pass'
    for child in [subprocess.Popen([sys.executable, '-c', code]) for _ in range(2)]:
        child.wait()
    now = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = now.ru_utime - used.ru_utime + now.ru_stime - used.ru_stime
    return spent / (time.monotonic() - begin)
"""


def processors(session):
    return float(session.run("print(busy(2))"))


def test_a_share_of_the_processor(serve, start_serve, kernels):
    """Two busy processes, with a little of one processor and with all there is."""
    little = Session(start_serve("--cpus-milli", "150", kernels=kernels))
    little.run(BUSY)
    assert processors(little) < 0.25
    little.end()
    whole = Session(serve)
    whole.run(BUSY)
    # Whatever else the machine does: sooner or later there is more.
    cellblock.wait_until(lambda: processors(whole) > 0.25, PATIENCE_S, "more of the processor")
    whole.end()
