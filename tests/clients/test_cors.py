"""Pages of other web origins: every preflight is answered, every answer carries the headers, and a
page that is not named is refused, on REST and on the WebSocket."""

import cellblock
import pytest
import requests
import routes
import websocket
from channels import PATIENCE_S
from rest import Rest, check_error

LAB, DEVELOPER, EVIL = "https://lab.example.org", "http://localhost:3000", "http://evil.example.org"
ALLOWED = "Access-Control-Allow-Origin"
# What a browser asks before @jupyterlab/services may call.
ASKS = {
    "Access-Control-Request-Method": "POST",
    "Access-Control-Request-Headers": "authorization,content-type,x-xsrftoken",
}
PATHS = sorted({path.replace("{}", "x") for _, path, _, _ in routes.rows()})
PATHS += ["/", "/nothing", "/api/contents/a.ipynb", "//api/kernels"]


def start(*arguments):
    return cellblock.Serve("--default-kernel", "echo", *arguments)


@pytest.fixture(scope="module")
def serve():
    arguments = ("--allow-origin", f"{LAB},{DEVELOPER}", "--http-body-bytes", "2 MiB")
    with start(*arguments) as server:
        yield server


@pytest.fixture(scope="module")
def closed():
    """A server that names no origin."""
    with start() as server:
        yield server


@pytest.fixture(scope="module")
def open_to_all():
    with start("--allow-origin", "*") as server:
        yield server


def cors_headers(response):
    return {name for name in response.headers if name.lower().startswith("access-control-")}


def preflight(server, path, origin):
    headers = {"Origin": origin, **ASKS}
    return requests.options(server.url + path, headers=headers, timeout=PATIENCE_S)


@pytest.mark.parametrize("path", PATHS)
def test_preflight_everywhere(serve, path):
    """Without a token; what it asks for is allowed."""
    response = preflight(serve, path, LAB)
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers[ALLOWED] == LAB
    assert response.headers["Vary"] == "Origin"
    headers = response.headers["Access-Control-Allow-Headers"]
    assert headers == "accept, content-type, authorization, x-xsrftoken"
    methods = response.headers["Access-Control-Allow-Methods"]
    assert methods == "GET, PUT, POST, PATCH, DELETE, OPTIONS"


def test_preflight_of_others(serve, closed, open_to_all):
    """Answered too, but nothing is allowed, and no header stands there empty."""
    for server, origin in (serve, EVIL), (closed, EVIL), (closed, "null"):
        response = preflight(server, "/api/kernels", origin)
        assert response.status_code == 204
        assert cors_headers(response) == set()
    assert preflight(open_to_all, "/api/kernels", EVIL).headers[ALLOWED] == "*"


@pytest.mark.parametrize(
    "method, path, options, status",
    [
        ("GET", "/api/kernelspecs", {}, 200),
        ("GET", "/api/kernelspecs", {"headers": {"Authorization": ""}}, 401),
        ("GET", "/api/kernelspecs", {"headers": {"Authorization": "token x"}}, 403),
        ("GET", "/nothing", {}, 404),
        ("PUT", "/api/kernels", {}, 405),
        ("POST", "/api/kernels", {"data": "{"}, 400),
        ("POST", "/api/kernels", {"data": b" " * (3 << 20)}, 413),  # before anybody heard of it
    ],
)
@pytest.mark.parametrize("origin", [LAB, DEVELOPER])
def test_every_answer_has_the_headers(serve, method, path, options, status, origin):
    headers = {"Origin": origin, **options.get("headers", {})}
    rest = Rest(serve)
    response = rest.request(method, path, **{**options, "headers": headers})
    assert response.status_code == status
    assert response.headers[ALLOWED] == origin
    assert response.headers["Access-Control-Expose-Headers"] == "Location"


def own(server):
    return server.url


def test_who_is_let_in(serve, closed, open_to_all):
    for server, origin in (
        (serve, None),
        (serve, LAB),
        (serve, own(serve)),
        (closed, None),
        (closed, own(closed)),
        (open_to_all, EVIL),
        (open_to_all, "null"),
    ):
        headers = {"Origin": origin} if origin else {}
        assert Rest(server).get("/api/kernels", headers=headers).status_code == 200


@pytest.mark.parametrize("origin", [EVIL, "null", LAB + ":444", "http://127.0.0.1:1"])
def test_other_pages_are_refused(serve, closed, origin):
    """With the token too: nothing starts, and the answer names what would allow it."""
    for server in serve, closed:
        rest = Rest(server)
        response = rest.post("/api/kernels", headers={"Origin": origin})
        error = check_error(response, 403)
        assert error["code"] == "origin_not_allowed"
        assert origin in error["message"] and "allow_origin" in error["message"]
        assert cors_headers(response) == set()
        assert rest.kernel_ids() == set()


def open_socket(server, kernel_id, origin):
    url = f"{server.ws_url}/api/kernels/{kernel_id}/channels?token={server.token}"
    return websocket.create_connection(url, origin=origin, timeout=PATIENCE_S)


def test_websockets(serve, open_to_all):
    for server, good in (serve, (LAB, own(serve))), (open_to_all, (EVIL,)):
        rest = Rest(server)
        kernel_id = rest.start_kernel(name="echo")
        for origin in good:
            open_socket(server, kernel_id, origin).close()
        if server is serve:
            with pytest.raises(websocket.WebSocketBadStatusException) as refusal:
                open_socket(server, kernel_id, EVIL)
            assert refusal.value.status_code == 403
            assert b"origin_not_allowed" in refusal.value.resp_body
        rest.end_kernel(kernel_id)
