"""lab_server - a server of Jupyter's whose kernels are a gateway's: jupyter_server by itself, or
JupyterLab with its pages. Its home, settings and notebooks lie in a folder of its own."""

import contextlib
import json
import os
import secrets
import signal
import subprocess
import sys

import peer
import requests
from cellblock import START_S, STOP_S, wait_until

SETTINGS = {
    # Who was asked once and wants neither news nor updates.
    "apputils-extension/notification": {"fetchNews": "false", "checkForUpdates": False},
    # One second else, and a busy machine's first completion takes longer.
    "completer-extension/manager": {"providerTimeout": 60000},
}


class LabServer:
    """module is jupyter_server or jupyterlab, of the environment that runs the tests. Use it as a
    context manager."""

    def __init__(self, module, folder, gateway_url, gateway_token):
        self.token = secrets.token_hex(24)
        self.folder = folder
        self.log_path = folder / "log"
        self.port = peer.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.ws_url = f"ws://127.0.0.1:{self.port}"
        self._write_settings()
        self.process = self._start(module, gateway_url, gateway_token)
        wait_until(self._answers, START_S, f"an answer of {module}")

    def _write_settings(self):
        for name, settings in SETTINGS.items():
            path = self.folder / ".jupyter/lab/user-settings/@jupyterlab" / name
            path.parent.mkdir(parents=True)
            path.with_suffix(".jupyterlab-settings").write_text(json.dumps(settings))

    def _start(self, module, gateway_url, gateway_token):
        command = [sys.executable, "-m", module, "--no-browser", "--allow-root"]
        command += [
            f"--gateway-url={gateway_url}",
            f"--GatewayClient.auth_token={gateway_token}",
            "--ServerApp.ip=127.0.0.1",
            f"--ServerApp.port={self.port}",
            "--ServerApp.port_retries=0",
            f"--IdentityProvider.token={self.token}",
            f"--ServerApp.root_dir={self.folder}",
        ]
        with open(self.log_path, "wb") as log:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env={**os.environ, "HOME": str(self.folder)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
            )

    def _answers(self):
        assert self.process.poll() is None, self.log()
        with contextlib.suppress(requests.ConnectionError):
            return requests.get(f"{self.url}/api", timeout=START_S).ok
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

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
