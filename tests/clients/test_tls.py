"""HTTPS and wss with real clients: certificates of the server and of clients, what is refused and
how it is said, and new certificates while connections are open."""

import contextlib
import json
import os
import pathlib
import shutil
import signal
import socket
import ssl
import subprocess

import cellblock
import certificates
import pytest
import reports
import websocket
from cellblock import wait_until
from channels import PATIENCE_S, Channels
from cutter import Records
from lab_server import LabServer
from rest import Rest, check_error


def context(server, certificate=None, **options):
    """What a Python client has that trusts the server's authority."""
    made = ssl.create_default_context(cafile=server.trust)
    if certificate:
        made.load_cert_chain(certificate, certificate.with_suffix(".key"))
    for name, value in options.items():
        setattr(made, name, value)
    return made


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE_S)


def shake_hands(server, made):
    return made.wrap_socket(connect(server), server_hostname="127.0.0.1")


def get(server, made, path="/api/kernels"):
    """The status of a request without a token, and its body."""
    with shake_hands(server, made) as link:
        request = f"GET {path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        link.sendall(request.encode())
        answer = link.recv(65536)
    return int(answer.split()[1]), answer.partition(b"\r\n\r\n")[2]


def curl(server, *words, scheme="https"):
    url = f"{scheme}://127.0.0.1:{server.port}/api/kernels"
    command = ["curl", "-sS", "--max-time", str(PATIENCE_S), *map(str, words), url]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def await_log(server, *words):
    def is_there():
        return any(
            all(word in line for word in words) for line in server.log().splitlines()
        )

    wait_until(is_there, PATIENCE_S, f"a line of the log with {words}")


# -- real clients ---------------------------------------------------------------------------------


def test_curl(secure, authority):
    trust = ("--cacert", secure.trust)
    done = curl(secure, *trust)
    assert json.loads(done.stdout)["code"] == "unauthorized", done
    done = curl(secure, *trust, "-H", f"Authorization: token {secure.token}")
    assert isinstance(json.loads(done.stdout), list)
    ada = (
        "--cert",
        authority.folder / "ada.pem",
        "--key",
        authority.folder / "ada.key",
    )
    assert isinstance(json.loads(curl(secure, *trust, *ada).stdout), list)
    assert curl(secure).returncode == 60, (
        "a certificate of an authority that nobody knows"
    )
    await_log(secure, "TLS handshake failed", "127.0.0.1:", "unknown ca")


def test_requests_and_websocket_client(secure):
    """Whole messages both ways, larger than any record, and many small ones."""
    rest = Rest(secure)
    kernel_id = rest.start_kernel(name="echo")
    with Channels(secure, kernel_id) as channels:
        assert channels.run("6").text == "6"
        assert channels.run("lines 2000").text == "".join(
            f"line {n}\n" for n in range(1, 2001)
        )
        assert len(channels.run("bytes 10000000").text) == 10_000_000
        assert channels.run(f"print {'y' * 5_000_000}").text == "y" * 5_000_000 + "\n"
        channels.socket.ping("are you there")
        channels.run("still here")
    rest.end_kernel(kernel_id)


def test_node_services(secure):
    """@jupyterlab/services in Node, which is told of the authority as programs of Node are."""
    program = pathlib.Path(__file__).with_name("services.mjs")
    done = subprocess.run(
        ["node", program, f"{secure.url}/", secure.token, "v1"],
        stdout=subprocess.PIPE,
        timeout=160,
        check=True,
        env={**os.environ, "NODE_EXTRA_CA_CERTS": str(secure.trust)},
    )
    seen = json.loads(done.stdout.splitlines()[-1])
    assert [step for step, result in seen.items() if "error" in result] == []
    assert seen["execute"]["value"]["status"] == "ok"
    assert seen["comm"]["value"]["equal"] == [True, True, True]


