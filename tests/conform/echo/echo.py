"""echo - a running echo kernel for a test, and a client of it that sees every part on the wire."""

import contextlib
import tempfile
import uuid

import cellblock
import zmq
from jupyter_client.kernelspec import KernelSpecManager
from jupyter_client.manager import KernelManager
from jupyter_client.session import Session

KERNELS = cellblock.BUILD / "kernels"
# jupyter_client would put the sockets into the current folder.
SOCKETS = tempfile.TemporaryDirectory(prefix="test-echo-")
TIMEOUT_S = 30


def manager(transport="ipc"):
    specs = KernelSpecManager(kernel_dirs=[str(KERNELS)])
    kernel = KernelManager(kernel_name="echo", kernel_spec_manager=specs, transport=transport)
    if transport == "ipc":
        kernel.ip = f"{SOCKETS.name}/{uuid.uuid4()}"
    return kernel


@contextlib.contextmanager
def running(transport="ipc"):
    """A KernelManager whose kernel is ended politely."""
    kernel = manager(transport)
    kernel.start_kernel()
    try:
        yield kernel
    finally:
        kernel.shutdown_kernel()


def process_of(kernel):
    return kernel.provisioner.process


class Wire:
    """Plain ZeroMQ sockets to a kernel: a DEALER for shell, control and stdin, a SUB for iopub."""

    def __init__(self, kernel, identity=None):
        info = kernel.get_connection_info()
        self.context = zmq.Context()
        self.session = Session(key=info["key"], signature_scheme=info["signature_scheme"])
        self.identity = identity or self.session.bsession
        self.sockets = {}
        for channel, kind in (
            ("shell", zmq.DEALER),
            ("control", zmq.DEALER),
            ("stdin", zmq.DEALER),
            ("iopub", zmq.SUB),
            ("hb", zmq.REQ),
        ):
            self.sockets[channel] = self._connect(info, channel, kind)

    def _connect(self, info, channel, kind):
        socket = self.context.socket(kind)
        socket.linger = 0
        socket.rcvhwm = 0
        if kind == zmq.SUB:
            socket.subscribe(b"")
        else:
            socket.identity = self.identity
        separator = "-" if info["transport"] == "ipc" else ":"
        port = info[f"{channel}_port"]
        socket.connect(f"{info['transport']}://{info['ip']}{separator}{port}")
        return socket

    def close(self):
        self.context.destroy(linger=0)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def send(self, msg_type, content=None, channel="shell", buffers=None, header=None):
        """Returns the msg_id."""
        message = self.session.msg(msg_type, content or {})
        message["header"].update(header or {})
        self.session.send(self.sockets[channel], message, buffers=buffers)
        return message["header"]["msg_id"]

    def execute(self, code, **content):
        default = {"silent": False, "store_history": True, "user_expressions": {}}
        return self.send("execute_request", {"code": code, **default, **content})

    def receive(self, channel="shell", timeout_s=TIMEOUT_S):
        """The next message, or None."""
        socket = self.sockets[channel]
        if not socket.poll(timeout_s * 1000):
            return None
        _, parts = self.session.feed_identities(socket.recv_multipart(copy=True))
        return self.session.deserialize(parts)

    def receive_all(self, channel="iopub", until_idle_of=None):
        """Messages of iopub up to the idle that answers a request, that among them. Welcomes are
        left out: one may come late, and each goes to the subscribers of shorter topics too."""
        found = []
        while True:
            message = self.receive(channel)
            assert message, f"{channel}: nothing came after {[m['msg_type'] for m in found]}"
            if message["msg_type"] != "iopub_welcome":
                found.append(message)
            if is_status(message, "idle") and parent_of(message) == until_idle_of:
                return found

    def await_ready(self):
        """After it nothing on iopub is missed: a subscription has no other sign of having arrived
        (the welcome is for the first subscriber of a topic alone)."""
        for _ in range(100):
            msg_id = self.send("kernel_info_request")
            assert self.receive()
            while message := self.receive("iopub", timeout_s=0.2):
                if is_status(message, "idle") and parent_of(message) == msg_id:
                    return
        raise AssertionError("iopub stays silent")

    def await_busy(self, msg_id):
        while True:
            message = self.receive("iopub")
            assert message
            if is_status(message, "busy") and parent_of(message) == msg_id:
                return


def parent_of(message):
    return message["parent_header"].get("msg_id")


def is_status(message, state):
    return message["msg_type"] == "status" and message["content"]["execution_state"] == state


def wait_for_end(kernel):
    """The exit status of a kernel that ends by itself, negative for a signal."""
    return process_of(kernel).wait(TIMEOUT_S)
