"""Session parameters from every place that may give them, seen to hold inside; and refusals."""

import json

import cellblock
import kernelspecs
import pytest
from channels import Channels
from notebooks import results, run_notebooks
from rest import Rest, check_error

GIB = 1 << 30
ARGUMENTS = (
    "--max-memory-bytes=3GiB",
    "--max-open-files=2048",
    "--allowed-envs=LANG",
    "--session-label-bytes=2048",
)

SMALL = {
    "memory_bytes": 160 << 20,
    "cpus": 1,
    "open_files": 333,
    "pids": 99,
    "workspace_bytes": 8 << 20,
    "workspace_inodes": 500,
}
# No file of a session's tells how many processes and threads it may have: it counts how many there
# are when one more is refused. pid 1, which nobody sees, is one of them.
LIMITS_INSIDE = """
import json, os, re, resource, threading
def count_threads():
    pids = [pid for pid in os.listdir('/proc') if pid.isdigit()]
    return 1 + sum(len(os.listdir(f'/proc/{pid}/task')) for pid in pids)
def fill_pids():
    end, threads = threading.Event(), []
    try:
        while len(threads) < 1000:
            threads.append(threading.Thread(target=end.wait))
            threads[-1].start()
    except RuntimeError:
        return count_threads()
    finally:
        end.set()
        for thread in threads[:-1]:
            thread.join()
home = os.statvfs('/home/user')
with open('/proc/meminfo') as file:
    total = re.search(r'MemTotal: *(\\d+) kB', file.read())
print(json.dumps({
    'memory_bytes': int(total[1]) << 10,
    'cpus': len(re.findall('^processor', open('/proc/cpuinfo').read(), re.MULTILINE)),
    'open_files': resource.getrlimit(resource.RLIMIT_NOFILE),
    'pids': fill_pids(),
    'workspace_bytes': home.f_blocks * home.f_frsize,
    'workspace_inodes': home.f_files,
}))
"""
ENVIRONMENT_INSIDE = """
import json, os
print(json.dumps(dict(os.environ)))
"""


@pytest.fixture(scope="module")
def kernels(tmp_path_factory):
    folder = kernelspecs.write_kernelspecs(tmp_path_factory.mktemp("kernels"), ("python3",))
    parameters = {
        "limits": {"open_files": 300, "pids": 100},
        "env": {"FURNISHED": "yes", "KERNEL_FROM": "kernelspec"},
    }
    write(folder, "furnished", parameters)
    write(folder, "small", {"limits": SMALL})
    write(folder, "greedy", {"limits": {"memory_bytes": 4 * GIB}})
    write(folder, "wrong", {"limits": {"memroy_bytes": GIB}})
    write(folder, "lost", {"data": ["nothing"]})
    return folder


def write(folder, name, parameters):
    argv = kernelspecs.arguments("python3")
    kernelspecs.write_kernelspec(folder, name, argv, metadata={"cellblock": parameters})


@pytest.fixture(scope="module")
def serve(kernels):
    with cellblock.Serve(*ARGUMENTS, kernels=kernels) as server:
        yield server


@pytest.fixture(scope="module")
def rest(serve):
    return Rest(serve)


@pytest.fixture
def start(rest):
    """Starts a kernel with a body and ends it after the test."""
    started = []

    def start_one(**body):
        started.append(rest.start_kernel(**body))
        return started[-1]

    yield start_one
    for kernel_id in started:
        rest.end_kernel(kernel_id)


def look(serve, kernel_id, code):
    with Channels(serve, kernel_id) as channels:
        return json.loads(channels.run(code).text)


# -- they hold ------------------------------------------------------------------------------------


PLACES = {
    "kernelspec": {"name": "small"},
    "variable": {"env": {"KERNEL_CELLBLOCK": json.dumps({"limits": SMALL})}},
    "member": {"cellblock": {"limits": SMALL}},
}


@pytest.mark.parametrize("place", PLACES)
def test_every_limit_from_every_place(serve, start, place):
    """Each is seen inside; and the one of memory, where all are told by it, ends the kernel."""
    kernel_id = start(**PLACES[place])
    seen = look(serve, kernel_id, LIMITS_INSIDE)
    assert seen == {**SMALL, "open_files": [333, 333]}
    with Channels(serve, kernel_id) as channels:
        content = channels.run("held = bytearray(b'x' * (256 << 20))").content
    assert content["ename"] == "KernelOutOfMemory"
    assert f"memory limit of {SMALL['memory_bytes']} bytes" in content["evalue"]


def test_more_memory_than_the_default(serve, start):
    parameters = json.dumps({"limits": {"memory_bytes": GIB}})
    with Channels(serve, start(env={"KERNEL_CELLBLOCK": parameters})) as channels:
        assert channels.run("len(bytearray(b'x') * (640 << 20))").text == str(640 << 20)


