"""starts - kernels started, used and ended over and over, and WebSockets that are refused: nothing
of the host's may grow.

Each round is a session from POST to DELETE with one cell in between. What is counted after the
first rounds is compared with what there is at the end: descriptors, memory of the warden and of the
gateway, mounts, control groups, processes, and the kernel's network namespaces, which it frees
some time after. Ends with 1 where something has grown."""

import argparse
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

import websocket  # noqa: E402
from cellblock import Serve, cgroups, descendants, wait_until  # noqa: E402
from channels import Channels  # noqa: E402
from rest import Rest  # noqa: E402
from samples import heading, line, milliseconds, resident_bytes  # noqa: E402

WARM_UP = 10
DRAIN_S = 120
MEMORY_SLACK = 1 << 20  # an allocator's own rounding, for each process
NAMESPACE_SLACK = 3  # of whoever else is on the machine


def run_session(rest, kernel):
    kernel_id = rest.start_kernel(name=kernel)
    with Channels(rest.server, kernel_id) as channels:
        answer = channels.run("45")
        assert answer.text == "45", answer.content
    rest.end_kernel(kernel_id)


def refuse(server, number):
    """A WebSocket that is not let in: for want of a token, by a wrong one, or of a kernel."""
    status, header = ((401, {}), (403, {"Authorization": "token x"}), (404, None))[number % 3]
    options = {} if header is None else {"header": header}
    try:
        Channels(server, "0c5c1b8e-8f4c-4d0e-9f7b-000000000000", **options)
    except websocket.WebSocketBadStatusException as error:
        assert error.status_code == status, error
    else:
        raise AssertionError("it was let in")


def count_descriptors(pid):
    return len(list(pathlib.Path(f"/proc/{pid}/fd").iterdir()))


def count_mounts(pid):
    return len(pathlib.Path(f"/proc/{pid}/mountinfo").read_text().splitlines())


def count_namespaces():
    """Network namespaces that the kernel has not freed, by its own books."""
    for entry in pathlib.Path("/proc/slabinfo").read_text().splitlines():
        if entry.startswith("net_namespace "):
            return int(entry.split()[1])
    raise LookupError("net_namespace in /proc/slabinfo")


def count_groups(warden):
    """Folders in those of the warden's own, in every hierarchy."""
    own = [name.removeprefix("cgroup ") for name in cgroups(warden)]
    return sum(len(names) for top in own for _, names, _ in os.walk(top))


def look(server):
    """name -> (count, how much more there may be at the end)"""
    warden, gateway = server.pid, server.gateway_pid
    return {
        "warden: descriptors": (count_descriptors(warden), 0),
        "gateway: descriptors": (count_descriptors(gateway), 0),
        "warden: resident bytes": (resident_bytes(warden), MEMORY_SLACK),
        "gateway: resident bytes": (resident_bytes(gateway), MEMORY_SLACK),
        "warden: mounts": (count_mounts(warden), 0),
        "host: mounts": (count_mounts("self"), 0),
        "control groups": (count_groups(warden), 0),
        "processes": (len(descendants(warden)), 0),
    }


def compare(before, after):
    problems = []
    print(f"{'what there is':<34} {'before':>12} {'after':>12}")
    for name, (count, slack) in before.items():
        print(f"{name:<34} {count:>12} {after[name][0]:>12}")
        if after[name][0] > count + slack:
            problems.append(f"{name} has grown")
    return problems


def measure(server, options):
    rest = Rest(server)
    for number in range(WARM_UP):
        run_session(rest, options.kernel)
        refuse(server, number)
    namespaces, before = count_namespaces(), look(server)
    samples = [milliseconds(lambda: run_session(rest, options.kernel))
               for _ in range(options.rounds)]  # fmt: skip
    for number in range(options.refused):
        refuse(server, number)
    problems = compare(before, look(server))
    wait_until(
        lambda: count_namespaces() <= namespaces + NAMESPACE_SLACK, DRAIN_S, "network namespaces"
    )
    heading("POST, one cell, DELETE, milliseconds")
    line(options.kernel, samples)
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=100, help="sessions one by one (100)")
    parser.add_argument("--kernel", default="python3", help="which (python3)")
    parser.add_argument("--refused", type=int, default=0, help="refused WebSockets behind them (0)")
    options = parser.parse_args()
    with Serve() as server:
        problems = measure(server, options)
    for problem in problems:
        print(f"problem: {problem}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