def test_jupyter_server_with_a_client_certificate(secure, authority, tmp_path):
    """The certificate is all that it shows: there is no token."""
    command = ["jupyter", "server", f"--gateway-url={secure.url}"]
    command += [f"--GatewayClient.ca_certs={secure.trust}"]
    command += [f"--GatewayClient.client_{end}={authority.folder}/ada.{kind}"
                for end, kind in (("cert", "pem"), ("key", "key"))]  # fmt: skip
    (tmp_path / "lab").mkdir()
    with LabServer(tmp_path / "lab", command) as lab:
        rest = Rest(lab)
        kernel_id = rest.start_kernel()
        with Channels(lab, kernel_id, session_id="lab") as channels:
            assert channels.run("6 * 7").text == "42"
        assert (
            rest.post(f"/api/kernels/{kernel_id}/restart", data="{}").status_code == 200
        )
        rest.end_kernel(kernel_id)


# -- the WebSocket's bytes ------------------------------------------------------------------------


class Raw:
    """TLS over a socket whose records are counted."""

    def __init__(self, server):
        self.link, self.records = connect(server), Records()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context(server).wrap_bio(
            self._incoming, self._outgoing, server_hostname="127.0.0.1"
        )
        self._do(self._tls.do_handshake)

    def _do(self, action):
        while True:
            try:
                return action()
            except ssl.SSLWantReadError:
                self._flush()
                data = self.link.recv(65536)
                assert data, "the server closed"
                self.records.feed(data)
                self._incoming.write(data)

    def _flush(self):
        self.link.sendall(self._outgoing.read())

    def send(self, data):
        self._tls.write(data)
        self._flush()

    def receive(self):
        return self._do(lambda: self._tls.read(65536))


def test_a_frame_is_a_record(secure):
    """Header and payload leave together, so a client wakes up once."""
    rest = Rest(secure)
    kernel_id = rest.start_kernel(name="echo")
    raw = Raw(secure)
    raw.send(
        f"GET /api/kernels/{kernel_id}/channels?token={secure.token} HTTP/1.1\r\nHost: x\r\n"
        "User-Agent: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n".encode()
    )
    assert b" 101 " in raw.receive()
    with Channels(secure, kernel_id) as channels:
        answers = [channels.run(f"print {n}") for n in range(20)]
    frames = sum(len(answer.iopub) for answer in answers)
    before, read = raw.records.count, []
    while sum(b'"idle"' in one for one in read) < len(answers):
        read.append(raw.receive())
    assert len(read) >= frames, "every read of the client's TLS is a whole frame"
    assert all(one[:1] in (b"\x81", b"\x89") for one in read), (
        "and begins with its header"
    )
    assert raw.records.count - before <= len(read)
    raw.link.close()
    rest.end_kernel(kernel_id)


def test_a_reader_that_never_reads(start_serve, authority):
    folder, limit = authority.folder, 2 << 20
    options = (f"--certfile={folder}/server.pem", f"--keyfile={folder}/server.key")
    options += (f"--ws-queue-bytes={limit}", "--ws-close-ms=10min")
    server = start_serve(*options, trust=authority.ca)
    kernel_id = Rest(server).start_kernel(name="echo")
    narrow = [(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)]
    with (
        Channels(server, kernel_id, sockopt=narrow) as idle,
        Channels(server, kernel_id) as reader,
    ):
        for _ in range(10):  # more than the system itself holds for a slow reader
            assert len(reader.run("\n".join(["bytes 100000"] * 10)).text) == 1_000_000
        opcode, frame = idle.socket.recv_data()
        while opcode != websocket.ABNF.OPCODE_CLOSE:
            opcode, frame = idle.socket.recv_data()
        assert int.from_bytes(frame[:2], "big") == 1013
        assert f"ws_queue_bytes = {limit}" in frame[2:].decode()
        reader.run("others go on")


# -- what is agreed on ----------------------------------------------------------------------------


