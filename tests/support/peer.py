"""peer - Jupyter Kernel Gateway on the same kernels' environment: the bench's other lane, and a
second opinion on our own tests (CELLBLOCK_PEER=1 runs tests/clients on it).

It has no URL prefix for tokens, so `open_url` asks for a server without one.
"""

import os
import pathlib
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request

from cellblock import START_S, STOP_S, wait_until
from kernelspecs import write_kernelspecs


def free_port():
    """A port nobody listens on. Another program may take it first; then the start fails loudly."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class KernelGateway:
    """A running Kernel Gateway. Use it as a context manager."""

    def __init__(self, token=None):
        self.token = secrets.token_hex(24) if token is None else token
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="test-peer-"))
        self.log_path = self.folder / "log"
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.ws_url = f"ws://127.0.0.1:{self.port}"
        write_kernelspecs(self.folder / "kernels")
        self.process = self._start()
        wait_until(self._answers, START_S, "an answer of Kernel Gateway")

    def _start(self):
        command = [sys.executable, "-m", "kernel_gateway", "--KernelGatewayApp.ip=127.0.0.1"]
        command += [
            f"--KernelGatewayApp.port={self.port}",
            "--KernelGatewayApp.port_retries=0",
            f"--KernelGatewayApp.auth_token={self.token}",
            "--JupyterWebsocketPersonality.list_kernels=True",
            "--KernelSpecManager.ensure_native_kernel=False",
        ]
        # Kernelspecs are found in the folder "kernels" of JUPYTER_PATH, before all others.
        home = {"HOME": str(self.folder), "JUPYTER_PATH": str(self.folder)}
        with open(self.log_path, "wb") as log:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self.folder,
                env={**os.environ, **home},
                start_new_session=True,
            )

    def _answers(self):
        assert self.process.poll() is None, f"Kernel Gateway ended:\n{self.log()}"
        try:
            with urllib.request.urlopen(f"{self.url}/api", timeout=START_S):
                return True
        except urllib.error.HTTPError:
            return True
        except OSError:
            return False

    def log(self):
        return self.log_path.read_text(errors="replace")

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