def test_the_maximum_itself_may_be_asked_for(serve, start):
    kernel_id = start(cellblock={"limits": {"open_files": 2048, "memory_bytes": 3 * GIB}})
    assert look(serve, kernel_id, LIMITS_INSIDE)["open_files"] == [2048, 2048]


def test_nothing_asked_for_is_the_default(serve, rest, start):
    kernel_id = start()
    shown = rest.kernel(kernel_id)["cellblock"]
    assert shown["limits"]["memory_bytes"] == 512 << 20
    assert shown["data"] == [] and shown["labels"] == {}
    assert look(serve, kernel_id, LIMITS_INSIDE)["open_files"] == [1024, 1024]


@pytest.mark.parametrize(
    "variable, member, open_files",
    [(None, None, 300), (400, None, 400), (None, 500, 500), (400, 500, 500)],
)
def test_later_wins_and_leaves_the_rest(serve, start, variable, member, open_files):
    body = {"name": "furnished", "env": {}}
    if variable:
        value = {"limits": {"open_files": variable}}
        body["env"]["KERNEL_CELLBLOCK"] = json.dumps(value)
    if member:
        body["cellblock"] = {"limits": {"open_files": member}}
    seen = look(serve, start(**body), LIMITS_INSIDE)
    assert seen["open_files"] == [open_files, open_files]
    assert seen["pids"] == 100


def test_variables_of_every_place(serve, start):
    kernel_id = start(
        name="furnished",
        env={
            "KERNEL_FROM": "env",
            "KERNEL_ALONE": "env",
            "KERNEL_CELLBLOCK": json.dumps({"env": {"KERNEL_FROM": "variable"}}),
        },
        cellblock={"env": {"KERNEL_FROM": "member", "LANG": "C"}},
    )
    seen = look(serve, kernel_id, ENVIRONMENT_INSIDE)
    assert seen["FURNISHED"] == "yes"
    assert seen["KERNEL_FROM"] == "member"
    assert seen["KERNEL_ALONE"] == "env"
    assert seen["LANG"] == "C"
    assert "KERNEL_CELLBLOCK" not in seen
    assert not [value for value in seen.values() if "variable" in value]


def test_kernel_wins_over_name(rest, start):
    variable = {"KERNEL_CELLBLOCK": json.dumps({"kernel": "furnished"})}
    assert rest.kernel(start(env=variable))["name"] == "furnished"
    both = start(name="furnished", env=variable, cellblock={"kernel": "python3"})
    assert rest.kernel(both)["name"] == "python3"


def test_the_model_shows_what_holds(rest, start):
    asked = {"limits": {"cpus": 0.5, "pids": 64}, "labels": {"owner": "ada", "é": "漢字"}}
    kernel_id = start(cellblock=asked)
    shown = rest.kernel(kernel_id)["cellblock"]
    assert shown["limits"]["cpus"] == 0.5
    assert shown["limits"]["pids"] == 64
    assert shown["labels"] == asked["labels"]
    listed = {model["id"]: model for model in rest.get("/api/kernels").json()}
    assert listed[kernel_id]["cellblock"] == shown


def test_what_is_shown_may_be_asked_for(rest, start):
    shown = rest.kernel(start(cellblock={"limits": {"cpus": 0.25}}))["cellblock"]
    assert rest.kernel(start(cellblock=shown))["cellblock"] == shown


def test_a_restart_keeps_them(serve, rest, start):
    kernel_id = start(cellblock={"limits": {"open_files": 222}, "env": {"KERNEL_KEPT": "kept"}})
    shown = rest.kernel(kernel_id)["cellblock"]
    look(serve, kernel_id, LIMITS_INSIDE)
    assert rest.post(f"/api/kernels/{kernel_id}/restart").status_code == 200
    assert look(serve, kernel_id, LIMITS_INSIDE)["open_files"] == [222, 222]
    assert look(serve, kernel_id, ENVIRONMENT_INSIDE)["KERNEL_KEPT"] == "kept"
    assert rest.kernel(kernel_id)["cellblock"] == shown


# -- nbclient -------------------------------------------------------------------------------------


def run_cell(serve, folder, source, **environment):
    url = f"{serve.url}/t/{serve.token}/"
    ran = run_notebooks(
        folder, "gateway", {"one": [source]}, JUPYTER_GATEWAY_URL=url, **environment
    )
    error, notebook = ran["one"]
    assert error is None, error
    ((_, (output,)),) = results(notebook)
    return json.loads(output["text"])


def test_nbclient_sends_the_variable_of_its_process(serve, tmp_path):
    """It always posts python3; the member `kernel` is how it gets another."""
    parameters = json.dumps({"kernel": "furnished", "limits": {"open_files": 444}})
    seen = run_cell(serve, tmp_path, LIMITS_INSIDE, KERNEL_CELLBLOCK=parameters)
    assert seen["open_files"] == [444, 444]
    assert seen["pids"] == 100


