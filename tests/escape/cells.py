"""cells - what a cell tries that should lead nowhere: one row each, with what it says in a jail,
and, where it is harmless, what it says outside of one, as an ordinary user. A row whose two answers
were the same would prove nothing.

Rows are for what needs a Python kernel, a path or a whole session; single system calls stand in
probe/calls.c. Names of places that a row needs are in `place` (test_cells.py)."""

import dataclasses
import platform

PRELUDE = '''
import ctypes, errno, mmap, os, resource, signal, socket, subprocess, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    """A system call by its number."""
    result = libc.syscall(ctypes.c_long(number), *(
        ctypes.c_long(a) if isinstance(a, int) else a for a in arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result
def attempt(action):
    """Says "ok", or why not."""
    try:
        action()
        print("ok", flush=True)
    except OSError as error:
        print(errno.errorcode[error.errno], flush=True)
def write(path, text):
    fd = os.open(path, os.O_WRONLY | (0 if path.startswith("/proc") else os.O_CREAT), 0o600)
    try:
        os.write(fd, text.encode())
    finally:
        os.close(fd)
def reach(family, address):
    with socket.socket(family) as peer:
        peer.settimeout(20)
        peer.connect(address)
def ends_of(action):
    """How a child ends that does this."""
    pid = os.fork()
    if pid == 0:
        action()
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    print(signal.Signals(status & 127).name if status & 127 else status >> 8, flush=True)
def run_code(code):
    """Machine code."""
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    page.write(code)
    at = ctypes.addressof(ctypes.c_char.from_buffer(page))
    return ctypes.CFUNCTYPE(ctypes.c_long)(at)()
'''


@dataclasses.dataclass
class Case:
    name: str
    code: str
    inside: str  # every line that it says
    outside: str = ""  # likewise; empty: not to be tried there
    machine: str = ""  # the only one it is for


def writes(name, path, text, inside, outside=""):
    return Case(name, f"attempt(lambda: write({path!r}, {text!r}))", inside, outside)


def calls(name, number, arguments, inside, outside=""):
    """Numbers of x86-64."""
    code = f"attempt(lambda: call({number}, {arguments}))"
    return Case(name, code, inside, outside, "x86_64")


FILES = (
    Case("canary", "attempt(lambda: os.stat(place['canary']))", "ENOENT", "ok"),
    Case(
        "canary by many dots",
        "attempt(lambda: os.stat('../' * 1000 + place['canary'].lstrip('/')))",
        "ENOENT",
        "ok",
    ),
    Case("canary through proc", "attempt(lambda: os.stat('/proc/self/root' + place['canary']))",
         "ENOENT", "ok"),
    Case("shadow", "attempt(lambda: os.stat('/etc/shadow'))", "ENOENT", "ok"),
    Case("the host's processes", "attempt(lambda: os.stat(f\"/proc/{place['pid']}\"))",
         "ENOENT", "ok"),
    Case(
        "an owner's file on a shown tree",
        "attempt(lambda: os.chmod(sys.executable, 0o777))",
        "EROFS",
    ),
    Case(
        "a device's times",
        "attempt(lambda: os.utime('/dev/null'))",
        "EROFS",
        "ok",
    ),
    Case(
        "descriptors lead nowhere",
        """
seen = set()
for name in os.listdir('/proc/self/fd'):
    try:
        seen.add(os.readlink(f'/proc/self/fd/{name}'))
    except FileNotFoundError:
        pass
own = ('pipe:', 'socket:', 'anon_inode:', '/home/user/', '/dev/null', '/memfd:')
print([link for link in seen if not link.startswith(own)])""",
        "[]",
    ),
)  # fmt: skip

PROC = (
    writes("login id", "/proc/self/loginuid", "0", "EPERM", "ok"),
    writes("user map", "/proc/self/uid_map", "0 0 1", "EPERM"),
    writes("group map", "/proc/self/setgroups", "deny", "EACCES"),
    writes("time", "/proc/self/timens_offsets", "monotonic 5 0", "EPERM"),
    writes("out of memory", "/proc/self/oom_score_adj", "-1000", "EACCES"),
    writes("next pid", "/proc/sys/kernel/ns_last_pid", "100", "EPERM"),
    writes("sysctl", "/proc/sys/vm/drop_caches", "1", "EACCES"),
    # An empty file over it: what is written goes nowhere.
    Case(
        "core pattern",
        "print(repr(open('/proc/sys/kernel/core_pattern').read()))",
        "''",
    ),
    Case(
        "pids",
        """
own = {os.getpid(), os.getppid()}
print([name for name in os.listdir('/proc') if name.isdigit() and int(name) not in own])""",
        "[]",
    ),
)

