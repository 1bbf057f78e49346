"""Cells of a session that try to get out of it, to see the host or a neighbour, or to hinder those
who watch over it: through the public API, while another session lives. After every test the
neighbour and the server are as they were.

What a cell may do to its own session is its own affair: that session ends, and can be restarted or
deleted. What is open to a single program is tried by tests/escape/test_*.c."""

import concurrent.futures
import contextlib
import os
import socket
import subprocess

import cellblock
import cells
import kernelspecs
import pytest
from channels import Channels
from rest import Rest, check_error

STRANGER = 54321  # a user of nothing, for what is tried outside
LIMITS = ("--workspace-bytes", "8MiB", "--tmp-bytes", "4MiB", "--pids", "64")
UNPROVEN = {"the host's processes"}  # hidepid of the machine decides what a stranger sees


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels") / "kernels"
    kernelspecs.write_kernelspecs(folder, ("python3",))
    with cellblock.Serve(*LIMITS, kernels=folder) as server:
        yield server


@pytest.fixture(scope="module")
def rest(serve):
    return Rest(serve)


@pytest.fixture(scope="module")
def place(serve, tmp_path_factory):
    """Where the canaries are."""
    name = f"\0cellblock-canary-{os.getpid()}"
    canary = f"/var/cache/cellblock-canary-{os.getpid()}"
    with (
        contextlib.ExitStack() as ends,
        socket.create_server(("127.0.0.1", 0)) as internet,
        socket.socket(socket.AF_UNIX) as abstract,
    ):
        abstract.bind(name)
        abstract.listen(64)
        with open(canary, "w") as file:
            ends.callback(os.unlink, canary)
            file.write("sings")
        yield {
            "canary": canary,
            "port": internet.getsockname()[1],
            "gateway": serve.port,
            "abstract": name,
            "pid": os.getpid(),
            "encoded": "".join(chr(ord(letter) + 1) for letter in serve.token),
        }


class Session:
    """A kernel and a client of it."""

    def __init__(self, serve, rest):
        self.rest, self.kernel_id = rest, rest.start_kernel()
        self.channels = Channels(serve, self.kernel_id)

    def run(self, code):
        """What the cell said; fails where it did."""
        answer = self.channels.run(code)
        assert answer.content["status"] == "ok", answer.content
        return answer.text.rstrip("\n")

    def ends_with(self, code):
        """The evalue of a cell whose kernel does not survive it."""
        content = self.channels.run(code).content
        assert content["status"] == "error" and content["ename"].startswith("Kernel"), content
        return content["evalue"]

    def restart(self):
        response = self.rest.post(f"/api/kernels/{self.kernel_id}/restart")
        assert response.status_code == 200, response.text

    def end(self):
        self.channels.close()
        self.rest.delete(f"/api/kernels/{self.kernel_id}")


@pytest.fixture(scope="module")
def neighbour(serve, rest):
    session = Session(serve, rest)
    session.run(cells.PRELUDE + "\nkept = ['whole']")
    yield session
    session.end()


def has_file(pid, name):
    """In the home of the process's session."""
    return os.path.exists(f"/proc/{pid}/root/home/user/{name}")


def await_file(serve, name, is_enough=lambda: False):
    """Waits until a session of the server has it in its home."""

    def is_there():
        return is_enough() or any(has_file(pid, name) for pid in processes(serve))

    cellblock.wait_until(is_there, 60, f"a session with {name}")


def processes(serve):
    """All processes of the server's sessions."""
    return cellblock.descendants(serve.pid) - {serve.gateway_pid}


@pytest.fixture(autouse=True)
def nobody_else_is_touched(serve, neighbour):
    before = (serve.pid, serve.gateway_pid, neighbour.run("print(os.getpid(), kept)"))
    yield
    assert (
        serve.pid,
        serve.gateway_pid,
        neighbour.run("print(os.getpid(), kept)"),
    ) == before


@pytest.fixture(scope="module")
def lasting(serve, rest, place):
    """A session for cells that do not end it."""
    session = Session(serve, rest)
    session.run(f"{cells.PRELUDE}\nplace = {place!r}")
    yield session
    session.end()


@pytest.fixture
def session(serve, rest, neighbour):
    """One that a test may end; nothing of it stays."""
    before = processes(serve)
    session = Session(serve, rest)
    session.run(cells.PRELUDE)
    yield session
    session.end()
    cellblock.wait_until(lambda: processes(serve) <= before, 60, "all of the session gone")


# -- what a cell may not ---------------------------------------------------------------------------


@pytest.mark.parametrize("case", cells.CASES, ids=lambda case: case.name)
def test_refused(lasting, case):
    assert lasting.run(case.code) == case.inside.rstrip("\n")


def run_outside(code, serve):
    command = [cellblock.PYTHON / "bin" / "python3", "-c", code]
    return subprocess.run(
        command,
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        cwd="/",
        user=STRANGER,
        group=STRANGER,
        extra_groups=(),
        env={"CELLBLOCK_TOKEN": serve.token},
    )


