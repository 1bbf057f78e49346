"""Everything at once, in an order that a fixed seed decides: each request is answered as it may be,
each execute that was taken ends exactly once, and no kernel stays."""

import random
import threading

import pytest
import rude

STEPS = 500
THREADS = 4
KERNELS = 5
CODES = ("echo 1", "sleep 20", "sleep 5000", "error A b", "lines 5", "exit 3", "signal 9", "spin 5")

# What each may answer: done, refused for the kernel's state, or there is no such kernel.
STATUSES = {
    ("POST", ""): {201},
    ("POST", "/restart"): {200, 404, 500},  # 500: the kernel died as it started
    ("POST", "/interrupt"): {204, 404, 409},
    ("DELETE", ""): {204, 404},
    ("GET", ""): {200, 404},
}


class Actor:
    """One client that draws what to do next; a few of them share the kernels."""

    def __init__(self, serve, seed, kernel_ids):
        self.serve = serve
        self.random = random.Random(seed)
        self.kernel_ids = kernel_ids
        self.clients = []  # (Rude, msg_ids)
        self.wrong = []

    def act(self):
        for _ in range(STEPS // THREADS):
            self.random.choices(
                (self.execute, self.request, self.connect, self.leave), (6, 4, 3, 1)
            )[0]()

    def request(self):
        method, what = self.random.choice(list(STATUSES))
        path = f"/api/kernels/{self.pick()}{what}"
        if (method, what) == ("POST", ""):
            path = "/api/kernels"
        body = {"name": "echo"} if path == "/api/kernels" else None
        with rude.Wire(self.serve) as wire:
            status, answer = wire.ask(method, path, body)
        if status not in STATUSES[method, what]:
            self.wrong.append((method, path, status, answer))
        if status == 201:
            self.kernel_ids[self.random.randrange(KERNELS)] = answer["id"]

    def pick(self):
        return self.random.choice(self.kernel_ids)

    def connect(self):
        try:
            self.clients.append((rude.Rude(self.serve, self.pick()), []))
        except AssertionError as refused:
            if refused.args[0][0] != 404:
                self.wrong.append(refused.args)

    def execute(self):
        if not self.clients:
            return
        client, msg_ids = self.random.choice(self.clients)
        try:
            msg_ids.append(client.execute(self.random.choice(CODES)))
        except rude.Gone:
            pass

    def leave(self):
        if self.clients:
            client, _ = self.clients.pop(self.random.randrange(len(self.clients)))
            self.random.choice((client.close, client.reset))()


@pytest.mark.parametrize("seed", (1, 2))
def test_five_hundred_steps(serve, witness, seed):
    kernel_ids = [rude.start(serve) for _ in range(KERNELS)]
    actors = [Actor(serve, seed * THREADS + i, kernel_ids) for i in range(THREADS)]
    threads = [threading.Thread(target=actor.act) for actor in actors]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [wrong for actor in actors for wrong in actor.wrong] == []
    for kernel_id in rude.kernel_ids(serve) - {witness.kernel_id}:
        rude.end(serve, kernel_id)
    for actor in actors:
        for client, msg_ids in actor.clients:
            check_ends(client, msg_ids)


def check_ends(client, msg_ids):
    """The kernel is gone, so the socket closes; before that, every request that the server read has
    had its ends. What was sent behind the last one that it read is without any."""
    ends = {msg_id: [] for msg_id in msg_ids}
    try:
        while True:
            message = client.receive()
            parent = rude.parent_of(message)
            if parent in ends and message["header"]["msg_type"] == "execute_reply":
                ends[parent].append("reply")
            elif parent in ends and rude.is_idle(message):
                ends[parent].append("idle")
    except rude.Gone:
        client.close()
    counts = [sorted(found) for found in ends.values()]
    while counts and counts[-1] == []:
        counts.pop()
    assert counts == [["idle", "reply"]] * len(counts)
