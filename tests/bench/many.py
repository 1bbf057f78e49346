"""many - echo kernels by the hundred on one gateway, each with a WebSocket that stays open.

How long their starts take when they are all asked for at once, whether every one answers, what each
costs in memory and descriptors, and what gateway and warden do when nobody is connected: nothing,
which strace(1) counts. Ends with 1 where what docs/bench.md promises is not so."""

import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import time
import urllib.parse
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

import cellblock  # noqa: E402
import frames  # noqa: E402
import websockets.asyncio.client as websockets  # noqa: E402
from channels import execute_content  # noqa: E402
from rest import Rest  # noqa: E402
from samples import heading, line, resident_bytes  # noqa: E402

GATEWAY_EACH, WARDEN_EACH = 9, 8  # descriptors of a session, its WebSocket among them
GATEWAY_BYTES = 60_000_000  # of its own: without the libraries' files
IDLE_CALLS = 20  # of gateway and warden together
START_S = 600


def count_descriptors(server):
    return [
        len(os.listdir(f"/proc/{pid}/fd")) for pid in (server.gateway_pid, server.pid)
    ]


def own_bytes(pid):
    """Resident and of no file (proc_pid_status(5))."""
    for entry in pathlib.Path(f"/proc/{pid}/status").read_text().splitlines():
        if entry.startswith("RssAnon:"):
            return int(entry.split()[1]) * 1024
    raise LookupError("RssAnon")


# -- one client -----------------------------------------------------------------------------------


class Client:
    """A kernel and the WebSocket on it."""

    def __init__(self, server):
        self.server = server
        self.posted_ms = self.answered_ms = None
        self.kernel_id = self.socket = None

    async def post(self):
        """One plain request of its own: no client library is to be measured."""
        host = urllib.parse.urlsplit(self.server.url)
        reader, writer = await asyncio.open_connection(host.hostname, host.port)
        body = b'{"name": "echo"}'
        writer.write(
            f"POST /api/kernels?token={self.server.token} HTTP/1.1\r\nHost: {host.netloc}\r\n"
            f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            + body
        )
        answer = await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 201 "), answer
        self.kernel_id = json.loads(answer.partition(b"\r\n\r\n")[2])["id"]

    async def connect(self):
        query = f"?token={self.server.token}&session_id={uuid.uuid4().hex}"
        url = f"{self.server.ws_url}/api/kernels/{self.kernel_id}/channels{query}"
        self.socket = await websockets.connect(
            url, open_timeout=START_S, ping_interval=None, compression=None
        )

    async def ask(self, code):
        """What is on stdout of a cell."""
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": "execute_request",
            "session": "many",
        }
        header |= {"username": "", "version": "5.3", "date": "2026-11-30T00:00:00Z"}
        message = {
            "channel": "shell",
            "header": header,
            "parent_header": {},
            "metadata": {},
        }
        message |= {"content": execute_content(code), "buffers": []}
        await self.socket.send(frames.ENCODINGS["legacy"][0](message))
        text, ends = "", set()
        while len(ends) < 2:
            heard = json.loads(await self.socket.recv())
            if (heard["parent_header"] or {}).get("msg_id") != header["msg_id"]:
                continue
            text += heard["content"].get("text", "")
            if heard["msg_type"] == "execute_reply":
                ends.add("reply")
            if heard["content"].get("execution_state") == "idle":
                ends.add("idle")
        return text

    async def begin(self, number):
        start = time.perf_counter()
        await self.post()
        self.posted_ms = (time.perf_counter() - start) * 1000
        await self.connect()
        assert await self.ask(f"print {number}") == f"{number}\n"
        self.answered_ms = (time.perf_counter() - start) * 1000


# -- what is measured -----------------------------------------------------------------------------


async def begin_and_end(server):
    """ZeroMQ's own threads come with the first kernel."""
    client = Client(server)
    await client.begin(0)
    await client.socket.close()
    assert Rest(server).delete(f"/api/kernels/{client.kernel_id}").status_code == 204


async def begin_all(server, count):
    clients = [Client(server) for _ in range(count)]
    async with asyncio.timeout(START_S):
        await asyncio.gather(*(client.begin(i) for i, client in enumerate(clients)))
    return clients


