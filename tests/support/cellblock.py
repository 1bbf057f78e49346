"""cellblock - runs `cellblock serve` for a test, and looks for what it left behind.

The one complication is "left behind": the test process makes itself the reaper of every orphan
(PR_SET_CHILD_SUBREAPER), so whatever a server forgot is still below us when the server is gone,
and what other test runs on the same machine do is not taken for ours.
"""

import ctypes
import json
import os
import pathlib
import secrets
import shutil
import signal
import ssl
import subprocess
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
# tests/run sets these; the defaults serve a pytest that is called by hand.
BUILD = pathlib.Path(os.environ.get("TEST_BUILD", ROOT / "build" / "test"))
# The prefix of the kernels' Python environment.
PYTHON = pathlib.Path(os.environ.get("TEST_PYTHON", "/var/lib/cellblock/python"))
STATE = pathlib.Path(os.environ.get("TEST_STATE", "/var/cache/cellblock-tests/by-hand"))
# What every process of the build says of its end (tests/support/reports.py), and the servers' logs.
REPORTS = STATE / "reports"
LOGS = pathlib.Path(os.environ.get("TEST_LOGS", STATE / "logs"))

START_S = 60
STOP_S = 60

PR_SET_CHILD_SUBREAPER = 36


def become_reaper():
    """Orphans of every server come to this process from now on."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "PR_SET_CHILD_SUBREAPER")


def wait_until(condition, seconds, what):
    """Returns condition()'s first true value; fails after so many seconds."""
    deadline = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > deadline:
            raise AssertionError(f"{what}: not within {seconds} s")
        time.sleep(0.02)


# -- processes ------------------------------------------------------------------------------------


def parent_of(pid):
    """The parent's pid, or None where the process is gone."""
    try:
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(stat.rpartition(")")[2].split()[1])


def descendants(top):
    """Pids below the process top, itself not among them."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            parents[int(entry)] = parent_of(entry)
    found, edge = set(), {top}
    while edge:
        edge = {pid for pid, parent in parents.items() if parent in edge} - found
        found |= edge
    return found


def read_link(path):
    try:
        return os.readlink(path)
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return ""


def describe(pid):
    try:
        command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
        name = pathlib.Path(f"/proc/{pid}/stat").read_text().partition("(")[2].rpartition(")")[0]
    except (FileNotFoundError, ProcessLookupError):
        return f"process {pid} (gone by now)"
    return f"process {pid} {name}: {command or '(zombie)'}"


def is_ours(pid, session):
    """A program of the build, or of the server's session, or with a pid namespace of its own."""
    if read_link(f"/proc/{pid}/exe").startswith(f"{BUILD}/"):
        return True
    namespace = read_link(f"/proc/{pid}/ns/pid")
    if namespace and namespace != read_link("/proc/self/ns/pid"):
        return True
    try:
        return os.getsid(pid) == session
    except ProcessLookupError:
        return False


# -- what may be left -----------------------------------------------------------------------------


def mounts():
    """Mount points that say cellblock, in the namespace of the tests."""
    lines = pathlib.Path("/proc/self/mountinfo").read_text().splitlines()
    return {f"mount {line.split()[4]}" for line in lines if "cellblock" in line}


def cgroups(pid):
    """Of the warden pid, in every hierarchy."""
    found = set()
    for folder, names, _ in os.walk("/sys/fs/cgroup"):
        ours = f"cellblock-{pid}-"
        found |= {f"cgroup {folder}/{name}" for name in names if name.startswith(ours)}
        names[:] = [name for name in names if not name.startswith("cellblock-")]
    return found


def folders():
    """Runtime folders and sockets by our name."""
    found = set()
    for parent in ("/run", "/tmp", "/dev/shm"):
        found |= {f"file {path}" for path in pathlib.Path(parent).glob("*cellblock*/*")}
    # The rig of another run's unit tests.
    return {name for name in found if "/cellblock-rig." not in name}


def snapshot():
    """What there is before a server starts, whose orphans come to this process from now on. Not
    sooner: a test that runs other tests must not keep their orphans as zombies."""
    become_reaper()
    return mounts() | folders()


def leftovers(before, session, others=()):
    """What the server with the process session `session`, its pid, left: sentences, none when it is
    clean.

    before is a snapshot() taken before its start; others are pids of servers that still run.
    """
    candidates = descendants(os.getpid())
    for pid in others:
        candidates -= descendants(pid) | {pid}
    processes = [describe(pid) for pid in candidates if is_ours(pid, session)]
    return sorted(processes) + sorted(snapshot() - before) + sorted(cgroups(session))


