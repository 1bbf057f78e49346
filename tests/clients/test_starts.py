"""What the start of a kernel is given: variables, an id, a place to start, a time; and how many
there may be."""

import concurrent.futures
import json
import time
import uuid

import cellblock
import kernelspecs
import pytest
import websocket
from channels import Channels
from rest import Rest, check_error

CANARY, VALUE = "CELLBLOCK_TEST_CANARY", "c4n4ry"
# What every jail sets by itself, beside KERNEL_ID.
OF_EVERY_JAIL = {
    *("HOME", "USER", "LOGNAME", "LANG", "TMPDIR", "TEMP", "PATH"),
    "CELLBLOCK_MEMORY_BYTES",
}


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    """The echo kernel, python3, and one that never becomes ready."""
    folder = tmp_path_factory.mktemp("kernels")
    kernelspecs.write_kernelspecs(folder, ("python3", "never"))
    return f"{folder}:{cellblock.BUILD / 'kernels'}"


@pytest.fixture(scope="module")
def serve(kernels, tmp_path_factory):
    sets = tmp_path_factory.mktemp("sets")
    (sets / "below").mkdir()
    sets.chmod(0o755)
    arguments = ("--allowed-envs=COLOUR", f"--data=sets={sets}")
    environment = {CANARY: VALUE, "KERNEL_OF_THE_GATEWAY": VALUE, "COLOUR": VALUE}
    with cellblock.Serve(*arguments, kernels=kernels, environment=environment) as server:
        yield server


@pytest.fixture(scope="module")
def rest(serve):
    return Rest(serve)


@pytest.fixture
def start(rest):
    """Starts an echo kernel with a body and ends it after the test."""
    started = []

    def start_one(**body):
        started.append(rest.start_kernel(**{"name": "echo", **body}))
        return started[-1]

    yield start_one
    for kernel_id in set(started) & rest.kernel_ids():
        rest.end_kernel(kernel_id)


def run(serve, kernel_id, code):
    with Channels(serve, kernel_id) as channels:
        return channels.run(code).text


def environment_of(serve, kernel_id):
    """All of a kernel's variables; values hold no newline here."""
    lines = run(serve, kernel_id, "env").splitlines()
    return dict(line.split("=", 1) for line in lines)


# -- variables ------------------------------------------------------------------------------------


