"""warm - how long `1+1` takes on a warm kernel: over Cellblock's WebSocket, over that of Kernel
Gateway from PyPI, and over plain ZeroMQ, all on the same ipykernel, sample by sample in turns.

A sample is the time from sending execute_request until both execute_reply and `status: idle` with
that parent have been received. The machine is small and shared: medians count, and only as ratios.
Ends with 1 where Cellblock's median is not below Kernel Gateway's."""

import argparse
import contextlib
import pathlib
import statistics
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

from cellblock import Serve  # noqa: E402
from channels import Channels, execute_content  # noqa: E402
from jupyter_client.kernelspec import KernelSpecManager  # noqa: E402
from jupyter_client.manager import KernelManager  # noqa: E402
from kernelspecs import write_kernelspecs  # noqa: E402
from peer import KernelGateway  # noqa: E402
from rest import Rest  # noqa: E402
from samples import heading, line, milliseconds  # noqa: E402

WARM_UP = 5
PATIENCE_S = 60


@contextlib.contextmanager
def over_websocket(server):
    """A function that runs one cell and returns when it is over."""
    with server:
        kernel_id = Rest(server).start_kernel(name="python3")
        with Channels(server, kernel_id) as channels:

            def run():
                channels.run("1+1")
                channels.log.clear()  # each answer is looked for in all of it

            yield run


@contextlib.contextmanager
def over_zeromq():
    with tempfile.TemporaryDirectory(prefix="test-bench-") as folder:
        write_kernelspecs(pathlib.Path(folder), ["python3"])
        specs = KernelSpecManager(kernel_dirs=[folder], ensure_native_kernel=False)
        manager = KernelManager(kernel_name="python3", kernel_spec_manager=specs)
        manager.start_kernel()
        client = manager.blocking_client()
        try:
            client.start_channels()
            client.wait_for_ready(timeout=PATIENCE_S)
            yield lambda: run_plain(client)
        finally:
            client.stop_channels()
            manager.shutdown_kernel(now=True)


def run_plain(client):
    msg = client.session.msg("execute_request", execute_content("1+1"))
    client.shell_channel.send(msg)
    client._recv_reply(msg["header"]["msg_id"], timeout=PATIENCE_S)
    while True:
        heard = client.get_iopub_msg(timeout=PATIENCE_S)
        if heard["parent_header"].get("msg_id") != msg["header"]["msg_id"]:
            continue
        if heard["content"].get("execution_state") == "idle":
            return


def measure(runs, count):
    samples = {name: [] for name in runs}
    for run in runs.values():
        for _ in range(WARM_UP):
            run()
    for _ in range(count):
        for name, run in runs.items():
            samples[name].append(milliseconds(run))
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=300, help="of each lane (300)")
    arguments = parser.parse_args()
    with (
        over_websocket(Serve()) as cellblock,
        over_websocket(KernelGateway()) as gateway,
        over_zeromq() as plain,
    ):
        runs = {"Cellblock": cellblock, "Kernel Gateway": gateway, "plain ZeroMQ": plain}
        samples = measure(runs, arguments.samples)
    heading("warm 1+1, milliseconds")
    for name, values in samples.items():
        line(name, values)
    ours, peers, floor = (statistics.median(values) for values in samples.values())
    print(f"Kernel Gateway takes {peers / ours:.1f} times as long; over plain ZeroMQ we add "
          f"{ours - floor:.2f} ms")  # fmt: skip
    return 0 if ours < peers else 1


if __name__ == "__main__":
    sys.exit(main())
