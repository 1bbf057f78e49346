"""Many at once, and many one after another: what is opened is counted, and closed again."""

import cellblock
import rude

# DESIGN: a session with its one WebSocket.
GATEWAY_DESCRIPTORS, WARDEN_DESCRIPTORS = 9, 8

KERNELS = 60
CYCLES = 300
PENDING = 10_000
DONE = 2_000


def test_two_hundred_sockets_on_one_kernel(serve, kernel_id):
    clients = [rude.Rude(serve, kernel_id, v1=i % 2 == 1) for i in range(200)]
    assert rude.state(serve, kernel_id)["connections"] == 200
    msg_id = clients[0].execute("print to all of you")
    assert clients[0].result(msg_id)["status"] == "ok"
    for client in clients[2::2]:
        text = client.until(lambda message: message["header"]["msg_type"] == "stream")
        assert text["content"]["text"] == "to all of you\n"
    for i, client in enumerate(clients):
        (client.close if i % 3 else client.reset)()

    def nobody_is_left():
        return rude.state(serve, kernel_id)["connections"] == 0

    cellblock.wait_until(nobody_is_left, rude.PATIENCE_S, "the kernel has no connections")


def test_sixty_kernels_with_a_socket_each(serve):
    before = serve.open_now()
    kernel_ids = [rude.start(serve) for _ in range(KERNELS)]
    clients = [rude.Rude(serve, kernel_id) for kernel_id in kernel_ids]
    msg_ids = [client.execute(f"echo {i}") for i, client in enumerate(clients)]
    for i, (client, msg_id) in enumerate(zip(clients, msg_ids, strict=True)):
        result = client.until(lambda message: message["header"]["msg_type"] == "execute_result")
        assert result["content"]["data"] == {"text/plain": str(i)}
        assert result["parent_header"]["msg_id"] == msg_id
    gateway, warden = serve.open_now()
    assert gateway - before[0] <= KERNELS * GATEWAY_DESCRIPTORS
    assert warden - before[1] <= KERNELS * WARDEN_DESCRIPTORS
    for client, kernel_id in zip(clients, kernel_ids, strict=True):
        rude.end(serve, kernel_id)
        assert client.close_code() == (1000, "the kernel was deleted")
        client.close()


def cycle(serve):
    kernel_id = rude.start(serve)
    with rude.Rude(serve, kernel_id) as client:
        assert client.run("bytes 1000")["status"] == "ok"
        rude.end(serve, kernel_id)


def test_memory_is_flat(serve):
    """Every third of the cycles may only add what the allocator happens to keep."""
    sizes = []
    for i in range(CYCLES):
        cycle(serve)
        if i % (CYCLES // 3) == CYCLES // 3 - 1:
            sizes.append([rude.resident_kib(pid) for pid in (serve.first_gateway, serve.pid)])
    first, last = sizes[0], sizes[-1]
    for name, begin, end in zip(("gateway", "warden"), first, last, strict=True):
        assert end - begin < 4096, f"{name} grew from {begin} to {end} KiB"


def send_all(client, msg_ids):
    messages = [client.encode(client.execute_message("x", msg_id=msg_id)) for msg_id in msg_ids]
    client.send(b"".join(client.frame(rude.TEXT, message) for message in messages))


def test_ten_thousand_requests_and_one(serve, witness):
    """Sent before the kernel can be ready; the one too many is told the limit's name."""
    kernel_id = rude.start(serve, "never_bind")
    with rude.Rude(serve, kernel_id) as client:
        msg_ids = [f"m{i}" for i in range(PENDING + 1)]
        send_all(client, msg_ids)
        last = client.result(msg_ids.pop())
        assert last["ename"] == "KernelQueueFull"
        assert "session_pending_requests" in last["evalue"] and str(PENDING) in last["evalue"]
        rude.end(serve, kernel_id)
        replies = client.ends(msg_ids)
        assert {reply["ename"] for reply in replies.values()} == {"KernelDeleted"}


def test_two_thousand_requests_are_done(serve):
    """Sent before the kernel is ready, and done in their order."""
    kernel_id = rude.start(serve)
    with rude.Rude(serve, kernel_id) as client:
        msg_ids = [f"m{i}" for i in range(DONE)]
        send_all(client, msg_ids)
        replies = client.ends(msg_ids)
        assert list(replies) == msg_ids
        assert {reply["status"] for reply in replies.values()} == {"ok"}
    rude.end(serve, kernel_id)
