"""Clients that mean harm (adversary.py), each a process of its own: they end as docs/http.md says,
others are served meanwhile, and what they made the gateway hold is given back."""

import contextlib
import json
import statistics
import subprocess
import sys
import time

import adversary
import pytest
import rude

ARGUMENTS = (
    *("--http-head-ms", "2s", "--http-body-ms", "2s", "--http-idle-ms", "3s"),
    *("--http-connections", "150"),
)

# What may come of each try, and must come of at least one.
ENDS = {
    "slow_heads": {"408"},
    "slow_bodies": {"408"},
    "slow_frames": {"open"},
    "pings": {"pong"},
    "fragments": {"1009"},
    "connections": {"200", "503"},
    "upgrades": {"400", "404", "426"},
    "pipelined": {"closed"},
    "huge_heads": {"200", "404", "431"},
    "deep_json": {"400", "1007"},
    "wrong_frames": {"1002"},
    "garbage": {"200", "400", "1002"},
}
SAMPLES = 40
# Others may become slower: the machine has the adversary to run as well.
TIMES_SLOWER, AT_LEAST_S = 50, 1
GROWTH_KIB = 64 * 1024


def ask_often(client, seconds):
    """Adds to seconds how long each of some cells took."""
    for _ in range(SAMPLES):
        start = time.monotonic()
        assert client.run("still here")["status"] == "ok"
        seconds.append(time.monotonic() - start)


@contextlib.contextmanager
def attacking(serve, kernel_id, name, outcomes):
    """An adversary at work; outcomes is filled at the end."""
    command = [sys.executable, adversary.__file__, name, str(serve.port), serve.token, kernel_id]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, text=True, **pipes) as process:
        try:
            assert process.stdout.readline() == "begun\n"
            yield
            said, _ = process.communicate(timeout=2 * rude.PATIENCE_S)
            assert process.returncode == 0, said
            outcomes.update(json.loads(said))
        finally:
            process.kill()


@pytest.mark.parametrize("name", ENDS)
def test_attack(serve, kernel_id, witness, name):
    quiet, meanwhile, outcomes = [], [], {}
    size = rude.resident_kib(serve.first_gateway)
    ask_often(witness, quiet)
    with attacking(serve, kernel_id, name, outcomes):
        ask_often(witness, meanwhile)
    assert set(outcomes) == ENDS[name], outcomes
    limit = max(TIMES_SLOWER * statistics.median(quiet), AT_LEAST_S)
    assert statistics.median(meanwhile) < limit, (quiet, meanwhile)
    assert rude.resident_kib(serve.first_gateway) - size < GROWTH_KIB


def test_every_attack_is_tried():
    assert {attack.__name__ for attack in adversary.ATTACKS} == set(ENDS)
