"""A page of another web origin, in a real browser: it works with a gateway that names its origin in
allow_origin, and with any other it reads nothing, starts nothing and opens no WebSocket."""

import contextlib
import http.server
import threading

import cellblock
import pytest
from rest import Rest

# Each resolves to what the page saw.
FETCH = """async ([url, token]) => {
    const headers = {Authorization: `token ${token}`, 'Content-Type': 'application/json'};
    try {
        const response = await fetch(`${url}/api/kernels`, {method: 'POST', headers, body: '{}'});
        return [response.status, response.headers.get('Location')];
    } catch (error) {
        return error.name;
    }
}"""
# A request that a browser sends without asking first.
SEND = """async ([url, token]) => {
    const options = {method: 'POST', mode: 'no-cors', body: '{}'};
    return (await fetch(`${url}/api/kernels?token=${token}`, options)).type;
}"""
FETCH_REFUSAL = """async ([url]) => (await fetch(`${url}/api/kernels`)).status"""
OPEN = """([url, token, id]) => new Promise(resolve => {
    const address = `${url.replace('http', 'ws')}/api/kernels/${id}/channels?token=${token}`;
    const socket = new WebSocket(address);
    socket.onopen = () => resolve('open');
    socket.onerror = () => resolve('error');
})"""


class Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>another origin</title>")

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def origin():
    """A web origin of its own."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def page(chromium, origin):
    page = chromium.new_page()
    page.goto(origin)
    yield page
    page.close()


@contextlib.contextmanager
def gateway(*arguments):
    with cellblock.Serve("--default-kernel", "echo", *arguments) as server:
        yield server, [server.url, server.token]


def test_named(page, origin):
    with gateway("--allow-origin", f"https://lab.example.org,{origin}") as (server, access):
        status, location = page.evaluate(FETCH, access)
        (kernel_id,) = Rest(server).kernel_ids()
        assert (status, location) == (201, f"/api/kernels/{kernel_id}")
        assert page.evaluate(FETCH_REFUSAL, access) == 401  # an error can be read too
        assert page.evaluate(OPEN, [*access, kernel_id]) == "open"


def test_not_named(page):
    with gateway() as (server, access):
        kernel_id = Rest(server).start_kernel(name="echo")
        assert page.evaluate(FETCH, access) == "TypeError"
        assert page.evaluate(SEND, access) == "opaque"
        assert page.evaluate(OPEN, [*access, kernel_id]) == "error"
        assert Rest(server).kernel_ids() == {kernel_id}
