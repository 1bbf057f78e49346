"""What a client can make the server hold: at each limit, one step beyond it, and who pays."""

import cellblock
import pytest
import rude

MESSAGE_BYTES = 1 << 20
QUEUE_BYTES = 4 << 20
ARGUMENTS = ("--ws-message-bytes", "1MiB", "--ws-queue-bytes", "4MiB", "--ws-close-ms", "1min")


def padded(client, size):
    """An execute_request of exactly so many bytes."""
    message = client.execute_message("")
    missing = size - len(client.encode(message))
    message["content"]["code"] = "x" * missing
    payload = client.encode(message)
    assert len(payload) == size
    return message["header"]["msg_id"], payload


@pytest.mark.parametrize("fragments", (1, 7))
def test_a_message_of_the_largest_size(serve, kernel_id, fragments):
    with rude.Rude(serve, kernel_id) as client:
        msg_id, payload = padded(client, MESSAGE_BYTES)
        send_in_pieces(client, payload, fragments)
        assert client.result(msg_id)["status"] == "ok"


def send_in_pieces(client, payload, count):
    size = len(payload) // count + 1
    pieces = [payload[at : at + size] for at in range(0, len(payload), size)]
    for i, piece in enumerate(pieces):
        client.send_frame(piece, rude.TEXT if i == 0 else 0, final=i == len(pieces) - 1)


@pytest.mark.parametrize("fragments", (1, 7))
def test_a_message_of_one_byte_more(serve, kernel_id, witness, fragments):
    with rude.Rude(serve, kernel_id) as client:
        _, payload = padded(client, MESSAGE_BYTES + 1)
        with pytest.raises(rude.Gone):
            send_in_pieces(client, payload, fragments)
            client.is_gone()
            raise rude.Gone
    with rude.Rude(serve, kernel_id) as client:
        client.send(client.frame(rude.TEXT, payload)[:14])  # the size alone decides
        code, reason = client.close_code()
        assert code == 1009 and "ws_message_bytes" in reason


def test_a_reader_that_never_reads(serve, kernel_id, witness):
    """200 MB for somebody who takes nothing: that one is closed, the others hear everything."""
    sizes = [rude.resident_kib(serve.first_gateway)]
    idle = rude.Rude(serve, kernel_id, receive_buffer=4096)
    with rude.Rude(serve, kernel_id) as reader:
        for _ in range(50):
            msg_id = reader.execute("\n".join(["bytes 1000000"] * 4))
            text = 0
            while True:
                message = reader.receive()
                if rude.parent_of(message) != msg_id:
                    continue
                if message["header"]["msg_type"] == "stream":
                    text += len(message["content"]["text"])
                if rude.is_idle(message):
                    break
            assert text == 4_000_000
            sizes.append(rude.resident_kib(serve.first_gateway))
            assert witness.run("still here")["status"] == "ok"
    code, reason = idle.close_code()
    assert code == 1013 and f"ws_queue_bytes = {QUEUE_BYTES}" in reason
    assert max(sizes) - sizes[0] < 64 * 1024, f"the gateway grew: {sizes} KiB"
    idle.close()


def test_a_reader_that_never_closes(start_serve, kernels):
    """It is told once and then cut off: nothing waits for it."""
    arguments = ("--ws-queue-bytes", "64KiB", "--ws-close-ms", "100ms")
    serve = start_serve(*arguments, kernels=kernels)
    kernel_id = rude.start(serve)
    idle = rude.Rude(serve, kernel_id, receive_buffer=4096)
    with rude.Rude(serve, kernel_id) as reader:
        reader.execute("\n".join(["bytes 60000"] * 200))

        def has_no_client():
            return rude.state(serve, kernel_id)["connections"] == 0

        cellblock.wait_until(has_no_client, rude.PATIENCE_S, "the slow clients were cut off")
    idle.close()


@pytest.mark.parametrize("sessions", (("one", "other"), ("same", "same")), ids=" ".join)
def test_same_message_id_from_two_clients(serve, kernel_id, sessions):
    """What only one of them asked, only that one is answered; what names both alike, in order."""
    with rude.Rude(serve, kernel_id) as one, rude.Rude(serve, kernel_id) as other:
        one.session, other.session = sessions
        for i in range(20):
            one.execute("echo one", msg_id="id", username=f"one {i}")
            other.execute("error Other other", msg_id="id", username=f"other {i}")
        for client, name, status in ((one, "one", "ok"), (other, "other", "error")):
            assert heard(client, 20) == [(f"{name} {i}", status) for i in range(20)]


def heard(client, count):
    """(username, status) of the execute_replies, in order."""
    found = []
    while len(found) < count:
        message = client.receive()
        if message["header"]["msg_type"] == "execute_reply":
            found.append((message["parent_header"]["username"], message["content"]["status"]))
    return found


def test_one_session_id_that_flaps(serve, kernel_id):
    """Two clients that each throw the other out, a hundred times, with a cell under way: its reply
    comes to the last of them, once."""
    first = rude.Rude(serve, kernel_id, session_id="flap")
    first.run("ready")
    msg_id = first.execute("sleep 60000")
    clients = [first]
    for i in range(100):
        clients.append(rude.Rude(serve, kernel_id, session_id="flap"))
        if i % 2:
            clients.pop(0).reset()
    for client in clients[:-1]:
        assert client.close_code()[0] == 1000
        client.close()
    assert rude.state(serve, kernel_id)["connections"] == 1
    assert serve.request("POST", f"/api/kernels/{kernel_id}/interrupt")[0] == 204
    assert clients[-1].result(msg_id)["ename"] == "KeyboardInterrupt"
    clients[-1].close()