CALLS = (
    # 1 is the tree's pid 1, which has the same user; outside, init, which has another.
    Case(
        "pid 1 keeps its processors",
        """
before = os.getpriority(os.PRIO_PROCESS, 1)
attempt(lambda: os.sched_setaffinity(1, {0}))
attempt(lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)))
attempt(lambda: os.sched_setparam(1, os.sched_param(0)))
attempt(lambda: os.setpriority(os.PRIO_PROCESS, 1, 19))
attempt(lambda: os.setpriority(os.PRIO_PGRP, 1, 19))
attempt(lambda: os.setpriority(os.PRIO_USER, 0, 19))
attempt(lambda: os.setpriority(os.PRIO_USER, os.getuid(), 19))
attempt(lambda: os.setpriority(os.PRIO_PROCESS, 0, before))
attempt(lambda: os.sched_setaffinity(0, os.sched_getaffinity(0)))
print(os.sched_getscheduler(1) == os.SCHED_OTHER)
print(os.getpriority(os.PRIO_PROCESS, 1) == before)""",
        "EPERM\n" * 7 + "ok\nok\nTrue\nTrue",
    ),
    calls("pid 1 keeps its disk", 251, "1, 1, 3 << 13", "EPERM"),
    calls("the user's disk", 251, "3, os.getuid(), 3 << 13", "EPERM", "ok"),
    calls("aio of the machine", 206, "1, ctypes.byref(ctypes.c_ulong())", "ENOSYS", "ok"),
    calls("huge pages by a file", 319, "b'x', 4", "ENOMEM", "ok"),
    Case(
        "core limit",
        """
attempt(lambda: resource.setrlimit(resource.RLIMIT_CORE, (0, 0)))
print(resource.getrlimit(resource.RLIMIT_CORE))""",
        "ok\n(1, 1)",
        "ok\n(0, 0)",
    ),
    Case(
        "protocols",
        """
attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262))
attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, 136))
attempt(lambda: socket.socket(socket.AF_INET, socket.SOCK_STREAM, 6))
attempt(lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM, 17))
attempt(lambda: socket.socketpair())
attempt(lambda: socket.socket().setsockopt(6, 31, b'tls'))""",
        "EPROTONOSUPPORT\nEPROTONOSUPPORT\nok\nok\nok\nENOPROTOOPT",
    ),
    Case(
        "netlink protocols",
        "\n".join(f"attempt(lambda: socket.socket(16, 3, {n}))" for n in (0, 1, 6, 9, 17, 20)),
        "ok\nEAFNOSUPPORT\nEAFNOSUPPORT\nEPROTONOSUPPORT\nEAFNOSUPPORT\nEPROTONOSUPPORT",
    ),
    Case("i386", "ends_of(lambda: run_code(b'\\xb8\\x14\\0\\0\\0\\xcd\\x80\\xc3'))",
         "SIGSYS", "0", "x86_64"),
    Case("x32", "ends_of(lambda: call(0x40000000 | 39))", "SIGSYS", "", "x86_64"),
)  # fmt: skip

NETWORK = (
    Case("the gateway", "attempt(lambda: reach(socket.AF_INET, ('127.0.0.1', place['gateway'])))",
         "ECONNREFUSED", "ok"),
    Case("a listener of the host's",
         "attempt(lambda: reach(socket.AF_INET, ('127.0.0.1', place['port'])))",
         "ECONNREFUSED", "ok"),
    Case("an abstract one", "attempt(lambda: reach(socket.AF_UNIX, place['abstract']))",
         "ECONNREFUSED", "ok"),
    Case("metadata", "attempt(lambda: reach(socket.AF_INET, ('169.254.169.254', 80)))",
         "ENETUNREACH"),
    Case("itself", """
listener = socket.create_server(('0.0.0.0', 0))
attempt(lambda: reach(socket.AF_INET, ('127.0.0.1', listener.getsockname()[1])))
listener.close()""", "ok", "ok"),
)  # fmt: skip

# A token in any page that this process can read; place['encoded'] is the token with every letter
# and digit moved on by one, so that the search does not find itself.
SECRETS = (
    Case(
        "the token",
        """
moved = bytes((n + 1) % 256 for n in range(256))
def has_token(start, end):
    try:
        data = os.pread(memory, end - start, start)
    except OSError:
        return False
    return place['encoded'].encode() in data.translate(moved)
memory = os.open('/proc/self/mem', os.O_RDONLY)
ranges = []
for line in open('/proc/self/maps'):
    words = line.split()
    if words[1].startswith('rw'):
        start, end = (int(word, 16) for word in words[0].split('-'))
        end = min(end, start + (128 << 20))
        ranges += [(at, min(at + (1 << 20), end)) for at in range(start, end, 1 << 20)]
print(any(has_token(*pair) for pair in ranges))
os.close(memory)""",
        "False",
        "True",
    ),
)

# Each says how it came to its end.
FULL = """
for folder in ('/home/user', '/tmp', '/dev/shm', '/run/kernel', '/dev', '/run', '/etc'):
    try:
        with open(folder + '/filler', 'wb', 0) as file:
            for _ in range(64):
                file.write(bytes(1 << 20))
        print(folder, 'never full')
    except OSError as error:
        print(folder, errno.errorcode[error.errno])
"""
FULL_SAYS = """/home/user ENOSPC
/tmp ENOSPC
/dev/shm ENOSPC
/run/kernel ENOSPC
/dev EROFS
/run EROFS
/etc EROFS"""

CASES = tuple(
    case
    for case in (*FILES, *PROC, *CALLS, *NETWORK, *SECRETS)
    if case.machine in ("", platform.machine())
)