def test_versions_and_protocols(secure):
    made = context(secure)
    made.set_alpn_protocols(["h2", "http/1.1"])
    with shake_hands(secure, made) as link:
        assert (link.version(), link.selected_alpn_protocol()) == (
            "TLSv1.3",
            "http/1.1",
        )
    made.maximum_version = ssl.TLSVersion.TLSv1_2
    with shake_hands(secure, made) as link:
        assert link.version() == "TLSv1.2"
    made = context(secure)
    made.set_alpn_protocols(["h2"])
    with pytest.raises(ssl.SSLError, match="(?i)no.application.protocol"):
        shake_hands(secure, made)
    old = ssl.TLSVersion.TLSv1_1
    made = context(secure, minimum_version=old, maximum_version=old)
    made.set_ciphers("DEFAULT:@SECLEVEL=0")
    with pytest.raises(ssl.SSLError, match="PROTOCOL_VERSION"):
        shake_hands(secure, made)
    await_log(secure, "TLS handshake failed", "unsupported protocol")


@pytest.mark.parametrize("letter, said", [("R", b"no renegotiation"), ("k", b"200 OK")])
def test_a_new_handshake_within_the_connection(secure, letter, said):
    """openssl(1) takes a line R for a renegotiation (TLS 1.2), which is refused, and k for new keys
    (TLS 1.3), after which all goes on."""
    version = "-tls1_2" if letter == "R" else "-tls1_3"
    command = ["openssl", "s_client", version, "-connect", f"127.0.0.1:{secure.port}"]
    client = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    seen = b""
    while b"---\n" not in seen.partition(b"Verify return code")[2]:
        seen += client.stdout.read1()
    client.stdin.write(letter.encode() + b"\n")
    client.stdin.flush()
    while b"RENEGOTIATING" not in seen and b"KEYUPDATE" not in seen:
        seen += client.stdout.read1()
    request = b"GET /api HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
    client.stdin.write(request)
    client.stdin.flush()
    seen += client.stdout.read()
    client.stdin.close()
    client.wait(PATIENCE_S)
    assert said in seen


# -- clients' certificates ------------------------------------------------------------------------


def test_client_certificates(secure, authority, tmp_path):
    assert get(secure, context(secure))[0] == 401
    status, body = get(secure, context(secure, authority.folder / "ada.pem"), "/api/me")
    assert (status, json.loads(body)["identity"]["username"]) == (200, "CN=ada,O=Lovelace")
    stranger, _ = certificates.Authority(tmp_path, "nobody").sign(
        "ada", "/O=Lovelace/CN=ada"
    )
    with pytest.raises(ssl.SSLError, match="UNKNOWN_CA"):
        get(secure, context(secure, stranger))
    await_log(secure, "TLS handshake failed", "certificate verify failed: ")


def test_a_client_certificate_that_must_be(start_serve, authority):
    folder = authority.folder
    options = [f"--certfile={folder}/server.pem", f"--keyfile={folder}/server.key"]
    options += [f"--client-ca={authority.ca}", "--require-client-cert"]
    server = start_serve(*options, trust=authority.ca)
    with pytest.raises(ssl.SSLError, match="CERTIFICATE_REQUIRED"):
        get(server, context(server))
    await_log(server, "TLS handshake failed", "peer did not return a certificate")
    assert get(server, context(server, folder / "ada.pem"))[0] == 200


# -- those who do not speak TLS, or stop in the middle --------------------------------------------


def test_the_wrong_scheme(serve, secure):
    done = curl(secure, scheme="http")
    assert json.loads(done.stdout)["code"] == "tls_needed", done
    assert curl(serve, "-k").returncode == 35, "no TLS there: an error, and soon"
    with connect(secure) as link:
        link.sendall(b"\x00\x01garbage of no protocol\r\n" * 10)
        read_to_end(link)
    await_log(secure, "TLS handshake failed", "wrong version number")


