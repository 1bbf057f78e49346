"""Fixtures of the rude tests: a server with the echo kernel and hostile ones, and the check that
whatever was done to it, everything it had opened is closed again."""

import json
import shutil

import cellblock
import hostile
import pytest
import rude


def write_hostile_kernel(folder, way):
    """A kernelspec, named like the way in lower case, of a kernel that behaves so."""
    spec = folder / way.lower()
    spec.mkdir()
    shutil.copy(hostile.__file__, spec)
    argv = ["/usr/bin/python3", "-IBS", "{resource_dir}/hostile.py", way, "{connection_file}"]
    content = {"argv": argv, "display_name": way, "language": "none"}
    (spec / "kernel.json").write_text(json.dumps(content))


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    """A folder of kernelspecs."""
    folder = tmp_path_factory.mktemp("kernels")
    for way in hostile.WAYS:
        write_hostile_kernel(folder, way)
    shutil.copytree(cellblock.BUILD / "kernels" / "echo", folder / "echo")
    return folder


class Watched(cellblock.Serve):
    """A server that has run a kernel, so that what it opens once is open."""

    def __init__(self, *arguments, **options):
        super().__init__(*arguments, **options)
        kernel_id = rude.start(self)
        with rude.Rude(self, kernel_id) as client:
            assert client.run("ready")["status"] == "ok"
        rude.end(self, kernel_id)
        self.first_gateway = self.gateway_pid

    def open_now(self):
        """Descriptors of gateway and warden."""
        return rude.descriptors(self.first_gateway), rude.descriptors(self.pid)

    def settled(self):
        """Descriptors, connections and kernels; this very question is one connection of them."""
        status, answer = self.request("GET", "/api/status")
        assert status == 200
        return (*self.open_now(), answer["http_connections"], answer["kernels"])


@pytest.fixture(scope="module")
def serve(request, kernels):
    """A Watched server with the arguments that the file names in ARGUMENTS."""
    with Watched(*getattr(request.module, "ARGUMENTS", ()), kernels=kernels) as server:
        yield server


@pytest.fixture(autouse=True)
def nothing_stays(request):
    """After each test on `serve` no kernel, connection or descriptor is there that was not there
    before it."""
    if "serve" not in request.fixturenames:
        yield
        return
    server = request.getfixturevalue("serve")
    for kernel_id in rude.kernel_ids(server):  # of a test that failed
        rude.end(server, kernel_id)
    before = server.settled()
    yield
    if not request.node.stash.get(FAILED, False):
        what = "as many descriptors, connections and kernels as before"
        cellblock.wait_until(lambda: server.settled() == before, rude.PATIENCE_S, what)


FAILED = pytest.StashKey()


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item):
    outcome = yield
    if outcome.get_result().failed:
        item.stash[FAILED] = True


@pytest.fixture
def kernel_id(serve):
    """An echo kernel of the test's own, deleted after it."""
    kernel_id = rude.start(serve)
    yield kernel_id
    rude.end(serve, kernel_id)


@pytest.fixture
def witness(serve):
    """A well-behaved client with a kernel of its own: whatever happens to others, it goes on."""
    kernel_id = rude.start(serve)
    with rude.Rude(serve, kernel_id) as client:
        assert client.run("before")["status"] == "ok"
        yield client
        assert client.run("after")["status"] == "ok"
    rude.end(serve, kernel_id)