def test_the_cases_themselves_work(serve, place):
    """Outside of a jail the same code does something. One process for all: each says its name
    before."""
    proving = [case for case in cells.CASES if case.outside and case.name not in UNPROVEN]
    parts = [f"{cells.PRELUDE}\nplace = {place!r}"]
    for case in proving:
        parts += [f"print({'= ' + case.name!r}, flush=True)", case.code]
    done = run_outside("\n".join(parts), serve)
    assert done.returncode == 0, done.stderr
    said = {}
    for part in done.stdout.split("= ")[1:]:
        name, _, lines = part.partition("\n")
        said[name] = lines.rstrip("\n")
    assert said == {case.name: case.outside for case in proving}
    assert all(case.inside != case.outside for case in proving if case.name != "itself")


def test_nobody_outside_reaches_a_listener_inside(lasting):
    port = lasting.run(
        "inner = socket.create_server(('0.0.0.0', 0)); print(inner.getsockname()[1])"
    )
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", int(port)))
    lasting.run("inner.close()")


def test_two_sessions_have_one_name_each(lasting, neighbour):
    """Of an abstract socket and of shared memory: no meeting place."""
    code = """
mine = socket.socket(socket.AF_UNIX)
attempt(lambda: mine.bind('\\0meeting'))
mine.listen()
attempt(lambda: call(29, 4711, 4096, 0o3666))
mine.close()
"""
    assert lasting.run(code) == neighbour.run(code) == "ok\nok"


# -- what ends a session, and no more --------------------------------------------------------------


def test_everything_is_full(session):
    assert session.run(cells.FULL) == cells.FULL_SAYS
    assert "still here" in session.run("print('still ' + 'here')")
    session.restart()
    # IPython wants a temporary file for every cell; cells can still make room.
    session.run("import os; os.unlink('/home/user/filler'); os.unlink('/tmp/filler')")
    session.restart()
    assert session.run("import tempfile; print(tempfile.gettempdir())") == "/tmp"


def test_forks_without_end(session):
    code = """
children = []
try:
    while True:
        children.append(os.fork())
        if children[-1] == 0:
            signal.pause()
except OSError as error:
    print(errno.errorcode[error.errno], len(children) < 64)
"""
    assert session.run(code) == "EAGAIN True"
    session.restart()
    assert session.run("print('anew')") == "anew"


def test_descriptors_without_end(session):
    code = """
held = []
try:
    while True:
        held.append(os.open('/dev/null', os.O_RDONLY))
except OSError as error:
    print(errno.errorcode[error.errno])
for fd in held:
    os.close(fd)
"""
    assert session.run(code) == "EMFILE"
    assert session.run("print(len(held) < 1024)") == "True"


# Stays, whatever is asked of it, and holds what it was given.
DAEMON = """
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in set(range(1, 65)) - {9, 19, 32, 33}:
            signal.signal(number, signal.SIG_IGN)
        while True:
            time.sleep(1000)
    os._exit(0)
"""


DEAF = """
import atexit
atexit.register(time.sleep, 3600)
for number in range(1, 65):
    os.kill(1, number)
while True:
    try:
        time.sleep(1000)
    except BaseException:
        pass
"""


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("os.kill(-1, 9); os.kill(os.getpid(), 9)", "SIGKILL"),
        ("ctypes.string_at(0)", "SIGSEGV"),
        ("os.abort()", "SIGABRT"),
        ("os._exit(7)", "7"),
        ("os.write(2, bytes(range(256)) * 40 + b'</script>'); os._exit(8)", "8"),
    ],
    ids=["kill all", "segment", "abort", "exit", "odd last words"],
)
def test_a_session_that_ends_itself(session, code, reason):
    session.run(DAEMON)
    assert reason in session.ends_with(code)
    assert reason in session.rest.kernel(session.kernel_id)["reason"]
    session.restart()
    assert session.run("import os; print([n for n in os.listdir() if 'core' in n])") == "[]"


def go_deaf(serve, session, code):
    """A client may never hear that the cell began: what stops is a whole process. One without
    sockets may be ended by the gateway before anybody has looked."""

    def is_dead():
        return "reason" in session.rest.kernel(session.kernel_id)

    session.run(DAEMON + "print('going deaf')")
    session.channels.execute("open('/home/user/deaf', 'w').close()\n" + code)
    await_file(serve, "deaf", is_dead)


@pytest.mark.parametrize(
    "code",
    [
        "os.kill(os.getpid(), signal.SIGSTOP)",
        "os.closerange(0, 1024)\nwhile True: time.sleep(1000)",
        DEAF,
        "libc.vfork() or libc.sleep(1000)",
    ],
    ids=["stop", "close all", "never mind", "vfork"],
)
def test_a_session_that_no_longer_listens(serve, session, code):
    """It can be restarted, and then deleted."""
    go_deaf(serve, session, code)
    session.restart()
    assert session.run("import os; os.unlink('/home/user/deaf'); print('anew')") == "anew"
    session.run(cells.PRELUDE)
    go_deaf(serve, session, code)


# -- kernels that were spoilt from inside ----------------------------------------------------------

