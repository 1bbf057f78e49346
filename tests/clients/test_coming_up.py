"""Clients that ask while the server starts, as smolagents does until its first 200."""

import contextlib
import http.client
import socket
import threading

import cellblock
from channels import PATIENCE_S


@contextlib.contextmanager
def reserved_port():
    """A port that a server may bind and nobody else is given: bound here too, without listening."""
    with socket.socket() as holder:
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind(("127.0.0.1", 0))
        yield holder.getsockname()[1]


def ask(port, token):
    """The status of one request, or the name of the error."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE_S)
    try:
        connection.request("GET", f"/api/kernelspecs?token={token}")
        return connection.getresponse().status
    except (OSError, http.client.HTTPException) as error:
        return type(error).__name__
    finally:
        connection.close()


def test_refused_then_answered():
    """Connections are refused until requests are answered: no reset, no 5xx, no wait in between."""
    token, seen, started = "0123456789abcdef", [], threading.Event()

    def poll(port):
        while not seen or seen[-1] != 200:
            seen.append(ask(port, token))
            started.set()

    with reserved_port() as port:
        poller = threading.Thread(target=poll, args=(port,), daemon=True)
        poller.start()
        started.wait(PATIENCE_S)
        with cellblock.Serve("--listen", f"127.0.0.1:{port}", token=token) as server:
            poller.join(PATIENCE_S)
            assert not poller.is_alive(), server.log()
    assert set(seen) == {"ConnectionRefusedError", 200}
    assert seen[-1] == 200
