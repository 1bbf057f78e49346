"""Our legacy WebSocket frames, given to the decoders of those who read them. The frames are what
ws_legacy_encode makes of captured kernel messages (tests/unit/protocol/wire/vectors; the unit test
test_vectors.c holds the encoder against the same files)."""

import functools
import json
import pathlib
import subprocess

import cellblock
import pytest
from jupyter_client.jsonutil import extract_dates
from jupyter_client.session import Session
from jupyter_server.services.kernels.connection.base import deserialize_binary_message

VECTORS = cellblock.ROOT / "tests" / "unit" / "protocol" / "wire" / "vectors"
KEY = b"5a0c1b9e-vectors"
OURS = sorted((VECTORS / "ours").iterdir())
PARTS = ("header", "parent_header", "metadata", "content")


def read_netstrings(data):
    while data:
        size, _, data = data.partition(b":")
        yield data[: int(size)]
        data = data[int(size) + 1 :]


def plain(value):
    """As JSON with every number a float, as JavaScript has it, and every date in one form."""
    text = json.dumps(extract_dates(value), default=lambda date: date.isoformat())
    return json.loads(text, parse_int=float)


@functools.cache
def expected(stem):
    """The message of that name, as jupyter_client reads it from the kernel."""
    parts = list(read_netstrings((VECTORS / "zeromq" / f"{stem}.parts").read_bytes()))
    message = Session(key=KEY).deserialize(parts[parts.index(b"<IDS|MSG>") + 1 :])
    return message | {"channel": stem.split("-")[2]}


def check(message, buffers, name):
    wanted = expected(name)
    for part in PARTS:
        assert plain(message[part]) == plain(wanted[part]), part
    for member in ("channel", "msg_id", "msg_type"):
        assert message[member] == wanted[member]
    assert [bytes(buffer) for buffer in buffers] == [bytes(part) for part in wanted["buffers"]]


def test_every_kernel_message_has_a_frame():
    kernels = {path.stem for path in (VECTORS / "zeromq").glob("*-kernel-*")}
    assert kernels == {path.stem for path in OURS}
    assert {path.suffix for path in OURS} == {".json", ".frame"}


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_jupyter_server_reads_it(path):
    if path.suffix == ".frame":
        message = deserialize_binary_message(path.read_bytes())
    else:
        message = json.loads(path.read_text(encoding="utf-8"))
    check(message, message["buffers"], path.stem)


@functools.cache
def services():
    """Everything as @jupyterlab/services reads and validates it: name -> message."""
    script = pathlib.Path(__file__).with_name("decode.cjs")
    result = subprocess.run(["node", script, *OURS], capture_output=True, text=True, check=True)
    return json.loads(result.stdout)


@pytest.mark.parametrize("path", OURS, ids=lambda path: path.stem)
def test_services_reads_it(path):
    message = services()[path.name]
    assert "invalid" not in message
    check(message, [bytes.fromhex(buffer) for buffer in message["buffers"]], path.stem)
