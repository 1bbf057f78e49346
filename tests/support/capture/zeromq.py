"""zeromq - puts itself between jupyter_client and ipykernel and writes what they say, one file per
message, as the parts that a ZeroMQ socket gave: netstrings (SIZE:BYTES,), one behind the other.

Usage: zeromq.py FOLDER. Files are NUMBER-SENDER-CHANNEL-TYPE.parts; the key of the signatures is
KEY below. Of messages that are alike (sender, channel, type, with buffers,
with bytes that are not UTF-8) the first stays."""

import itertools
import json
import pathlib
import queue
import sys
import threading

import zmq
from jupyter_client import BlockingKernelClient, KernelManager

KEY = "5a0c1b9e-vectors"
CHANNELS = ("shell", "control", "stdin", "iopub")
BUFFERS = (bytes(range(256)), b"", "two \N{EURO SIGN}".encode())

CODE = (
    "import sys; print('to stdout \\N{EURO SIGN}'); print('to stderr', file=sys.stderr); 6 * 7",
    "handle = display({'text/plain': 'one', 'application/json': {'n': 10**70}}, raw=True,"
    " display_id=True); handle.update({'text/plain': 'two'}, raw=True)",
    "from IPython.display import clear_output; clear_output(wait=True)",
    "1 / 0",
    "print('hello', input('name? '))",
    "from comm import create_comm\n"
    "get_ipython().kernel.comm_manager.register_target('mirror',"
    " lambda comm, message: comm.on_msg(lambda m: comm.send(m['content']['data'], None,"
    " m['buffers'])))\n"
    f"create_comm(target_name='theirs', data={{'x': 1}}, buffers={list(BUFFERS)!r})",
    "print('\\udcff')",  # a byte of a file name: jupyter_client sends it as the bare byte 0xff
)


def is_utf8(data):
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


class Tap(threading.Thread):
    """One channel's relay: a socket towards the client, one towards the kernel."""

    client = b""  # the identity of the one client, on all its sockets; first heard on shell

    def __init__(self, context, channel, back_address, folder, counter, stop):
        super().__init__(daemon=True)
        self.channel, self.folder, self.counter, self.stop = channel, folder, counter, stop
        published = channel == "iopub"
        self.front = context.socket(zmq.PUB if published else zmq.ROUTER)
        self.back = context.socket(zmq.SUB if published else zmq.DEALER)
        self.back.setsockopt(zmq.IDENTITY, b"tap")  # stdin and shell must be equal
        self.back.setsockopt(zmq.LINGER, 0)
        self.front.setsockopt(zmq.LINGER, 0)
        if published:
            self.back.subscribe(b"")
        self.port = self.front.bind_to_random_port("tcp://127.0.0.1")
        self.back.connect(back_address)

    def run(self):
        poller = zmq.Poller()
        for socket in (self.back,) if self.channel == "iopub" else (self.front, self.back):
            poller.register(socket, zmq.POLLIN)
        while not self.stop.is_set():
            for socket, _ in poller.poll(100):
                parts = socket.recv_multipart()
                if socket is self.front:
                    self.write("client", parts)
                    Tap.client, *parts = parts
                    self.back.send_multipart(parts)
                else:
                    self.write("kernel", parts)
                    identity = [] if self.channel == "iopub" else [self.client]
                    self.front.send_multipart(identity + parts)

    def write(self, sender, parts):
        behind = parts[parts.index(b"<IDS|MSG>") + 1 :]
        header, buffers = json.loads(behind[1]), behind[5:]
        name = f"{sender}-{self.channel}-{header['msg_type']}"
        name += "-buffers" if buffers else "" if is_utf8(behind[4]) else "-bytes"
        if any(self.folder.glob(f"[0-9]*-{name}.parts")):
            return
        path = self.folder / f"{next(self.counter):02}-{name}.parts"
        path.write_bytes(b"".join(b"%d:%s," % (len(part), part) for part in parts))


def run(client, code):
    """Executes code; answers what it asks, and returns when it is idle."""
    message_id = client.execute(code)
    while True:
        if "input(" in code:
            client.get_stdin_msg(timeout=10)
            client.input("Ada")
            code = ""
        try:
            message = client.get_iopub_msg(timeout=0.2)
        except queue.Empty:
            continue
        ours = message["parent_header"].get("msg_id") == message_id
        if ours and message["content"].get("execution_state") == "idle":
            client.get_shell_msg(timeout=10)
            return


def send(client, channel, msg_type, content, buffers=()):
    message = client.session.msg(msg_type, content)
    client.session.send(channel.socket, message, buffers=list(buffers))


def ask(client, channel, msg_type, content):
    send(client, channel, msg_type, content)
    while channel.get_msg(timeout=10)["msg_type"] != msg_type.replace("request", "reply"):
        pass


def talk(client):
    client.wait_for_ready(timeout=30)
    for code in CODE:
        run(client, code)
    for name, content in (
        ("complete_request", {"code": "pri", "cursor_pos": 3}),
        ("inspect_request", {"code": "print", "cursor_pos": 5, "detail_level": 0}),
        ("is_complete_request", {"code": "for x in y:"}),
        ("history_request", {"hist_access_type": "tail", "n": 2, "output": False, "raw": True}),
        ("comm_info_request", {}),
    ):
        ask(client, client.shell_channel, name, content)
    comm = {"comm_id": "c0ffee", "target_name": "mirror", "data": {}}
    send(client, client.shell_channel, "comm_open", comm)
    data = {"comm_id": "c0ffee", "data": {"back": True}}
    send(client, client.shell_channel, "comm_msg", data, BUFFERS)
    while client.get_iopub_msg(timeout=10)["msg_type"] != "comm_msg":
        pass
    send(client, client.shell_channel, "comm_close", {"comm_id": "c0ffee", "data": {}})
    ask(client, client.control_channel, "debug_request", {"type": "request", "command": "debugInfo",
                                                          "seq": 1})  # fmt: skip
    ask(client, client.control_channel, "interrupt_request", {})
    ask(client, client.control_channel, "shutdown_request", {"restart": False})


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    manager = KernelManager(kernel_name="python3")
    manager.session.key = KEY.encode()
    manager.start_kernel()
    info, context, counter = manager.get_connection_info(), zmq.Context(), itertools.count(1)
    stop = threading.Event()
    taps = {}
    for name in CHANNELS:
        address = f"tcp://{info['ip']}:{info[f'{name}_port']}"
        taps[name] = Tap(context, name, address, folder, counter, stop)
    client = BlockingKernelClient()
    client.load_connection_info(info | {f"{name}_port": tap.port for name, tap in taps.items()})
    for tap in taps.values():
        tap.start()
    try:
        client.start_channels(hb=False)
        talk(client)
    finally:
        client.stop_channels()
        stop.set()
        for tap in taps.values():
            tap.join()
        context.destroy()
        manager.shutdown_kernel(now=True)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
