"""gateway/jupyter/openapi.json held against a live server by schemathesis: whatever the description
allows is taken, whatever it forbids is refused, and every answer is one that it names.

Its one complication: a kernel's or session's id cannot be guessed, so half of what is asked about
one is asked about one that is there."""

import itertools

import cellblock
import hypothesis
import pytest
import schemathesis
from rest import Rest
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import positive_data_acceptance, unsupported_method

ARGUMENTS = ("--default-kernel", "echo")
# As much as the description allows anybody to ask for.
MAXIMA = {
    "memory-bytes": "1024 GiB",
    "cpus-milli": "1024000",
    "pids": "32768",
    "open-files": "1048576",
    "workspace-bytes": "1024 GiB",
    "workspace-inodes": "100000000",
}

schema = schemathesis.openapi.from_path(
    cellblock.ROOT / "gateway" / "jupyter" / "openapi.json"
)
# NUL in a text of JSON is refused: no name, path or variable can hold it.
schema.config.generation.update(allow_x00=False)


@pytest.fixture(scope="module")
def serve():
    maxima = [word for name, most in MAXIMA.items() for word in (f"--max-{name}", most)]
    with cellblock.Serve(*ARGUMENTS, *maxima) as server:
        yield server


@pytest.fixture
def rest(serve):
    """Rest; what the test started is ended after it."""
    rest = Rest(serve)
    yield rest
    for kernel_id in rest.kernel_ids():
        rest.end_kernel(kernel_id)


def start_session(rest):
    response = rest.post("/api/sessions", json={"path": "here", "type": "notebook"})
    assert response.status_code == 201
    return response.json()


class Living:
    """Puts something that is there into every second valid path."""

    turns = itertools.cycle((True, False))

    def __init__(self, rest):
        self.rest = rest

    def put_into(self, case):
        if not case.meta.generation.mode.is_positive or not next(Living.turns):
            return
        parameters, path = case.path_parameters, case.operation.path
        if path.startswith("/api/kernels/"):
            ids = self.rest.kernel_ids()
            parameters["id"] = min(ids) if ids else self.rest.start_kernel(name="echo")
        elif path.startswith("/api/sessions/"):
            parameters["id"] = start_session(self.rest)["id"]
        elif "name" in parameters:
            parameters["name"] = "echo"


# Codes of refusals that are not what schemathesis takes them for.
EXCUSED = {
    # jupyter_server's status is 501.
    "kernelspec_not_found": (not_a_server_error,),
    # An invented method: 501 by RFC 9110 section 15.6.2.
    "method_unknown": (not_a_server_error, unsupported_method),
    # What the description cannot know.
    "kernel_not_found": (positive_data_acceptance,),
    "data_folder_not_found": (positive_data_acceptance,),
}


def check(case, response):
    is_error = response.status_code >= 400
    code = response.json()["code"] if is_error and response.content else None
    case.validate_response(response, excluded_checks=EXCUSED.get(code, ()))


def drop_json_in_texts(case):
    """What a text is to hold as JSON, no generator knows."""
    env = case.body.get("env") if isinstance(case.body, dict) else None
    if case.meta.generation.mode.is_positive and isinstance(env, dict):
        env.pop("KERNEL_CELLBLOCK", None)


@schema.exclude(operation_id="openChannels").parametrize()
@hypothesis.settings(
    max_examples=15,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(hypothesis.HealthCheck),
)
def test_description(case, serve, rest):
    Living(rest).put_into(case)
    drop_json_in_texts(case)
    response = case.call(base_url=serve.url, headers=rest.headers)
    check(case, response)
    if response.status_code == 201:  # a path or an id that is there would excuse the next body
        model = response.json()
        rest.end_kernel(model.get("kernel", model)["id"])
