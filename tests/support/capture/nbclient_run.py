"""nbclient_run - lets nbclient, over GatewayKernelManager, run a notebook on a Kernel Gateway
through a tap (legacy encoding, the only one it speaks).

Usage: NODE_PATH=... nbclient_run.py URL FOLDER; the Kernel Gateway must take no token."""

import os
import pathlib
import subprocess
import sys

CELLS = (
    "print('to stdout \N{EURO SIGN} </script>'); 6 * 7",
    "display({'text/plain': 'one', 'application/json': {'n': 10**70}}, raw=True)",
    "1 / 0",
)


def run(url, tap_url):
    # Read when jupyter_server is imported.
    os.environ["JUPYTER_GATEWAY_URL"] = url
    os.environ["JUPYTER_GATEWAY_WS_URL"] = tap_url
    import nbclient
    import nbformat

    cells = [nbformat.v4.new_code_cell(code) for code in CELLS]
    notebook = nbformat.v4.new_notebook(cells=cells)
    manager = "jupyter_server.gateway.managers.GatewayKernelManager"
    nbclient.NotebookClient(notebook, kernel_manager_class=manager, allow_errors=True).execute()


def main(url, folder):
    tap = pathlib.Path(__file__).with_name("tap.mjs")
    upstream = url.replace("http", "ws", 1)
    command = ["node", tap, "legacy", folder, upstream]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True) as process:
        run(url, process.stdout.readline().strip().rstrip("/"))
        process.stdin.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