def test_each_of_many_at_once_has_its_own(serve, start):
    """Overlapping requests share nothing, and leave nothing to those after them."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        asked = [{"KERNEL_SECRET": str(n), f"KERNEL_OF_{n}": "yes"} for n in range(5)]
        bodies = [{"env": env} for env in asked] + [{}, {"env": {}}, {"env": None}]
        ids = list(pool.map(lambda body: start(**body), bodies))
    ids.append(start())
    for kernel_id, env in zip(ids, [*asked, {}, {}, {}, {}], strict=True):
        seen = environment_of(serve, kernel_id)
        assert set(seen) - OF_EVERY_JAIL == {"KERNEL_ID", *env}
        assert seen["KERNEL_ID"] == kernel_id
        assert seen.items() >= env.items()
        assert VALUE not in "".join(seen.values()) and serve.token not in "".join(seen.values())


def test_what_is_not_allowed_is_left_out(serve, start):
    """Clients send all of the kind that they have, so this is no mistake of theirs."""
    names = ("HOME", "LD_PRELOAD", "PATH", "kernel_a", "KERNEL", "AKERNEL_", CANARY)
    env = {
        **dict.fromkeys(names, "theirs"),
        "A B": 7,
        "KERNEL_A": "1",
        "COLOUR": "blue",
    }
    seen = environment_of(serve, start(env=env))
    assert set(seen) - OF_EVERY_JAIL == {"KERNEL_ID", "KERNEL_A", "COLOUR"}
    assert seen["KERNEL_A"] == "1" and seen["COLOUR"] == "blue"
    assert "theirs" not in "".join(seen.values())


@pytest.mark.parametrize(
    "value", ["", "a=b", "$HOME `id` \\ ' \" ;", "two\nlines\r", "é 漢字 \U0001f40d"]
)
def test_a_value_arrives_as_it_is(serve, start, value):
    """No shell sees it: it has nothing that must not be in it but a NUL."""
    assert run(serve, start(env={"KERNEL_V": value}), "env KERNEL_V") == f"{value}\n"


BAD_VALUES = {
    "a number": ("7", "KERNEL_V is not a string"),
    "null": ("null", "KERNEL_V is not a string"),
    "a list": ('["x"]', "KERNEL_V is not a string"),
    "too long": (json.dumps("x" * 4097), "kernel_env_value_bytes allows 4096"),
    "a NUL": ('"a\\u0000b"', "u0000"),
    "half a surrogate": ('"\\ud800"', "invalid Unicode"),
}


@pytest.mark.parametrize("name", BAD_VALUES)
def test_a_value_that_no_variable_can_have(rest, name):
    value, words = BAD_VALUES[name]
    body = f'{{"name": "echo", "env": {{"KERNEL_V": {value}}}}}'
    answer = check_error(rest.post("/api/kernels", data=body), 400)
    assert words in answer["message"], answer
    assert rest.kernel_ids() == set()


def test_all_values_together_are_bounded(rest, start):
    many = {f"KERNEL_{n}": "x" * 4000 for n in range(8)}
    start(env=many)
    answer = check_error(
        rest.post("/api/kernels", json={"env": {**many, "KERNEL_8": "x" * 900}}), 400
    )
    assert answer["code"] == "invalid_env" and "32768 bytes (kernel_env_bytes)" in answer["message"]


def test_a_post_as_enterprise_gateway_s_client_makes_it(serve, rest):
    """No Content-Type, and its timeout is a number where its environment has none."""
    env = {"KERNEL_USERNAME": "ada", "KERNEL_LAUNCH_TIMEOUT": 120}
    response = rest.post("/api/kernels", data=json.dumps({"name": "echo", "env": env}))
    assert "Content-Type" not in response.request.headers
    assert response.status_code == 201, response.text
    seen = environment_of(serve, response.json()["id"])
    assert seen["KERNEL_USERNAME"] == "ada" and seen["KERNEL_LAUNCH_TIMEOUT"] == "120"
    rest.end_kernel(response.json()["id"])


# -- an id ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("make", [str, lambda made: str(made).upper()], ids=["lower", "UPPER"])
@pytest.mark.parametrize("place", ["env", "body"])
def test_an_id_that_the_client_chose(serve, rest, start, place, make):
    chosen = str(uuid.uuid4())
    text = make(chosen)
    kernel_id = start(**({"env": {"KERNEL_ID": text}} if place == "env" else {"kernel_id": text}))
    assert kernel_id == chosen
    assert environment_of(serve, kernel_id)["KERNEL_ID"] == chosen
    assert rest.post(f"/api/kernels/{chosen}/restart").status_code == 200
    assert run(serve, kernel_id, "print again") == "again\n"


def test_an_id_is_given_once(rest, start):
    body = {"name": "echo", "env": {"KERNEL_ID": str(uuid.uuid4())}}
    for _ in range(2):
        kernel_id = start(**body)
        answer = check_error(rest.post("/api/kernels", json=body), 409)
        assert answer["code"] == "duplicate_kernel"
        assert rest.kernel_ids() == {kernel_id}
        rest.end_kernel(kernel_id)


def test_a_body_may_name_a_kernel_that_is_there(rest, start):
    """As jupyter_server answers: it is that one."""
    kernel_id = start()
    response = rest.post("/api/kernels", json={"kernel_id": kernel_id})
    assert response.status_code == 201
    assert response.headers["Location"] == f"/api/kernels/{kernel_id}"
    assert response.json()["id"] == kernel_id and response.json()["name"] == "echo"
    assert rest.kernel_ids() == {kernel_id}


def test_a_session_s_kernel_is_given_the_same(serve, rest):
    """`env` beside `kernel`, as POST /api/kernels has it, and `path` is the session's."""
    chosen = str(uuid.uuid4())
    env = {"KERNEL_ID": chosen, "KERNEL_A": "1", "HOME": "theirs", "KERNEL_WORKING_DIR": "/tmp"}
    body = {"path": "folder/n.ipynb", "type": "notebook", "kernel": {"name": "echo"}, "env": env}
    response = rest.post("/api/sessions", json=body)
    assert response.status_code == 201, response.text
    assert response.json()["kernel"]["id"] == chosen
    seen = environment_of(serve, chosen)
    assert set(seen) - OF_EVERY_JAIL == {"KERNEL_ID", "KERNEL_A", "KERNEL_WORKING_DIR"}
    assert run(serve, chosen, "cwd") == "/tmp\n"
    rest.end_kernel(chosen)