# -- the server -----------------------------------------------------------------------------------


class Serve:
    """A running `cellblock serve`. Use it as a context manager, or call stop() once.

    url has no trailing slash and no token; folder is private to this server. Variables of the
    tests' own environment that begin with CELLBLOCK_ do not reach it. command, when given, is what
    becomes the server in the place of the build's own program, and start_s how long it may take.
    trust is the file by which clients know its certificate.
    """

    running = set()  # pids of servers that have not been stopped

    def __init__(
        self,
        *arguments,
        token=None,
        kernels=BUILD / "kernels",
        environment=None,
        command=None,
        start_s=START_S,
        trust=None,
    ):
        self.token = secrets.token_hex(24) if token is None else token
        self.trust = trust
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="test-serve-"))
        LOGS.mkdir(parents=True, exist_ok=True)
        self.log_path = LOGS / f"{self.folder.name}.log"
        self.returncode = None
        self._before = snapshot()
        ready = self.folder / "ready"
        if command is None:
            command = [BUILD / "cellblock", "serve"]
            command += ["--python", PYTHON] if PYTHON.exists() else []
        command += ["--listen", "127.0.0.1:0", "--ready-file", ready]
        command += ["--kernels", kernels] if kernels else []
        outer = {name: os.environ[name] for name in os.environ if name[:10] != "CELLBLOCK_"}
        with open(self.log_path, "wb") as log:
            self.process = subprocess.Popen(
                [str(word) for word in (*command, *arguments)],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env={**outer, "CELLBLOCK_TOKEN": self.token, **(environment or {})},
                start_new_session=True,
            )
        try:
            self.url = self._await_ready(ready, start_s)
        except BaseException:
            self.process.kill()
            self.process.wait()
            self._clear()
            raise
        Serve.running.add(self.pid)

    def _await_ready(self, ready, start_s):
        def read():
            if self.process.poll() is not None:
                raise AssertionError(f"serve ended with {self.process.returncode}")
            return ready.exists() and ready.read_text().strip()

        try:
            parts = urllib.parse.urlsplit(wait_until(read, start_s, "the ready file").split()[0])
        except AssertionError as error:
            raise AssertionError(f"{error}:\n{self.log()}") from None
        return f"{parts.scheme}://{parts.netloc}{parts.path.rstrip('/')}"

    def _clear(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def log(self):
        return self.log_path.read_text(errors="replace")

    @property
    def pid(self):
        """The warden: serve becomes it."""
        return self.process.pid

    @property
    def gateway_pid(self):
        """The gateway that runs now."""

        def find():
            for pid in descendants(self.pid):
                if read_link(f"/proc/{pid}/exe") == str(BUILD / "cellblock-gateway"):
                    return pid
            return None

        return wait_until(find, START_S, "a gateway below the warden")

    @property
    def port(self):
        return urllib.parse.urlsplit(self.url).port

    @property
    def ws_url(self):
        return "ws" + self.url.removeprefix("http")

    def request(self, method, path, body=None, headers=None, timeout_s=60):
        """(status, parsed JSON or None). body, when given, is sent as JSON."""
        request = urllib.request.Request(
            self.url + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={
                "Authorization": f"token {self.token}",
                "Content-Type": "application/json",
                **(headers or {}),
            },
        )
        context = ssl.create_default_context(cafile=self.trust) if self.trust else None
        try:
            with urllib.request.urlopen(request, timeout=timeout_s, context=context) as answer:
                status, data = answer.status, answer.read()
        except urllib.error.HTTPError as error:
            status, data = error.code, error.read()
        return status, json.loads(data) if data else None

    def stop(self, number=signal.SIGTERM):
        """Ends the server and fails unless it left with 0 and nothing stayed behind."""
        if self.returncode is not None:
            return
        self.process.send_signal(number)
        try:
            self.returncode = self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.returncode = self.process.wait()
            raise AssertionError(f"serve did not end within {STOP_S} s:\n{self.log()}") from None
        Serve.running.discard(self.pid)
        left = leftovers(self._before, self.pid, Serve.running)
        log = self.log()
        self._clear()
        assert self.returncode == 0, f"serve ended with {self.returncode}:\n{log}"
        assert not left, "left behind:\n" + "\n".join(left) + f"\nlog:\n{log}"

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        try:
            self.stop()
        except AssertionError as second:
            # Where the test has failed already, its own reason is the one to show.
            if kind is None:
                raise
            print(second)