async def ask_all(clients):
    async with asyncio.timeout(START_S):
        answers = await asyncio.gather(
            *(one.ask(f"print {one.kernel_id}") for one in clients)
        )
    return sum(
        text == f"{one.kernel_id}\n" for one, text in zip(clients, answers, strict=True)
    )


async def leave_all(clients):
    await asyncio.gather(*(client.socket.close() for client in clients))


def count_calls(pids, seconds):
    """System calls of the processes, all their threads, in so many seconds: name -> count."""
    options = [word for pid in pids for word in ("-p", str(pid))]
    with contextlib.ExitStack() as ends:
        tracer = subprocess.Popen(
            ["strace", "-f", "-qq", *options], stderr=subprocess.PIPE, text=True
        )
        ends.callback(tracer.wait)
        ends.callback(tracer.terminate)
        time.sleep(seconds)
        tracer.terminate()
        lines = tracer.stderr.read().splitlines()
    counts = {}
    for entry in lines:
        entry = entry.partition("] ")[2] if entry.startswith("[pid") else entry
        name = entry.removeprefix("strace: ").partition("(")[0]
        # What a thread was in when it was found, or is in when it is left, is no call of that
        # time.
        if "(" in entry and name.isidentifier() and "<unfinished" not in entry:
            counts[name] = counts.get(name, 0) + 1
    return counts


async def measure(server, options):
    problems = []
    await begin_and_end(server)
    before = count_descriptors(server)
    clients = await begin_all(server, options.kernels)
    heading(f"{options.kernels} kernels at once, milliseconds")
    line("POST answered", [client.posted_ms for client in clients])
    line("first answer", [client.answered_ms for client in clients])
    answered = await ask_all(clients)
    if answered != options.kernels:
        problems.append(f"only {answered} of {options.kernels} kernels answer")
    after = count_descriptors(server)
    each = [(b - a) / options.kernels for a, b in zip(before, after, strict=True)]
    await asyncio.sleep(options.settle)
    own, whole = (count(server.gateway_pid) for count in (own_bytes, resident_bytes))
    print(f"gateway: {whole / 1e6:.1f} MB, {own / 1e6:.1f} of its own, {each[0]:.2f} descriptors a "
          f"session; warden: {resident_bytes(server.pid) / 1e6:.1f} MB, {each[1]:.2f}")  # fmt: skip
    if each[0] > GATEWAY_EACH or each[1] > WARDEN_EACH:
        problems.append("a session takes too many descriptors")
    if options.memory and own > GATEWAY_BYTES:
        problems.append("the gateway takes too much memory")
    for client in clients[options.idle :]:
        assert (
            Rest(server).delete(f"/api/kernels/{client.kernel_id}").status_code == 204
        )
    await leave_all(clients)
    return problems


def measure_idle(server, options):
    """After the last client has left: what was begun for it must have ended."""
    cellblock.wait_until(
        lambda: all(
            one["connections"] == 0 for one in Rest(server).get("/api/kernels").json()
        ),
        START_S,
        "no client",
    )
    time.sleep(options.settle)
    calls = count_calls([server.gateway_pid, server.pid], options.seconds)
    total = sum(calls.values())
    print(
        f"idle, {options.idle} sessions, {options.seconds} s: {total} system calls {calls}"
    )
    return ["gateway and warden do not rest"] if total >= IDLE_CALLS else []


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=300, help="at once (300)")
    parser.add_argument(
        "--idle", type=int, default=50, help="sessions that then stay (50)"
    )
    parser.add_argument("--seconds", type=int, default=10, help="of watching them (10)")
    parser.add_argument("--settle", type=int, default=5, help="seconds before that (5)")
    parser.add_argument("--no-memory", dest="memory", action="store_false",
                        help="a sanitizer's gateway takes more")  # fmt: skip
    options = parser.parse_args()
    with cellblock.Serve(kernels=cellblock.BUILD / "kernels") as server:
        problems = asyncio.run(measure(server, options))
        problems += measure_idle(server, options)
    for problem in problems:
        print(f"problem: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
