"""HTTP on a unix socket: who may connect, who needs no token there, and the file itself."""

import contextlib
import json
import os
import re
import signal
import socket
import stat
import subprocess

import cellblock
import pytest
import reports
from cellblock import wait_until
from channels import PATIENCE_S, Channels
from rest import Rest

# Users of no account, so that nothing else lets them in.
FRIEND, STRANGER, GROUP = 4242, 4243, 4244


@pytest.fixture
def place(tmp_path_factory):
    """Where the socket will be; every user reaches it."""
    folder = tmp_path_factory.mktemp("socket")
    for parent in (folder, *folder.parents[:2]):
        parent.chmod(0o755)
    return folder / "gateway.sock"


def curl(path, *words, user=0, at="kernels"):
    """What `user` is told under this path of the API: the JSON, or curl's status."""
    command = [
        "curl",
        "-sS",
        "--max-time",
        str(PATIENCE_S),
        "--unix-socket",
        path,
        *words,
    ]
    done = subprocess.run(
        [*map(str, command), f"http://localhost/api/{at}"],
        capture_output=True,
        text=True,
        user=user,
        group=user,
        extra_groups=[],
        check=False,
    )
    return json.loads(done.stdout) if done.returncode == 0 else done.returncode


def test_who_is_there(start_serve, place):
    """curl as three users: the socket's mode and group say who may connect, and the user who did is
    known without a token."""
    options = (
        f"--listen=unix:{place}",
        "--socket-mode=666",
        f"--socket-users=root,{FRIEND}",
    )
    server = start_serve(*options)
    token = ("-H", f"Authorization: token {server.token}")
    assert curl(place, user=FRIEND) == curl(place, user=0) == []
    assert curl(place, user=FRIEND, at="me")["identity"]["username"] == f"user {FRIEND}"
    assert curl(place, user=STRANGER)["code"] == "unauthorized"
    assert curl(place, *token, user=STRANGER) == []
    assert Rest(server, headers={}).get("/api/kernels").status_code == 401, (
        "over TCP nobody is"
    )
    assert stat.S_IMODE(place.stat().st_mode) == 0o666
    server.stop()
    assert not place.exists()


def test_mode_and_group(start_serve, place):
    options = (
        f"--listen=unix:{place}",
        f"--socket-group={GROUP}",
        f"--socket-users={STRANGER}",
    )
    server = start_serve(*options)
    info = place.stat()
    assert (stat.S_IMODE(info.st_mode), info.st_gid) == (0o660, GROUP)
    refused = curl(place, user=STRANGER)
    assert refused == 7, "it may not even connect"
    token = ("-H", f"Authorization: token {server.token}")
    assert curl(place, *token, user=GROUP) == [], "of the group"


def test_python_and_a_websocket(start_serve, place):
    """A kernel's whole way, cut and taken up again. What was not read is not lost; what was read at
    the very end may come again, by which its msg_id tells it."""
    server = start_serve(f"--listen=unix:{place}", "--socket-users=0")
    kernel_id = Rest(server).start_kernel(name="echo")

    def connect():
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(PATIENCE_S)
        link.connect(str(place))
        return Channels(server, kernel_id, session_id="local", socket=link, header={})

    with connect() as channels:
        assert channels.run("6").text == "6"
        assert len(channels.run("bytes 5000000").text) == 5_000_000
        msg_id = channels.execute("lines 2000")
        channels.until_kind("stream", msg_id)
        channels.socket.sock.close()
    log, ends = list(channels.log), 0
    with connect() as again:
        while ends < 2:
            message = again.receive()
            ends += message["parent_header"].get("msg_id") == msg_id and (
                message["header"]["msg_type"] == "execute_reply"
                or message["content"].get("execution_state") == "idle"
            )
        log += again.log
    log = {m["header"]["msg_id"]: m for m in log}.values()
    ours = [m for m in log if m["parent_header"].get("msg_id") == msg_id]
    text = [m["content"]["text"] for m in ours if m["header"]["msg_type"] == "stream"]
    assert "".join(text) == "".join(f"line {n}\n" for n in range(1, 2001))


def test_several_addresses(start_serve, place):
    """Each URL has a line in the ready file."""
    server = start_serve(f"--listen=127.0.0.1:0,unix:{place}")
    lines = (server.folder / "ready").read_text().splitlines()
    assert [line.partition(":")[0] for line in lines] == ["http", "http", "http+unix"]
    assert lines[2] == "http+unix://" + str(place).replace("/", "%2F")
    for url in lines[:2]:
        assert Rest(server).request("GET", "/api").status_code == 200, url
    assert len(re.findall(r"curl --unix-socket", server.log())) == 1


def kill_warden(server):
    pids = {
        program: pid
        for program, pid in (("gateway", server.gateway_pid), ("warden", server.pid))
    }
    server.process.send_signal(signal.SIGKILL)
    server.returncode = server.process.wait()
    cellblock.Serve.running.discard(server.pid)
    wait_until(lambda: is_gone(pids["gateway"]), PATIENCE_S, "the gateway's end")
    if cellblock.REPORTS.is_dir():
        reports.note_killed(cellblock.REPORTS, "warden", pid=pids["warden"])


def is_gone(pid):
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)
    return not os.path.exists(f"/proc/{pid}")


def test_a_file_that_is_there_already(start_serve, place):
    """A dead server's goes; a living one's stays, and so does what is no socket. At the end only
    our own is removed."""
    first = start_serve(f"--listen=unix:{place}", "--socket-users=0")
    with pytest.raises(AssertionError, match="another server answers there"):
        cellblock.Serve(f"--listen=unix:{place}")
    assert curl(place) == []
    kill_warden(first)
    assert place.exists() and curl(place) == 7
    second = start_serve(f"--listen=unix:{place}", "--socket-users=0")
    assert curl(place) == []
    place.unlink()
    place.write_text("somebody else's")
    second.stop()
    assert place.read_text() == "somebody else's"
    with pytest.raises(AssertionError, match="is there and no socket"):
        cellblock.Serve(f"--listen=unix:{place}")
