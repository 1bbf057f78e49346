"""Sessions know nothing of each other: whose environment, how many, and what a client that leaves
in the middle leaves behind."""

import concurrent.futures
import json
import socket

import cellblock
import pytest
from channels import Channels
from rest import Rest, check_error, check_model

ENVIRONMENT = "import json, os\nprint(json.dumps(dict(os.environ)))"
CANARY = "CANARY_OF_THE_GATEWAY"


@pytest.fixture(scope="module")
def serve(kernels):
    with cellblock.Serve(kernels=kernels, environment={CANARY: "leaked"}) as server:
        yield server


def environment_of(serve, kernel_id):
    with Channels(serve, kernel_id) as channels:
        return json.loads(channels.run(ENVIRONMENT).text)


def start_at_once(rest, bodies):
    """Kernel ids of overlapping POSTs, in the order of the bodies."""
    with concurrent.futures.ThreadPoolExecutor(len(bodies)) as pool:
        return list(pool.map(lambda body: rest.start_kernel(**body), bodies))


def test_each_kernel_has_its_own_environment(serve, rest):
    """Five overlapping POSTs with a secret each, then some without: no secret travels."""
    bodies = [{"env": {"KERNEL_SECRET": f"of {n}"}} for n in range(5)] + [{}, {"env": {}}]
    kernel_ids = start_at_once(rest, bodies)
    kernel_ids.append(rest.start_kernel())
    environments = [environment_of(serve, kernel_id) for kernel_id in kernel_ids]
    secrets = [environment.get("KERNEL_SECRET") for environment in environments]
    assert secrets == [*(f"of {n}" for n in range(5)), None, None, None]
    for kernel_id in kernel_ids:
        rest.end_kernel(kernel_id)


@pytest.mark.parametrize("body", [{}, {"env": {"KERNEL_A": "a"}}], ids=["no env", "env"])
def test_nothing_of_the_gateway_is_in_it(serve, rest, body):
    kernel_id = rest.start_kernel(**body)
    environment = environment_of(serve, kernel_id)
    assert CANARY not in environment
    assert "leaked" not in environment.values()
    assert serve.token not in json.dumps(environment)
    ours = [name for name in environment if name.startswith("CELLBLOCK")]
    assert ours == ["CELLBLOCK_MEMORY_BYTES"], "the session's own limit, and no parameter of ours"
    rest.end_kernel(kernel_id)


def test_odd_values_arrive_whole(serve, rest):
    odd = {"KERNEL_EMPTY": "", "KERNEL_EQUALS": "a=b=c", "KERNEL_TEXT": "é\n漢\t'\"$HOME`"}
    kernel_id = rest.start_kernel(env=odd)
    assert odd.items() <= environment_of(serve, kernel_id).items()
    rest.end_kernel(kernel_id)


@pytest.mark.parametrize(
    "env",
    [
        {"KERNEL_NUL": "a\0b"},
        {"KERNEL_A=B": "c"},
        {"KERNEL_LONG": "x" * 1_000_000},
        {"KERNEL_LAUNCH_TIMEOUT": "soon"},
    ],
    ids=["nul", "equals", "long", "timeout"],
)
def test_bad_values_are_refused(rest, env):
    check_error(rest.post("/api/kernels", json={"name": "python3", "env": env}), 400)


# -- how many -------------------------------------------------------------------------------------


def test_ten_at_once_where_three_are_allowed(start_serve, kernels):
    server = start_serve("--max-kernels", "3", kernels=kernels)
    rest = Rest(server)
    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        posts = [pool.submit(rest.post, "/api/kernels") for _ in range(10)]
        responses = [post.result() for post in posts]
    created = [response for response in responses if response.status_code == 201]
    assert len(created) == 3
    for response in responses:
        if response not in created:
            body = check_error(response, 403, 429)
            assert "max_kernels" in json.dumps(body) and "3" in json.dumps(body)
    assert rest.kernel_ids() == {response.json()["id"] for response in created}
    rest.end_kernel(created[0].json()["id"])
    check_model(rest.post("/api/kernels").json())


# -- clients that leave ---------------------------------------------------------------------------


def cut_post(serve, body, sent):
    """POST /api/kernels over a connection that is gone before any answer was read."""
    head = f"POST /api/kernels HTTP/1.1\r\nHost: x\r\nAuthorization: token {serve.token}\r\n"
    head += f"Content-Length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", serve.port)) as connection:
        connection.sendall((head + body).encode()[:sent])


def test_cut_in_the_head_or_body_of_a_post(serve, rest):
    before = rest.kernel_ids()
    for sent in (10, 60, -1):
        cut_post(serve, '{"name": "python3"}', sent)
    assert rest.kernel_ids() == before


def test_cut_before_the_answer_of_a_post(serve, rest):
    """Nobody knows its id, so it must be in the list, and usable."""
    before = rest.kernel_ids()
    cut_post(serve, '{"name": "python3"}', None)
    cellblock.wait_until(lambda: rest.kernel_ids() - before, 60, "the kernel in the list")
    (kernel_id,) = rest.kernel_ids() - before
    with Channels(serve, kernel_id) as channels:
        assert channels.run("print('here')").text == "here\n"
    rest.end_kernel(kernel_id)


def test_cut_in_a_cell(serve, rest, kernel_id):
    channels = Channels(serve, kernel_id)
    channels.run("cut = []")
    code = "print('on', flush=True)\nimport time\ntime.sleep(0.5)\ncut.append('done')"
    channels.until_kind("stream", channels.execute(code))
    channels.cut()
    with Channels(serve, kernel_id) as another:
        assert another.run("print(cut)").text == "['done']\n"
    assert kernel_id in rest.kernel_ids()


def test_cut_in_a_frame(serve, rest, kernel_id):
    channels = Channels(serve, kernel_id)
    # A text frame of 125 bytes, of which five come.
    channels.socket.sock.sendall(b"\x81\xfd\0\0\0\0hello")
    channels.cut()
    with Channels(serve, kernel_id) as another:
        assert another.run("print('whole')").text == "whole\n"
    cellblock.wait_until(lambda: rest.kernel(kernel_id)["connections"] == 0, 60, "no connection")
