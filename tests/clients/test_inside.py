"""What a kernel sees of the machine: its own. Each probe runs in a cell and says JSON; what it must
not find was put there by the test, or is known to be there outside."""

import json
import os
import pathlib
import re
import secrets
import socket

import cellblock
import pytest
from channels import Channels

CANARY = "CANARY_OF_THE_GATEWAY"
VALUE = secrets.token_hex(16)


@pytest.fixture(scope="module")
def serve(kernels):
    with cellblock.Serve(kernels=kernels, environment={CANARY: VALUE}) as server:
        yield server


class Inside:
    """Runs a probe and returns what it leaves in `seen`."""

    def __init__(self, channels):
        self.channels = channels

    def __call__(self, code):
        answer = self.channels.run(f"import json, os\n{code}\nprint(json.dumps(seen))")
        assert answer.content["status"] == "ok", answer.content
        return json.loads(answer.text.splitlines()[-1])


@pytest.fixture(scope="module")
def inside(serve, kernel_id):
    with Channels(serve, kernel_id) as channels:
        yield Inside(channels)


# -- files ----------------------------------------------------------------------------------------

WALK = """
seen = []
for folder, folders, files in os.walk({top!r}, onerror=lambda error: None):
    seen += [os.path.join(folder, name) for name in [*folders, *files]]
    if len(seen) > 5000:
        break
"""


def test_no_file_of_a_private_home(inside):
    """/root and /home hold the way to shown trees, and the session's own workspace."""
    shown = (str(cellblock.PYTHON), "/home/user")
    for top in ("/root", "/home"):
        for path in inside(WALK.format(top=top)):
            assert path.startswith(shown) or any(tree.startswith(path) for tree in shown), path


@pytest.mark.parametrize("parent", ["/root", "/home", "/tmp", "/var/tmp", "/dev/shm", "/run"])
def test_no_file_that_was_put_there(inside, parent):
    path = pathlib.Path(parent) / f"canary-{VALUE}"
    path.write_text("secret")
    try:
        assert inside(f"seen = os.path.exists({str(path)!r})") is False
    finally:
        path.unlink()


@pytest.mark.parametrize(
    "path",
    [
        "/etc/shadow",
        "/etc/ssh",
        "/var/lib/dpkg",
        "/var/log",
        "/sys/fs/cgroup",
        "/proc/kcore",
        "/proc/sysrq-trigger",
        "/dev/kmsg",
        "/dev/mem",
        "/dev/kvm",
    ],
)
def test_nothing_to_read_at(inside, path):
    code = f"""
try:
    seen = os.listdir({path!r}) if os.path.isdir({path!r}) else len(open({path!r}, 'rb').read(1))
except OSError as error:
    seen = []
"""
    assert inside(code) in ([], 0)


def test_the_tests_own_folder_is_not_there(inside):
    assert inside(f"seen = os.path.exists({str(cellblock.ROOT)!r})") is False


@pytest.mark.parametrize("path", ["/", "/usr", "/etc", "/usr/bin", str(cellblock.PYTHON)])
def test_read_only(inside, path):
    code = f"""
try:
    open(os.path.join({path!r}, 'new'), 'w').close()
    seen = 'written'
except OSError as error:
    seen = error.strerror
"""
    assert inside(code) in ("Read-only file system", "Permission denied")


def test_home_is_the_first_folder(inside):
    assert inside("seen = [os.getcwd(), os.path.expanduser('~')]") == ["/home/user"] * 2


def test_private_folders_are_writable(inside):
    code = "seen = {p: os.access(p, os.W_OK | os.X_OK) for p in ('/tmp', '/dev/shm', '/home/user')}"
    assert inside(code) == {"/tmp": True, "/dev/shm": True, "/home/user": True}


def test_workspaces_are_apart(serve, rest, inside):
    inside("open('mine.txt', 'w').write('mine')\nopen('/tmp/mine.txt', 'w').close()\nseen = 1")
    other = rest.start_kernel()
    with Channels(serve, other) as channels:
        names = Inside(channels)("seen = os.listdir() + os.listdir('/tmp')")
        assert "mine.txt" not in names
    rest.end_kernel(other)


# -- processes ------------------------------------------------------------------------------------

PROCESSES = """
seen = {}
for entry in os.listdir('/proc'):
    if entry.isdigit():
        try:
            seen[entry] = open(f'/proc/{entry}/cmdline').read().split('\\0')
        except OSError:
            seen[entry] = []
"""


def test_no_process_but_its_own(inside):
    """Its kernel, and perhaps pid 1 of its tree."""
    processes = inside(PROCESSES)
    processes.pop("1", None)
    (kernel,) = processes.values()
    assert "ipykernel_launcher" in " ".join(kernel)


