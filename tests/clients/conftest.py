"""Fixtures of the client tests. CELLBLOCK_PEER=1 puts Jupyter Kernel Gateway in the place of
`serve`: a test of what both do must pass on both, or the test is wrong."""

import os

import cellblock
import certificates
import kernelspecs
import peer
import pytest
from rest import Rest

PEER = bool(os.environ.get("CELLBLOCK_PEER"))


@pytest.fixture(scope="session")
def kernels(tmp_path_factory):
    """A folder of kernelspecs: kernelspecs.BEFORE, and python3."""
    return kernelspecs.write_kernelspecs(tmp_path_factory.mktemp("kernels") / "kernels")


@pytest.fixture(scope="module")
def serve(kernels):
    with peer.KernelGateway() if PEER else cellblock.Serve(kernels=kernels) as server:
        yield server


@pytest.fixture(scope="session")
def authority(tmp_path_factory):
    """Signs the certificate of `secure`, and those of its clients."""
    authority = certificates.Authority(tmp_path_factory.mktemp("certificates"))
    authority.sign("server", "/CN=the server")
    authority.sign("ada", "/O=Lovelace/CN=ada")
    return authority


@pytest.fixture(scope="module")
def secure(kernels, authority):
    """Like `serve`, with TLS; clients that have a certificate of the authority need no token."""
    folder = authority.folder
    options = (f"--certfile={folder}/server.pem", f"--keyfile={folder}/server.key")
    options += (f"--client-ca={authority.ca}", f"--kernels={cellblock.BUILD}/kernels")
    with cellblock.Serve(*options, kernels=kernels, trust=authority.ca) as server:
        yield server


@pytest.fixture(scope="module")
def pipeline_url(request):
    """The URL that alone lets in a client which sends no credentials on its WebSocket."""
    if PEER:
        with peer.KernelGateway(token="") as server:
            yield server.url
    else:
        server = request.getfixturevalue("serve")
        yield f"{server.url}/t/{server.token}/"


@pytest.fixture(scope="module")
def rest(serve):
    return Rest(serve)


@pytest.fixture(scope="module")
def kernel_id(rest):
    """One kernel for the tests of a file that do not mind each other."""
    kernel_id = rest.start_kernel()
    yield kernel_id
    rest.end_kernel(kernel_id)


@pytest.fixture
def own_kernel_id(rest):
    """A kernel of the test's own, which the test may end."""
    kernel_id = rest.start_kernel()
    yield kernel_id
    rest.delete(f"/api/kernels/{kernel_id}")
