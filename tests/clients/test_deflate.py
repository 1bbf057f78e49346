"""permessage-deflate with the libraries that offer it by themselves; tests/abuse/test_packed.py
looks at the frames."""

import json
import os
import subprocess

import websockets.sync.client
from channels import PATIENCE_S, Channels, end_of, execute_content, parent_of

SCRIPT = os.path.join(os.path.dirname(__file__), "deflate.mjs")
NUMBERS = "".join(f"{n} of a flood\n" for n in range(20_000))
PRINT = "for n in range(20_000):\n    print(n, 'of a flood')"


def url_of(server, kernel_id):
    return f"{server.ws_url}/api/kernels/{kernel_id}/channels?token={server.token}"


def test_websockets_for_python(serve, kernel_id):
    with websockets.sync.client.connect(url_of(serve, kernel_id), max_size=None) as socket:
        (extension,) = socket.protocol.extensions
        assert extension.name == "permessage-deflate"
        message = request_message(f"print(len({'y' * 300_000!r}))\n{PRINT}")
        socket.send(json.dumps(message))  # compressed too
        text = ""
        while True:
            heard = json.loads(socket.recv(PATIENCE_S))
            if parent_of(heard) != message["header"]["msg_id"]:
                continue
            text += heard["content"].get("text", "")
            if end_of(heard) == "idle":
                break
        assert text == f"300000\n{NUMBERS}"


class Maker:
    """What Channels.message needs of a Channels."""

    session = "deflate"


def request_message(code):
    return Channels.message(Maker, "execute_request", execute_content(code))


def test_ws_for_node(serve, kernel_id):
    done = subprocess.run(
        ["node", SCRIPT, url_of(serve, kernel_id), json.dumps(request_message(PRINT))],
        stdout=subprocess.PIPE,
        timeout=PATIENCE_S,
        check=True,
    )
    saw = json.loads(done.stdout)
    assert saw["extensions"] == "permessage-deflate"
    assert saw["text"] == NUMBERS