def begin_handshake(server):
    """A connection on which the server has answered the first word."""
    outgoing, link = ssl.MemoryBIO(), connect(server)
    made = context(server).wrap_bio(
        ssl.MemoryBIO(), outgoing, server_hostname="127.0.0.1"
    )
    with contextlib.suppress(ssl.SSLWantReadError):
        made.do_handshake()
    link.sendall(outgoing.read())
    assert link.recv(1) == b"\x16"
    return link


def read_to_end(link):
    while link.recv(65536):
        pass


def test_handshakes_that_do_not_end(start_serve, authority):
    """They are few at a time, the oldest is given up for a new one, and each has its time."""
    folder = authority.folder
    options = [f"--certfile={folder}/server.pem", f"--keyfile={folder}/server.key"]
    options += ["--tls-handshakes=3", "--tls-handshake-ms=2s"]
    server = start_serve(*options, trust=authority.ca)
    half = [begin_handshake(server) for _ in range(3)]
    assert get(server, context(server))[0] == 401
    read_to_end(half[0])  # the oldest made room
    await_log(server, "TLS handshake failed", "more than tls_handshakes")
    for link in half[1:]:
        read_to_end(link)
    await_log(server, "TLS handshake failed", "tls_handshake_ms = 2000 ms")
    for link in half:
        link.close()
    assert Rest(server).get("/api").status_code == 200


def test_too_many_connections(start_serve, authority):
    """It is said within TLS, where a client can read it."""
    folder = authority.folder
    options = [f"--certfile={folder}/server.pem", f"--keyfile={folder}/server.key"]
    server = start_serve(*options, "--http-connections=1", trust=authority.ca)
    with shake_hands(server, context(server)) as first:
        first.sendall(b"GET /api HTTP/1.1\r\nHost: x\r\n\r\n")
        assert b" 200 " in first.recv(4096)
        assert (
            check_error(Rest(server).get("/api"), 503)["code"] == "too_many_connections"
        )


def kill_gateway(server):
    pid = server.gateway_pid
    os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not os.path.exists(f"/proc/{pid}"), PATIENCE_S, "its end")
    if cellblock.REPORTS.is_dir():
        reports.note_killed(cellblock.REPORTS, "gateway", pid=pid)


# -- new certificates -----------------------------------------------------------------------------


def serial(server):
    """Of the certificate that a new connection is shown."""
    with shake_hands(server, context(server)) as link:
        return link.getpeercert()["serialNumber"]


def test_new_certificates(start_serve, authority, tmp_path):
    """On SIGHUP for new connections, while those that are open go on; what is wrong is said, and
    the old ones stay. The next gateway has the new ones too. Root alone can read the files."""
    tmp_path.chmod(0o700)
    for name in ("server.pem", "server.key"):
        shutil.copy(authority.folder / name, tmp_path)
    options = (f"--certfile={tmp_path}/server.pem", f"--keyfile={tmp_path}/server.key")
    server = start_serve(*options, trust=authority.ca)
    first = serial(server)
    rest = Rest(server)
    with Channels(server, rest.start_kernel(name="echo")) as channels:
        channels.run("before")
        (tmp_path / "server.key").write_text("no key at all")
        server.process.send_signal(signal.SIGHUP)
        await_log(
            server, "certificates stay as they were", "keyfile: there is no private key"
        )
        (tmp_path / "server.key").unlink()
        server.process.send_signal(signal.SIGHUP)
        await_log(server, "certificates stay as they were", "keyfile: open")
        assert serial(server) == first
        for path in authority.sign("renewed", "/CN=the server"):
            shutil.copy(path, tmp_path / path.name.replace("renewed", "server"))
        server.process.send_signal(signal.SIGHUP)
        wait_until(lambda: serial(server) != first, PATIENCE_S, "the new certificate")
        assert channels.run("after").text == "after"
    second = serial(server)
    for path in authority.sign("again", "/CN=the server"):
        shutil.copy(path, tmp_path / path.name.replace("again", "server"))
    kill_gateway(server)
    assert serial(server) not in (first, second)
