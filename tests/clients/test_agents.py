"""Agent frameworks, replayed: what AutoGen's docker_jupyter and smolagents' remote executors send,
read and rely on, message by message."""

import asyncio
import json
import secrets
import uuid

import pytest
import requests
import websocket
import websockets
from channels import PATIENCE_S

# -- smolagents: a new WebSocket per cell, no channel, no buffers, the end is iopub's idle ---------


class Smolagents:
    def __init__(self, serve):
        self.serve = serve
        assert self.get("/api/kernelspecs").status_code == 200
        response = requests.post(self.url("/api/kernels"), timeout=PATIENCE_S)
        assert response.status_code == 201
        self.kernel_id = response.json()["id"]

    def url(self, path, base=None):
        return f"{base or self.serve.url}{path}?token={self.serve.token}"

    def get(self, path):
        return requests.get(self.url(path), timeout=PATIENCE_S)

    def run(self, code):
        """(stdout, result, error content) of one cell."""
        path = f"/api/kernels/{self.kernel_id}/channels"
        socket = websocket.create_connection(self.url(path, self.serve.ws_url), timeout=PATIENCE_S)
        try:
            return self._read(socket, self._send(socket, code))
        finally:
            socket.close()

    def _send(self, socket, code):
        msg_id = str(uuid.uuid4())
        header = {
            "msg_id": msg_id,
            "username": "anonymous",
            "session": str(uuid.uuid4()),
            "msg_type": "execute_request",
            "version": "5.0",
        }
        content = {"code": code, "silent": False, "store_history": True}
        content |= {"user_expressions": {}, "allow_stdin": False}
        message = {"header": header, "parent_header": {}, "metadata": {}, "content": content}
        socket.send(json.dumps(message))
        return msg_id

    def _read(self, socket, msg_id):
        output, result, error = [], None, None
        while True:
            message = json.loads(socket.recv())
            if message.get("parent_header", {}).get("msg_id") != msg_id:
                continue
            content = message["content"]
            if message["msg_type"] == "stream":
                output.append(content["text"])
            elif message["msg_type"] == "execute_result":
                result = content["data"]["text/plain"]
            elif message["msg_type"] == "error":
                error = content
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                return "".join(output), result, error


@pytest.fixture(scope="module")
def smolagents(serve, rest):
    client = Smolagents(serve)
    yield client
    rest.end_kernel(client.kernel_id)


def test_smolagents_keeps_state_between_cells(smolagents):
    assert smolagents.run("x = 20\nprint('set')") == ("set\n", None, None)
    assert smolagents.run("x += 1\nx * 2") == ("", "42", None)


def test_smolagents_final_answer(smolagents):
    answer = secrets.token_hex(700_000)
    code = "class FinalAnswerException(Exception): pass\n"
    _, _, error = smolagents.run(f"{code}raise FinalAnswerException({answer!r})")
    assert (error["ename"], error["evalue"]) == ("FinalAnswerException", answer)
    assert isinstance(error["traceback"], list)


def test_smolagents_hears_the_death_of_its_kernel(serve, rest):
    """It reads iopub without a time limit: without error and idle it would hang for ever."""
    client = Smolagents(serve)
    _, _, error = client.run("import os\nos.kill(os.getpid(), 9)")
    assert "SIGKILL" in error["evalue"] or "SIGKILL" in error["ename"]
    rest.delete(f"/api/kernels/{client.kernel_id}")


# -- AutoGen: one WebSocket for all, buffers as an object, kernel_info before every block ----------


