"""link - a TCP relay in front of the gateway, which a test cuts and mends.

Its one complication is to be fair: what TCP told the gateway had arrived is still passed on, and
what it sends after the cut is not acknowledged by anybody.
"""

import queue
import select
import socket
import struct
import threading

from cutter import deafen

RESET_AT_CLOSE = struct.pack("ii", 1, 0)
LOOK_AGAIN_S = 0.05
PATIENCE_S = 60


class Link:
    """Use it as a context manager; `url` leads to the server that listens on 127.0.0.1:port. All
    sockets belong to one thread, which does what cut() and mend() ask for between two looks."""

    def __init__(self, port):
        self._target = ("127.0.0.1", port)
        self._peers = {}  # socket: the one that what it says is sent to
        self._servers = set()  # those of _peers that lead to the target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._address = self._listener.getsockname()
        self._jobs = queue.SimpleQueue()
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._relay)
        self._thread.start()

    @property
    def url(self):
        return f"http://{self._address[0]}:{self._address[1]}"

    def cut(self):
        """Resets every connection to the server; new ones are refused until mend()."""
        self._ask_for(self._close_all)

    def mend(self):
        """Connections are taken again, at the same address."""
        self._ask_for(self._listen)

    def _ask_for(self, job):
        done = threading.Event()
        self._jobs.put((job, done))
        assert done.wait(PATIENCE_S), "the relay's thread is gone"

    def _relay(self):
        while not self._ends.is_set():
            watched = [*self._peers, *([self._listener] if self._listener else [])]
            for one in select.select(watched, [], [], LOOK_AGAIN_S)[0]:
                self._attend(one)
            while not self._jobs.empty():
                job, done = self._jobs.get()
                job()
                done.set()
        self._close_all()

    def _listen(self):
        self._listener = self._listener or socket.create_server(self._address)

    def _close_all(self):
        if self._listener:
            self._listener.close()
            self._listener = None
        for server in list(self._servers):
            deafen(server)
            while server in self._peers and self._pass_on(server):
                pass
            self._end(server)

    def _attend(self, one):
        if one is self._listener:
            self._join(one.accept()[0])
        elif one in self._peers:
            self._pass_on(one)

    def _join(self, client):
        server = socket.create_connection(self._target)
        for one in (client, server):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._peers |= {client: server, server: client}
        self._servers.add(server)

    def _pass_on(self, one):
        """Whether there was something to pass on."""
        try:
            data = one.recv(1 << 16, socket.MSG_DONTWAIT)
            if data:
                self._peers[one].sendall(data)
        except BlockingIOError:
            return False
        except OSError:
            data = b""
        if not data:
            self._end(one)
        return bool(data)

    def _end(self, one):
        if one not in self._peers:
            return
        for end in (one, self._peers[one]):
            if end in self._servers:
                end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET_AT_CLOSE)
            self._servers.discard(end)
            del self._peers[end]
            end.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._ends.set()
        self._thread.join()
