"""deaf - a kernel prints a gigabyte for clients of which two never read: one without a session_id,
and one with, for which the gateway keeps what it may miss. The third reads everything.

Promised, and checked all along: the gateway holds no more than the queues of the three, what is
kept for the one that may come back, and SLACK. Ends with 1 where it does not, or where the reader
missed something."""

import argparse
import contextlib
import pathlib
import sys
import time

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / name) for name in ("support", "abuse")]

import rude  # noqa: E402
from cellblock import BUILD, Serve  # noqa: E402
from samples import MEBIBYTE, resident_bytes  # noqa: E402

QUEUE = BUFFER = 8 * MEBIBYTE
SLACK = 8 * MEBIBYTE  # a cell's output that is under way, and what an allocator keeps
MESSAGE, MESSAGES = 1_000_000, 4  # of a cell; so the reader is never far behind


def read_cell(reader, msg_id):
    """How many characters it printed."""
    count = 0
    while True:
        message = reader.receive()
        if rude.parent_of(message) != msg_id:
            continue
        if message["header"]["msg_type"] == "stream":
            count += len(message["content"]["text"])
        if rude.is_idle(message):
            return count


def run(server, kernel_id, cells):
    """The gateway's growth after each cell, in bytes."""
    gateway = server.gateway_pid
    with rude.Rude(server, kernel_id) as reader, contextlib.ExitStack() as deaf:
        read_cell(reader, reader.execute("ready"))
        before = resident_bytes(gateway)
        for session_id in (None, "comes-back"):
            deaf.enter_context(rude.Rude(server, kernel_id, session_id, receive_buffer=4096))
        growth = []
        for _ in range(cells):
            msg_id = reader.execute("\n".join([f"bytes {MESSAGE}"] * MESSAGES))
            assert read_cell(reader, msg_id) == MESSAGE * MESSAGES, "the reader missed something"
            growth.append(resident_bytes(gateway) - before)
    return growth


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mebibytes", type=int, default=1024, help="of output (1024)")
    cells = parser.parse_args().mebibytes * MEBIBYTE // (MESSAGE * MESSAGES) + 1
    arguments = [f"--ws-queue-bytes={QUEUE}", f"--session-buffer-bytes={BUFFER}"]
    with Serve(*arguments, kernels=BUILD / "kernels") as server:
        kernel_id = rude.start(server)
        start = time.monotonic()
        growth = run(server, kernel_id, cells)
        seconds = time.monotonic() - start
        rude.end(server, kernel_id)
    most, allowed = max(growth), 3 * QUEUE + BUFFER + SLACK
    first, last = max(growth[: cells // 10]), growth[-1]
    print(
        f"{cells * MESSAGE * MESSAGES / MEBIBYTE:.0f} MiB in {seconds:.0f} s: the gateway grew by "
        f"{most / MEBIBYTE:.1f} MiB at most, {first / MEBIBYTE:.1f} in the first tenth and "
        f"{last / MEBIBYTE:.1f} at the end; {allowed / MEBIBYTE:.0f} are allowed"
    )
    return 0 if most <= allowed else 1


if __name__ == "__main__":
    sys.exit(main())
