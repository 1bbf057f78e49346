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


def programs(**variables):
    """Variables of a process for which the tests' own environment is the first on PATH."""
    return {**os.environ, "PATH": f"{sys.prefix}/bin:{os.environ['PATH']}", **variables}


class LabServer:
    """command, which says what it is and which gateway it has, runs with these variables beside the
    programs of the tests' own environment. Use it as a context manager."""

    def __init__(self, folder, command, variables=None):
        self.token = secrets.token_hex(24)
        self.folder = folder
        self.log_path = folder.parent / f"{folder.name}.log"
        self.port = peer.free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.ws_url = f"ws://127.0.0.1:{self.port}"
        self._write_settings()
        self._write_configuration()
        self.process = self._start(command, variables or {})
        wait_until(self._answers, START_S, f"an answer of {command}")

    def _write_configuration(self):
        server = {
            "allow_root": True,
            "ip": "127.0.0.1",
            "open_browser": False,
            "port": self.port,
            "port_retries": 0,
            "root_dir": str(self.folder),
        }
        configuration = {"ServerApp": server, "IdentityProvider": {"token": self.token}}
        path = self.folder / ".jupyter" / "jupyter_server_config.json"
        path.write_text(json.dumps(configuration))

    def _write_settings(self):
        for name, settings in SETTINGS.items():
            path = self.folder / ".jupyter/lab/user-settings/@jupyterlab" / name
            path.parent.mkdir(parents=True)
            path.with_suffix(".jupyterlab-settings").write_text(json.dumps(settings))

    def _start(self, command, variables):
        with open(self.log_path, "wb") as log:
            return subprocess.Popen(
                command,
                cwd=self.folder,
                env=programs(HOME=str(self.folder), **variables),
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
