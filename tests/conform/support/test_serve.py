"""The helper that runs `serve` for tests, against programs that behave badly: it must say so."""

import os
import pathlib
import stat
import sys

import cellblock
import pytest

# Stands in for the program: writes the ready file, and leaves what its TEST_LEAVE says behind.
PROGRAM = """#!{python}
import os, pathlib, signal, subprocess, sys, time
ready = pathlib.Path(sys.argv[sys.argv.index("--ready-file") + 1])
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
leave = os.environ.get("TEST_LEAVE")
if leave == "process":
    subprocess.Popen(["sleep", "60"])
if leave == "daemon":
    subprocess.Popen(["unshare", "--pid", "--fork", "setsid", "sleep", "60"])
if leave == "file":
    folder = pathlib.Path("/tmp/cellblock-left")
    folder.mkdir(exist_ok=True)
    (folder / str(os.getpid())).touch()
if leave == "early":
    sys.exit("no such flag")
ready.write_text("http://127.0.0.1:7/?token=x\\n")
signal.sigwait([signal.SIGTERM])
sys.exit(3 if leave == "status" else 0)
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    path = tmp_path / "cellblock"
    path.write_text(PROGRAM.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setattr(cellblock, "BUILD", tmp_path)


def run(leave):
    with cellblock.Serve(kernels=None, environment={"TEST_LEAVE": leave}) as server:
        assert server.url == "http://127.0.0.1:7"


def end_orphans():
    """What a bad program left is ours to end: our child, or becomes it when its parent ends."""
    own = os.getpid()
    while below := cellblock.descendants(own):
        for pid in [pid for pid in below if cellblock.parent_of(pid) == own]:
            os.kill(pid, 9)
            os.waitpid(pid, 0)


def test_a_clean_server_passes(program):
    run("")


@pytest.mark.parametrize(
    "leave, sentence",
    [
        ("process", "sleep 60"),
        ("daemon", "sleep 60"),
        ("file", "/tmp/cellblock-left/"),
        ("status", "ended with 3"),
        ("early", "no such flag"),
    ],
)
def test_a_bad_server_fails(program, leave, sentence):
    try:
        with pytest.raises(AssertionError, match=sentence):
            run(leave)
    finally:
        end_orphans()
        if leave == "file":
            for path in cellblock.pathlib.Path("/tmp/cellblock-left").iterdir():
                path.unlink()
            os.rmdir("/tmp/cellblock-left")


def hierarchies():
    """A group in each hierarchy: the test's own where it is to be seen, else the first."""
    found = {}
    for line in pathlib.Path("/proc/self/cgroup").read_text().splitlines():
        _, names, path = line.split(":", 2)
        for top in (names, names.partition("=")[2] or "unified", ""):
            group = pathlib.Path("/sys/fs/cgroup", top, path.lstrip("/"))
            if (group / "cgroup.procs").exists():
                found.setdefault(names or "version 2", group)
    return found


@pytest.mark.parametrize("name", hierarchies())
def test_a_group_that_stays_is_seen(program, name):
    with pytest.raises(AssertionError, match="left behind:\ncgroup .*/cellblock-"):
        with cellblock.Serve(kernels=None) as server:
            group = hierarchies()[name] / f"cellblock-{server.pid}-left"
            group.mkdir()
    group.rmdir()