class AutoGen:
    def __init__(self, serve, socket):
        self.serve = serve
        self.socket = socket
        self.session = uuid.uuid4().hex

    async def _send(self, kind, content):
        msg_id = uuid.uuid4().hex
        header = {
            "username": "autogen",
            "version": "5.0",
            "session": self.session,
            "msg_id": msg_id,
            "msg_type": kind,
        }
        message = {"header": header, "parent_header": {}, "channel": "shell", "content": content}
        await self.socket.send(json.dumps({**message, "metadata": {}, "buffers": {}}))
        return msg_id

    async def _receive(self, msg_id):
        while True:
            message = json.loads(await asyncio.wait_for(self.socket.recv(), PATIENCE_S))
            if message["parent_header"].get("msg_id") == msg_id:
                return message

    async def wait_for_ready(self):
        msg_id = await self._send("kernel_info_request", {})
        while (await self._receive(msg_id))["msg_type"] != "kernel_info_reply":
            pass

    async def execute(self, code):
        """(is_ok, text, mime types of data)"""
        await self.wait_for_ready()
        content = {"code": code, "silent": False, "store_history": True}
        content |= {"user_expressions": {}, "allow_stdin": False, "stop_on_error": True}
        msg_id = await self._send("execute_request", content)
        text, types = [], []
        while True:
            message = await self._receive(msg_id)
            content = message["content"]
            if message["msg_type"] in ("execute_result", "display_data"):
                types += content["data"]
                text.append(content["data"].get("text/plain", ""))
            elif message["msg_type"] == "stream":
                text.append(content["text"])
            elif message["msg_type"] == "error":
                return False, f"{content['ename']}: {content['evalue']}", types
            elif message["msg_type"] == "status" and content["execution_state"] == "idle":
                return True, "".join(text), types


def with_autogen(serve, kernel_id, conversation):
    async def talk():
        url = f"ws://127.0.0.1:{serve.port}/api/kernels/{kernel_id}/channels"
        header = {"Authorization": f"token {serve.token}"}
        async with websockets.connect(url, additional_headers=header) as socket:
            await conversation(AutoGen(serve, socket))

    asyncio.run(talk())


def test_autogen_keeps_state(serve, kernel_id):
    async def conversation(client):
        assert await client.execute("x = 100\nprint(x)") == (True, "100\n", [])
        assert await client.execute("x += 100\nprint(x)") == (True, "200\n", [])
        assert await client.execute("x += 100\nx") == (True, "300", ["text/plain"])

    with_autogen(serve, kernel_id, conversation)


def test_autogen_error_then_more(serve, kernel_id):
    """It leaves a cell at its error, while the kernel still aborts what is queued behind it."""

    async def conversation(client):
        for _ in range(10):
            is_ok, text, _ = await client.execute("raise ValueError('no')")
            assert (is_ok, text) == (False, "ValueError: no")
            assert await client.execute("print('yes')") == (True, "yes\n", [])

    with_autogen(serve, kernel_id, conversation)


def test_autogen_image_and_html(serve, kernel_id):
    code = (
        "import matplotlib.pyplot as plt\n"
        "from IPython.display import HTML, display\n"
        "display(HTML('<b>bold</b>'))\n"
        "plt.plot([1, 2, 3])\nplt.show()"
    )

    async def conversation(client):
        is_ok, _, types = await client.execute(code)
        assert is_ok
        assert {"text/html", "image/png"} <= set(types)

    with_autogen(serve, kernel_id, conversation)


def test_autogen_ping_is_answered_while_the_kernel_is_busy(serve, kernel_id):
    async def conversation(client):
        running = asyncio.create_task(client.execute("import time; time.sleep(2); print('slept')"))
        await asyncio.wait_for(await client.socket.ping(), PATIENCE_S)
        assert not running.done()
        assert await running == (True, "slept\n", [])

    with_autogen(serve, kernel_id, conversation)


def test_autogen_rest(serve):
    """Its client raises for every status that is no success."""
    header = {"Authorization": f"token {serve.token}"}

    def call(method, path, **options):
        url = f"http://127.0.0.1:{serve.port}{path}"
        response = requests.request(method, url, headers=header, timeout=PATIENCE_S, **options)
        response.raise_for_status()
        return response

    assert "python3" in call("GET", "/api/kernelspecs").json()["kernelspecs"]
    kernel_id = call("POST", "/api/kernels", json={"name": "python3"}).json()["id"]
    assert kernel_id in {model["id"] for model in call("GET", "/api/kernels").json()}
    call("POST", f"/api/kernels/{kernel_id}/restart")
    call("DELETE", f"/api/kernels/{kernel_id}")
