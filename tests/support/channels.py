"""channels - a raw client of a kernel's WebSocket: it sends what it is told and hides nothing.

No background thread: a message is read when a test asks for one, so what a test sees is the order
on the wire. Every message ever read stays in `log`.
"""

import contextlib
import datetime
import time
import uuid

import frames
import websocket

# Patience, not a measure: a busy machine may be slow, a lost message never comes.
PATIENCE_S = 60


class Answer:
    """One request's reply and everything that names it as parent, in order."""

    def __init__(self, messages):
        self.messages = messages
        self.reply = next((m for m in messages if m["channel"] in ("shell", "control")), None)

    @property
    def content(self):
        return self.reply["content"]

    @property
    def iopub(self):
        return [m for m in self.messages if m["channel"] == "iopub"]

    @property
    def kinds(self):
        return [m["header"]["msg_type"] for m in self.iopub]

    @property
    def states(self):
        return [m["content"]["execution_state"] for m in self.of_kind("status")]

    @property
    def text(self):
        """Everything on stdout, and the text/plain of results."""
        streams = (m["content"] for m in self.of_kind("stream"))
        text = "".join(content["text"] for content in streams if content["name"] == "stdout")
        results = (m["content"]["data"] for m in self.of_kind("execute_result"))
        return text + "".join(data["text/plain"] for data in results)

    def of_kind(self, kind):
        return [m for m in self.iopub if m["header"]["msg_type"] == kind]


class Channels:
    """A WebSocket on /api/kernels/{id}/channels of a server with `ws_url` and `token`."""

    def __init__(self, server, kernel_id, encoding="legacy", session_id=None, **options):
        self.session = session_id or uuid.uuid4().hex
        self._encode, self._decode = frames.ENCODINGS[encoding]
        options.setdefault("header", {"Authorization": f"token {server.token}"})
        if encoding == "v1":
            options.setdefault("subprotocols", [frames.V1])
        if trust := getattr(server, "trust", None):
            options.setdefault("sslopt", {"ca_certs": str(trust)})
        query = f"?session_id={session_id}" if session_id else ""
        self.socket = websocket.create_connection(
            f"{server.ws_url}/api/kernels/{kernel_id}/channels{query}",
            timeout=PATIENCE_S,
            enable_multithread=True,
            **options,
        )
        self.log = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    def cut(self):
        """Ends the TCP connection without a close frame."""
        self.socket.shutdown()

    # -- sending --------------------------------------------------------------------------------

    def message(self, kind, content, channel="shell", **parts):
        """A message as @jupyterlab/services makes it; parts replace or add top-level keys."""
        header = {
            "msg_id": uuid.uuid4().hex,
            "msg_type": kind,
            "session": self.session,
            "username": "tester",
            "version": "5.3",
            "date": datetime.datetime.now(datetime.timezone.utc).isoformat(),
        }
        base = {"channel": channel, "header": header, "parent_header": {}, "metadata": {}}
        return {**base, "content": content, "buffers": [], **parts}

    def send_frame(self, frame):
        send = self.socket.send_binary if isinstance(frame, bytes) else self.socket.send
        send(frame)

    def send_message(self, message):
        self.send_frame(self._encode(message))
        return message["header"]["msg_id"]

    def send(self, kind, content, channel="shell", **parts):
        return self.send_message(self.message(kind, content, channel, **parts))

    def execute(self, code, **content):
        return self.send("execute_request", execute_content(code, **content))

    # -- receiving ------------------------------------------------------------------------------

    def receive(self, seconds=PATIENCE_S):
        """The next message; None where the server closed the socket. Pings, which the library
        answers, do not prolong the wait."""
        deadline, opcode, frame = time.monotonic() + seconds, websocket.ABNF.OPCODE_PING, b""
        while opcode in (websocket.ABNF.OPCODE_PING, websocket.ABNF.OPCODE_PONG):
            self.socket.settimeout(max(0.001, deadline - time.monotonic()))
            opcode, frame = self.socket.recv_data(control_frame=True)
        if opcode == websocket.ABNF.OPCODE_CLOSE:
            return None
        message = self._decode(frame.decode() if opcode == websocket.ABNF.OPCODE_TEXT else frame)
        self.log.append(message)
        return message

    def until(self, condition, seconds=PATIENCE_S):
        """Reads up to the first message that satisfies condition and returns it."""
        deadline = time.monotonic() + seconds
        while True:
            message = self.receive(max(0.001, deadline - time.monotonic()))
            assert message is not None, "the server closed the socket"
            if condition(message):
                return message

    def until_kind(self, kind, parent=None, seconds=PATIENCE_S):
        def fits(message):
            return message["header"]["msg_type"] == kind and parent in (None, parent_of(message))

        return self.until(fits, seconds)

    def answers(self, *msg_ids, seconds=PATIENCE_S):
        """Waits for the reply and the idle of each; their Answers, in the order asked for."""
        open_ends = {(msg_id, end) for msg_id in msg_ids for end in ("reply", "idle")}
        for message in self.log:
            open_ends.discard((parent_of(message), end_of(message)))
        while open_ends:
            message = self.until(lambda m: parent_of(m) in msg_ids, seconds)
            open_ends.discard((parent_of(message), end_of(message)))
        return [self.answer_so_far(msg_id) for msg_id in msg_ids]

    def answer(self, msg_id, seconds=PATIENCE_S):
        return self.answers(msg_id, seconds=seconds)[0]

    def answer_so_far(self, msg_id):
        return Answer([m for m in self.log if parent_of(m) == msg_id])

    def run(self, code, seconds=PATIENCE_S, **content):
        return self.answer(self.execute(code, **content), seconds)

    def kernel_info(self, channel="shell"):
        return self.answer(self.send("kernel_info_request", {}, channel))

    def close_code(self):
        """Reads to the end; the code of the server's close frame, None where it sent none."""
        with contextlib.suppress(websocket.WebSocketConnectionClosedException):
            while True:
                opcode, frame = self.socket.recv_data()
                if opcode == websocket.ABNF.OPCODE_CLOSE:
                    return int.from_bytes(frame[:2], "big") if len(frame) >= 2 else None
        return None


def execute_content(code, **content):
    defaults = {"silent": False, "store_history": True, "user_expressions": {}}
    return {"code": code, **defaults, "allow_stdin": False, "stop_on_error": True, **content}


def parent_of(message):
    return (message["parent_header"] or {}).get("msg_id")


def end_of(message):
    """ "reply", "idle" or None: which end of its request this message is."""
    if message["header"]["msg_type"].endswith("_reply"):
        return "reply"
    if message["header"]["msg_type"] == "status":
        return "idle" if message["content"]["execution_state"] == "idle" else None
    return None
