"""open-webui's way of running code, request by request: a kernel for each run, the token in the
query, an empty date. It is a large application; what it sends and reads here is little."""

import json
import uuid

import pytest
import requests
import websocket
from channels import PATIENCE_S


class Run:
    """One piece of code, run as it does: texts of stdout, stderr and results."""

    def __init__(self, server, code):
        self.server, self.query = server, f"?token={server.token}"
        self.stdout, self.stderr, self.results = "", "", []
        answer = requests.post(f"{server.url}/api/kernels{self.query}", timeout=PATIENCE_S)
        answer.raise_for_status()
        self.kernel_id = answer.json()["id"]
        path = f"/api/kernels/{self.kernel_id}/channels{self.query}"
        # Ten seconds are what its WebSocket library waits for the handshake.
        self.socket = websocket.create_connection(server.ws_url + path, timeout=10)
        self.socket.settimeout(PATIENCE_S)
        self.read_to_idle(self.send(code))
        self.socket.close()
        path = f"/api/kernels/{self.kernel_id}{self.query}"
        requests.delete(server.url + path, timeout=PATIENCE_S).raise_for_status()

    def send(self, code):
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": "execute_request",
            "username": "user",
        }
        header |= {"session": uuid.uuid4().hex, "date": "", "version": "5.3"}
        content = {
            "code": code,
            "silent": False,
            "store_history": True,
            "user_expressions": {},
        }
        content |= {"allow_stdin": False, "stop_on_error": True}
        message = {
            "header": header,
            "parent_header": {},
            "metadata": {},
            "content": content,
        }
        self.socket.send(json.dumps({**message, "channel": "shell"}))
        return header["msg_id"]

    def read_to_idle(self, msg_id):
        is_idle = False
        while not is_idle:
            message = json.loads(self.socket.recv())
            if message.get("parent_header", {}).get("msg_id") == msg_id:
                is_idle = self.read(message["msg_type"], message["content"])

    def read(self, kind, content):
        if kind == "stream" and content["name"] == "stdout":
            self.stdout += content["text"]
        elif kind == "stream":
            self.stderr += content["text"]
        elif kind in ("execute_result", "display_data"):
            self.results.append(content["data"])
        elif kind == "error":
            self.stderr += "\n".join(content["traceback"])
        return kind == "status" and content["execution_state"] == "idle"


@pytest.fixture
def run(serve):
    return lambda code: Run(serve, code)


def test_output(run, rest):
    done = run("import sys\nprint('out')\nprint('err', file=sys.stderr)\n6 * 7")
    assert (done.stdout, done.stderr) == ("out\n", "err\n")
    assert [data["text/plain"] for data in done.results] == ["42"]
    assert done.kernel_id not in rest.kernel_ids()


def test_a_picture(run):
    done = run("import matplotlib.pyplot as plt\nplt.plot([1, 2])\nplt.show()")
    assert [data["image/png"][:11] for data in done.results] == ["iVBORw0KGgo"]


def test_a_dead_kernel(run):
    assert "SIGKILL" in run("import os\nos.kill(os.getpid(), 9)").stderr
