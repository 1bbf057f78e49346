"""The gateway's process, seen from outside while it serves: it can do nothing but serve."""

import os
import pathlib

import pytest


@pytest.fixture
def status(start_serve):
    def read(serve):
        lines = (
            pathlib.Path(f"/proc/{serve.gateway_pid}/status").read_text().splitlines()
        )
        return dict(line.split(":\t", 1) for line in lines)

    return read(start_serve())


def test_it_holds_no_privilege_though_serve_was_started_as_root(status):
    assert os.geteuid() == 0
    uids, gids = status["Uid"].split(), status["Gid"].split()
    assert "0" not in uids + gids and len(set(uids)) == len(set(gids)) == 1
    assert status["Groups"].split() in ([], [gids[0]])
    for name in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[name], 16) == 0, name
    assert status["NoNewPrivs"] == "1"
    assert status["Seccomp"] == "2"


def test_its_filter_refuses_what_an_intruder_needs(start_serve):
    serve = start_serve(environment={"CELLBLOCK_PROBE": "1"})
    said = serve.log().splitlines()
    for name in ("execve", "fork", "ptrace", "mount", "netlink"):
        assert f"{name} EPERM" in said


def test_every_thread_wears_the_filter(start_serve):
    pid = start_serve().gateway_pid
    seen = set()
    for thread in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            status = (thread / "status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended since it was listed
        assert "\nSeccomp:\t2\n" in status
        seen.add(int(thread.name))
    assert pid in seen


def test_a_stop_that_was_asked_for_is_no_error(start_serve):
    serve = start_serve()
    serve.process.terminate()
    assert serve.process.wait(60) == 0
    log = serve.log()
    assert "Cellblock is at " in log
    assert "error" not in log and "gateway ended" not in log