# What IPython runs before the kernel binds: the next kernel of the session is the cell's. `ways`
# are left in a file, and each start takes one.
SPOIL = """
folder = os.path.expanduser('~/.ipython/profile_default')
os.makedirs(folder, exist_ok=True)
with open('/home/user/ways', 'w') as file:
    file.write(repr(ways))
with open(folder + '/ipython_kernel_config.py', 'w') as file:
    file.write('''
import os, socket, threading, time
ways = eval(open('/home/user/ways').read())
if ways:
    name, code = ways.pop(0)
    open('/home/user/ways', 'w').write(repr(ways))
    os.chdir('/run/kernel')
    names = [f'k-{n}' for n in range(1, 6)]
    def make(kind=socket.SOCK_STREAM):
        held = [socket.socket(socket.AF_UNIX, kind) for _ in names]
        for one, path in zip(held, names):
            one.bind(path)
        return held
    exec(code)
    open(f'/home/user/{name}', 'w').close()
    time.sleep(100000)
''')
"""

WAYS = {
    "links": "[os.symlink('/proc/self/root/dev/zero', name) for name in names]",
    "links to sockets": "[(one.bind('../../tmp/' + name), one.listen(), os.symlink('/tmp/' + name, "
    "name)) for name, one in zip(names, [socket.socket(socket.AF_UNIX) for _ in names])]",
    "pipes": "[os.mkfifo(name) for name in names]",
    "folders": "[os.mkdir(name) for name in names]",
    "datagrams": "held = make(socket.SOCK_DGRAM)",
    "packets": "held = make(socket.SOCK_SEQPACKET)\n[one.listen() for one in held]",
    "not listening": "held = make()",
    "not answering": "held = make()\n[one.listen(0) for one in held]",
    "moving": "held = make()\n[one.listen() for one in held]\n"
    "[(os.rename('k-1', 'x'), os.rename('x', 'k-1')) for _ in range(300)]",
    "noise": "held = make()\n[one.listen() for one in held]\n"
    "[threading.Thread(target=lambda one=one: one.accept()[0].sendall(b'noise' * 100)).start() "
    "for one in held]",
    "closed doors": "held = make()\n[(one.listen(), os.chmod(name, 0)) "
    "for one, name in zip(held, names)]\nos.chmod('.', 0)",
}


def test_kernels_that_are_none(serve, rest, session, neighbour):
    """However wrong its sockets are, a session can be restarted, again and again."""
    session.run(f"ways = {list(WAYS.items())!r}\n{SPOIL}")
    path = f"/api/kernels/{session.kernel_id}/restart"
    with concurrent.futures.ThreadPoolExecutor(len(WAYS)) as pool:
        answers = []
        for way in WAYS:
            # It never becomes ready: either this waits, or the gateway has seen why and says so.
            answers.append(pool.submit(rest.post, path))
            await_file(serve, way, answers[-1].done)
            assert neighbour.run("print('still here')") == "still here"
        session.restart()
    for answer in answers:
        check_error(answer.result(), 409, 500)
    assert session.run("print('anew')") == "anew"


# -- a kernel's own sockets ------------------------------------------------------------------------

FORGE = """
kernel = get_ipython().kernel
def forge():
    out, session = kernel.iopub_thread.socket, kernel.session
    for parts in ([b''], [b'x'] * 300, [b'<IDS|MSG>'], [b'<IDS|MSG>', b'0' * 64] + [b'{'] * 4,
                  [b't', b'<IDS|MSG>', b''] + [b'[' * 100000] * 4):
        out.send_multipart(parts)
    for parent in ({}, {'msg_id': victim, 'session': '', 'msg_type': 'execute_request'}):
        session.send(out, 'status', {'execution_state': 'idle'}, parent)
        session.send(out, 'execute_reply', {'status': 'ok', 'execution_count': 1}, parent)
        session.send(out, 'error', {'ename': 'x', 'evalue': 'x', 'traceback': []}, parent)
        session.send(out, 'input_request', {'prompt': ''}, parent)
        session.send(out, 'no such type', {'deep': eval('[' * 90 + ']' * 90)}, parent)
    forged.set()
import threading
forged = threading.Event()
kernel.iopub_thread.schedule(forge)
for n in range(1, 6):
    for _ in range(5):
        with socket.socket(socket.AF_UNIX) as peer:
            peer.connect(f'/run/kernel/k-{n}')
            peer.sendall(os.urandom(1000))
print(forged.wait(60))
"""


def test_forged_messages(session, neighbour):
    """A cell may say anything on its kernel's sockets; it ends no request of a neighbour's."""
    channels = neighbour.channels
    waiting = channels.execute("print(input())", allow_stdin=True)
    channels.until_kind("input_request", waiting)
    before = len(channels.log)
    assert session.run(f"victim = {waiting!r}\n{FORGE}") == "True"
    assert session.run("print('and on')") == "and on"
    channels.send("input_reply", {"value": "from its user"}, "stdin")
    assert channels.answer(waiting).text == "from its user\n"
    kinds = [message["header"]["msg_type"] for message in channels.log[before:]]
    assert sorted(kinds) == ["execute_reply", "status", "stream"]