def test_nbclient_does_not_hand_it_to_the_kernel(serve, tmp_path):
    parameters = json.dumps({"labels": {"canary": "c4n4ry"}})
    seen = run_cell(
        serve, tmp_path, ENVIRONMENT_INSIDE, KERNEL_CELLBLOCK=parameters, KERNEL_OTHER="there"
    )
    assert seen["KERNEL_OTHER"] == "there"
    assert "KERNEL_CELLBLOCK" not in seen
    assert not [name for name, value in seen.items() if "c4n4ry" in value]


# -- what is refused ------------------------------------------------------------------------------

REFUSED = [
    ({"limits": {"memroy_bytes": GIB}}, "unknown_parameter", "/limits/memroy_bytes"),
    ({"memory": 1}, "unknown_parameter", "/memory"),
    ({"trees": ["/opt"]}, "unknown_parameter", "/trees stands only in kernelspecs"),
    ({"life_s": 60}, "not_available", "/life_s is not available"),
    ({"idle_s": 86401}, "out_of_range", "/idle_s: 86401 is more than 86400, which max_cull_idle"),
    ({"limits": {"wall_s": 60}}, "not_available", "/limits/wall_s is not available"),
    ({"limits": {"pids": "64"}}, "invalid_parameter", "/limits/pids is not a number"),
    ({"limits": {"pids": 64.5}}, "invalid_parameter", "/limits/pids is not a whole number"),
    ({"limits": {"cpus": 0}}, "out_of_range", "/limits/cpus: 0 is less than 0.01"),
    (
        {"limits": {"memory_bytes": 3 * GIB + 1}},
        "out_of_range",
        "/limits/memory_bytes: 3221225473 is more than 3221225472, which max_memory_bytes allows",
    ),
    ({"limits": {"pids": 257}}, "out_of_range", "257 is more than 256, which max_pids allows"),
    ({"env": {"LD_PRELOAD": "x"}}, "invalid_parameter", "/env/LD_PRELOAD is not among allowed"),
    ({"env": {"KERNEL_CELLBLOCK": "{}"}}, "invalid_parameter", "/env/KERNEL_CELLBLOCK"),
    ({"data": ["nothing"]}, "data_folder_not_found", "no data folder named nothing"),
    ({"labels": {"a": 1}}, "invalid_parameter", "/labels/a is not a string"),
    ({"labels": {"a": "x" * 3000}}, "out_of_range", "session_label_bytes allows 2048"),
    ([], "invalid_parameter", "not an object"),
]


@pytest.mark.parametrize("place", ["KERNEL_CELLBLOCK", "cellblock"])
@pytest.mark.parametrize("value, code, words", REFUSED, ids=lambda item: str(item)[:40])
def test_refused(rest, place, value, code, words):
    body = {"cellblock": value} if place == "cellblock" else {"env": {place: json.dumps(value)}}
    answer = check_error(rest.post("/api/kernels", json=body), 400)
    assert answer["code"] == code, answer
    assert answer["message"].startswith(f"{place}: ") and words in answer["message"]
    assert rest.kernel_ids() == set()


@pytest.mark.parametrize(
    "text, words",
    [
        ("{", "it is not JSON"),
        ("x", "it is not JSON"),
        ("[" * 4000, "it is not JSON"),
        ("7", "it is not JSON"),
        (7, "it is not a string"),
        (" " * 5000, "it has 5000 bytes, kernel_env_value_bytes allows 4096"),
    ],
)
def test_a_variable_that_is_no_object_of_json(rest, text, words):
    body = {"env": {"KERNEL_CELLBLOCK": text}}
    answer = check_error(rest.post("/api/kernels", json=body), 400)
    assert answer["code"] == "invalid_parameter"
    assert answer["message"].startswith("KERNEL_CELLBLOCK: ") and words in answer["message"]


@pytest.mark.parametrize(
    "body",
    [
        {"env": {"KERNEL_CELLBLOCK": ""}},
        {"env": {"KERNEL_CELLBLOCK": "{}"}},
        {"cellblock": {}},
        {"cellblock": None},
    ],
    ids=str,
)
def test_nothing_is_as_good_as_absent(start, body):
    start(**body)


def test_an_unknown_kernel(rest):
    answer = check_error(rest.post("/api/kernels", json={"cellblock": {"kernel": "none"}}), 404)
    assert answer["code"] == "kernelspec_not_found" and "none" in answer["message"]


def test_kernelspecs_that_are_wrong_are_left_out_with_a_line(serve, rest):
    there = rest.get("/api/kernelspecs").json()["kernelspecs"]
    assert set(there) >= {"python3", "furnished"} and not set(there) & {"greedy", "wrong", "lost"}
    lines = [line for line in serve.log().splitlines() if "kernelspec left out" in line]
    for name, words in {
        "greedy": "/limits/memory_bytes: 4294967296 is more than 3221225472",
        "wrong": "/limits/memroy_bytes is no limit that there is",
        "lost": "/data/0: there is no data folder named nothing",
    }.items():
        (line,) = [line for line in lines if f"kernelspec {name}: metadata.cellblock: " in line]
        assert words in line