@pytest.mark.parametrize("place", ["env", "body"])
@pytest.mark.parametrize("text", ["x", "../../etc", "0" * 36, str(uuid.uuid4())[:-1], 7])
def test_an_id_that_is_none(rest, place, text):
    body = {"env": {"KERNEL_ID": text}} if place == "env" else {"kernel_id": text}
    answer = check_error(rest.post("/api/kernels", json=body), 400)
    is_variable = place == "env" and not isinstance(text, str)
    assert answer["code"] == ("invalid_env" if is_variable else "invalid_kernel_id")
    assert rest.kernel_ids() == set()


def test_no_id_is_as_good_as_absent(start):
    assert uuid.UUID(start(env={"KERNEL_ID": ""})).version == 4
    assert uuid.UUID(start(kernel_id=None)).version == 4


# -- a place to start -----------------------------------------------------------------------------

HOME = "/home/user"
# What a client says -> where its kernel starts. Of the folders it names, none need be here.
PLACES = {
    "": HOME,
    ".": HOME,
    "notebooks": HOME,
    "../notebooks": HOME,
    "/": HOME,
    "/home": HOME,
    "/home/alice/project": HOME,
    HOME: HOME,
    f"{HOME}/project/": HOME,
    "/root": HOME,
    "/proc/1/root": HOME,
    "/etc/hostname": HOME,
    "/tmp": "/tmp",
    "/tmp/gone/deeper": HOME,
    "/usr/share": "/usr/share",
    "/usr/share/gone": HOME,
    "/data/sets/below": "/data/sets/below",
    "/data/sets/gone": HOME,
    "/" + "a" * 4095: HOME,
    f"{HOME}//" + "a/" * 2042: HOME,
}


@pytest.mark.parametrize("said", PLACES, ids=lambda said: said[:20])
def test_working_directory(serve, start, said):
    body = {"env": {"KERNEL_WORKING_DIR": said}, "cellblock": {"data": ["sets"]}}
    assert run(serve, start(**body), "cwd") == f"{PLACES[said]}\n"


@pytest.mark.parametrize("path", ["", "a.ipynb", "folder/a.ipynb", "/tmp/a.ipynb", "/usr/share"])
def test_path_is_within_the_home(serve, start, path):
    """Jupyter's paths begin at its top folder, with a slash or without."""
    assert run(serve, start(path=path), "cwd") == f"{HOME}\n"


def test_the_variable_wins_over_the_path(serve, start):
    kernel_id = start(path="folder/a.ipynb", env={"KERNEL_WORKING_DIR": "/tmp"})
    assert run(serve, kernel_id, "cwd") == "/tmp\n"


def test_a_path_of_another_type(rest):
    answer = check_error(rest.post("/api/kernels", json={"path": 7}), 400)
    assert answer["code"] == "invalid_path"