def test_no_signal_reaches_anyone_outside(inside, serve):
    code = f"""
seen = []
for pid in ({os.getpid()}, {serve.pid}, {serve.gateway_pid}):
    try:
        os.kill(pid, 0)
        seen.append(open(f'/proc/{{pid}}/cmdline').read())
    except (ProcessLookupError, PermissionError, FileNotFoundError):
        pass
"""
    for command in inside(code):
        assert "cellblock" not in command and "pytest" not in command


def read_status(text):
    return dict(line.split(":\t", 1) for line in text.splitlines())


def test_no_privilege(inside, serve):
    status = read_status(inside("seen = open('/proc/self/status').read()"))
    ids = status["Uid"].split() + status["Gid"].split()
    assert "0" not in ids
    assert status["Groups"].split() in ([], [ids[-1]])
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"
    gateway = read_status(pathlib.Path(f"/proc/{serve.gateway_pid}/status").read_text())
    assert gateway["Uid"].split()[0] != ids[0]


def test_each_session_is_a_user_of_its_own(serve, rest, inside):
    other = rest.start_kernel()
    with Channels(serve, other) as channels:
        assert Inside(channels)("seen = os.getuid()") != inside("seen = os.getuid()")
    rest.end_kernel(other)


# -- environment and descriptors ------------------------------------------------------------------


def test_nothing_of_the_gateway_in_any_environment(inside, serve):
    code = """
seen = []
for entry in os.listdir('/proc'):
    try:
        seen.append(open(f'/proc/{entry}/environ', errors='replace').read())
    except OSError:
        pass
"""
    environments = "".join(inside(code))
    assert "HOME=/home/user" in environments
    for secret in (CANARY, VALUE, serve.token):
        assert secret not in environments
    # The one that says how large the session is; it is the session's, not the gateway's.
    assert set(re.findall(r"\w*CELLBLOCK\w*", environments)) == {"CELLBLOCK_MEMORY_BYTES"}


def test_no_descriptor_but_the_standard_ones(serve, rest):
    """Looked at before ipykernel opens its own."""
    kernel_id = rest.start_kernel(name="descriptors")
    with Channels(serve, kernel_id) as channels:
        links = Inside(channels)("seen = json.load(open('descriptors.json'))")
    rest.end_kernel(kernel_id)
    assert set(links) == {"0", "1", "2"}
    assert links["0"] == "/dev/null"
    for name in ("1", "2"):
        assert links[name].startswith(("pipe:", "socket:")) or links[name] == "/dev/null"


# -- the network ----------------------------------------------------------------------------------

CONNECT = """
import socket
seen = []
for family, address in {addresses!r}:
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(5)
        try:
            probe.connect(tuple(address) if isinstance(address, list) else address)
            seen.append('connected')
        except OSError as error:
            seen.append(type(error).__name__)
"""


def test_the_gateway_is_out_of_reach(inside, serve):
    addresses = [(int(socket.AF_INET), ["127.0.0.1", serve.port])]
    assert inside(CONNECT.format(addresses=addresses)) == ["ConnectionRefusedError"]


def test_there_is_no_way_out(inside):
    """192.0.2.1 is nobody's (RFC 5737): a route to it would be a way out."""
    code = """
import errno, socket
with socket.socket() as probe:
    probe.settimeout(5)
    try:
        seen = probe.connect_ex(('192.0.2.1', 80)) == errno.ENETUNREACH
    except TimeoutError:
        seen = False
"""
    assert inside(code) is True


def test_lo_is_the_only_interface(inside):
    names = "import socket\nseen = [name for _, name in socket.if_nameindex()]"
    assert inside(names) == ["lo"]


def test_lo_is_up(inside):
    """ipykernel hears its forked children over it."""
    code = """
import socket
with socket.create_server(('127.0.0.1', 0)) as server:
    with socket.create_connection(server.getsockname()) as client:
        client.sendall(b'hello')
        seen = server.accept()[0].recv(5).decode()
"""
    assert inside(code) == "hello"


def test_services_have_names(inside):
    code = "import socket\nseen = [socket.getservbyname('http'), socket.getprotobyname('tcp')]"
    assert inside(code) == [80, 6]


def test_abstract_sockets_are_apart(inside):
    name = f"canary-{VALUE}"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(f"\0{name}")
        server.listen()
        addresses = [(int(socket.AF_UNIX), f"\0{name}")]
        assert inside(CONNECT.format(addresses=addresses)) == ["ConnectionRefusedError"]


def test_names_do_not_leak(inside):
    code = "import socket\nseen = [socket.gethostname(), open('/etc/passwd').read()]"
    name, passwd = inside(code)
    assert name != socket.gethostname()
    outside = {line.split(":")[0] for line in pathlib.Path("/etc/passwd").read_text().splitlines()}
    assert len(passwd.splitlines()) < len(outside)
