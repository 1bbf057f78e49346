"""What two sessions share, the files of the host that both are shown, tells neither of the other:
by inotify or by file locks. A tree that cannot be an overlay is bound, and the warden says so."""

import fcntl
import json
import os
import pathlib
import subprocess

import cellblock
import kernelspecs
import pytest
from channels import Channels
from rest import Rest

# Watches, says so by its last line, and reports what came when it is asked. os.read on a
# non-blocking descriptor: BlockingIOError where there is nothing.
WATCH = """
import ctypes, errno, fcntl, os, struct
libc = ctypes.CDLL(None, use_errno=True)
IN_ACCESS, IN_OPEN = 1, 0x20
queue = libc.inotify_init1(os.O_NONBLOCK)
watched = {}
for path in paths:
    watched[libc.inotify_add_watch(queue, path.encode(), IN_OPEN | IN_ACCESS)] = path
def heard():
    names = set()
    try:
        while data := os.read(queue, 65536):
            at = 0
            while at < len(data):
                number, _, _, size = struct.unpack_from('iIII', data, at)
                names.add(watched[number])
                at += 16 + size
    except BlockingIOError:
        pass
    return sorted(names)
"""

TOUCH = """
for path in paths:
    with open(path, 'rb') as file:
        file.read(1)
"""

LOCK = """
import fcntl
held = [open(path, 'rb') for path in paths]
for file in held:
    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
"""


def write_tree(folder, name, tree):
    """The kernelspec `name`, which shows this tree of the host too."""
    kernelspecs.write_kernelspec(folder, name, kernelspecs.arguments("python3"))
    path = folder / name / "kernel.json"
    spec = json.loads(path.read_text())
    spec["metadata"] = {"cellblock": {"trees": [str(tree)]}}
    path.write_text(json.dumps(spec))


@pytest.fixture(scope="module")
def trees(tmp_path_factory):
    """One whose name would be cut at every sign that mount options know, and one with a mount
    below it."""
    folder = tmp_path_factory.mktemp("trees")
    odd, covered = folder / "a:b,c\\d=e f", folder / "covered"
    below = covered / "below"
    odd.mkdir()
    below.mkdir(parents=True)
    (odd / "file").write_text("odd")
    (covered / "file").write_text("covered")
    subprocess.run(["mount", "-t", "tmpfs", "none", below], check=True)
    (below / "file").write_text("below")
    yield odd, covered
    subprocess.run(["umount", below], check=True)


@pytest.fixture(scope="module")
def serve(trees, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernels") / "kernels"
    kernelspecs.write_kernelspecs(folder, ("python3",))
    write_tree(folder, "odd", trees[0])
    write_tree(folder, "covered", trees[1])
    with cellblock.Serve(kernels=folder) as server:
        yield server


@pytest.fixture(scope="module")
def rest(serve):
    return Rest(serve)


@pytest.fixture(scope="module")
def start(serve, rest):
    """Starts a session; start(name)(code) is what a cell of it says."""
    ended = []

    def begin(name="python3"):
        kernel_id = rest.start_kernel(name=name)
        channels = Channels(serve, kernel_id)
        ended.append((channels, kernel_id))

        def run(code):
            answer = channels.run(code)
            assert answer.content["status"] == "ok", answer.content
            return answer.text.rstrip("\n")

        return run

    yield begin
    for channels, kernel_id in ended:
        channels.close()
        rest.end_kernel(kernel_id)


@pytest.fixture(scope="module")
def pair(start, shared):
    """Two sessions that know which files they share."""
    sessions = start(), start()
    for session in sessions:
        session(f"paths = {shared!r}")
    return sessions


@pytest.fixture(scope="module")
def shared(serve):
    """A file below every place that jails show of the host."""
    certificate = next(p for p in pathlib.Path("/etc/ssl/certs").glob("*.crt") if p.is_file())
    return [
        "/usr/lib/os-release",
        "/usr/bin/true",
        f"{cellblock.PYTHON}/pyvenv.cfg",
        str(certificate),
        "/etc/alternatives/README",
        "/etc/ld.so.cache",
        "/dev/null",
        "/proc/kallsyms",
        "/proc/cpuinfo",
        "/proc/sys/kernel/core_pattern",
    ]


def test_files_are_shared(shared):
    """Or this proved nothing. Those of /proc are the host's own there."""
    assert [path for path in shared if not os.path.exists(path)] == []


def test_nobody_hears_a_neighbour(pair):
    one, other = pair
    one(WATCH)
    other(TOUCH)
    assert one("print(heard())") == "[]"
    assert one(TOUCH + "print(len(heard()) == len(watched))") == "True"  # its own it hears


def test_nobody_hears_the_host(pair, shared):
    one, _ = pair
    one(WATCH)
    for path in shared:
        with open(path, "rb") as file:
            file.read(1)
    assert one("print(heard())") == "[]"


def test_nobody_meets_a_lock(pair, shared):
    """Neither a neighbour's nor the host's."""
    one, other = pair
    lockable = [path for path in shared if not path.startswith("/proc/")]
    held = [open(path, "rb") for path in lockable]  # noqa: SIM115
    for file in held:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    for session in (one, other):
        session(f"paths = {lockable!r}\n{LOCK}")
        session(f"paths = {shared!r}")
    for file in held:
        file.close()


def test_a_name_that_options_would_cut(start, trees, serve):
    run = start("odd")
    assert run(f"print(open({str(trees[0] / 'file')!r}).read())") == "odd"
    code = "print([l.split(' - ')[1].split()[0] for l in open('/proc/self/mountinfo') "
    assert run(code + "if 'a:b' in l])") == "['overlay']"
    assert str(trees[0]) not in serve.log()


def test_mountinfo_says_no_path_of_the_host(start):
    """Beyond the points where trees are shown."""
    code = "print({l.split(' - ')[1].split(' ', 1)[1] for l in open('/proc/self/mountinfo') "
    said = start()(code + "if ' - overlay ' in l})")
    assert "/proc/self/fd/" in said
    assert "/usr" not in said and str(cellblock.PYTHON) not in said


def test_a_tree_with_a_mount_below_it_is_bound_whole(start, trees, serve):
    run = start("covered")
    for name, text in (("file", "covered"), ("below/file", "below")):
        assert run(f"print(open({str(trees[1] / name)!r}).read())") == text
    code = "print([l.split(' - ')[1].split()[0] for l in open('/proc/self/mountinfo') "
    assert "overlay" not in run(code + f"if {str(trees[1])!r} in l])")
    line = f"kernelspec covered: {trees[1]} is bound, as no overlay shows it (something is mounted"
    assert serve.log().count(line) == 1