@pytest.mark.parametrize(
    "body",
    [{"path": "made/later/n.ipynb"}, {"env": {"KERNEL_WORKING_DIR": "made/later"}}],
    ids=str,
)
def test_a_folder_that_is_there_by_the_restart(serve, rest, start, body):
    kernel_id = start(name="python3", **body)
    assert (
        run(serve, kernel_id, "import os; os.makedirs('made/later'); print(os.getcwd())")
        == f"{HOME}\n"
    )
    assert rest.post(f"/api/kernels/{kernel_id}/restart").status_code == 200
    assert run(serve, kernel_id, "import os; print(os.getcwd())") == f"{HOME}/made/later\n"


# -- a time ---------------------------------------------------------------------------------------

REASON = "the kernel did not answer within 3000 ms (KERNEL_LAUNCH_TIMEOUT)"


@pytest.mark.parametrize("seconds", ["3", 3], ids=["text", "number"])
def test_launch_timeout(serve, rest, start, seconds):
    """An error that says why, nothing left of it, and nobody else who waits meanwhile."""
    other = start()
    run(serve, other, "ready")
    before = cellblock.descendants(serve.pid)
    began = time.monotonic()
    kernel_id = start(name="never", env={"KERNEL_LAUNCH_TIMEOUT": seconds})
    with Channels(serve, kernel_id) as channels:
        msg_id = channels.execute("1")
        assert run(serve, other, "print meanwhile") == "meanwhile\n"
        assert rest.kernel(kernel_id)["execution_state"] == "starting"
        answer = channels.answer(msg_id)
    assert 3 <= time.monotonic() - began < 30
    assert answer.content["status"] == "error" and answer.content["ename"] == "KernelTimeout"
    assert answer.content["evalue"].startswith(REASON)
    model = rest.kernel(kernel_id)
    assert model["execution_state"] == "dead" and model["reason"].startswith(REASON)
    assert cellblock.descendants(serve.pid) - before == set()


def test_an_impatient_client_hears_of_the_timeout(serve, rest, start):
    """GatewayKernelClient's upgrade is held until the kernel is ready."""
    kernel_id = start(name="never", env={"KERNEL_LAUNCH_TIMEOUT": "0.5"})
    with pytest.raises(websocket.WebSocketBadStatusException) as refusal:
        websocket.create_connection(
            f"{serve.ws_url}/t/{serve.token}/api/kernels/{kernel_id}/channels",
            timeout=60,
        )
    assert refusal.value.status_code == 500
    assert "500 ms (KERNEL_LAUNCH_TIMEOUT)" in json.loads(refusal.value.resp_body)["message"]


@pytest.mark.parametrize("seconds", [0, -1, 3601, "3601", "soon", None, True, [3]])
def test_a_launch_timeout_that_is_none(rest, seconds):
    body = {"name": "echo", "env": {"KERNEL_LAUNCH_TIMEOUT": seconds}}
    answer = check_error(rest.post("/api/kernels", json=body), 400)
    assert answer["code"] == "invalid_env" and "KERNEL_LAUNCH_TIMEOUT" in answer["message"]


# -- how many -------------------------------------------------------------------------------------


def test_max_kernels_holds_for_many_at_once(start_serve, kernels):
    """By whichever route they come."""
    rest = Rest(start_serve("--max-kernels=3", kernels=kernels))

    def post(number):
        if number % 2:
            return rest.post("/api/kernels", json={"name": "echo"})
        body = {"path": f"{number}.ipynb", "type": "notebook", "kernel": {"name": "echo"}}
        return rest.post("/api/sessions", json=body)

    with concurrent.futures.ThreadPoolExecutor(10) as pool:
        responses = list(pool.map(post, range(10)))
    assert [response.status_code for response in responses].count(201) == 3
    for response in responses:
        if response.status_code != 201:
            answer = check_error(response, 403)
            assert answer["code"] == "max_kernels"
            assert "there are 3 kernels, which is all that max_kernels allows" in answer["message"]
    started = rest.kernel_ids()
    assert len(started) == 3
    for kernel_id in started:  # is no further one
        assert rest.post(f"/api/kernels/{kernel_id}/restart").status_code == 200
    rest.end_kernel(started.pop())
    assert post(10).status_code == 201
    assert post(11).status_code == 403
