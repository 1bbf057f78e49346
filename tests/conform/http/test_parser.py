"""Our request parser beside Node's (a newer llhttp): what we take, Node takes too, and both read
the same from it. We refuse more, never less."""

import json
import random
import subprocess

import cellblock

CORPUS = cellblock.ROOT / "tests" / "fuzz" / "gateway" / "http" / "fuzz_head.corpus"
OURS = cellblock.BUILD / "tests" / "http-test_parser"
NODE = ["node", "--expose-internals", cellblock.ROOT / "tests/conform/http/parse.js"]
MUTANTS = 3000
FILES_AT_ONCE = 500


def read_corpus():
    # The first byte of a fuzz input is not the request's (fuzz_head.c).
    return [path.read_bytes()[1:] for path in sorted(CORPUS.iterdir())]


def mutate(choose, inputs):
    """One input with a few bytes changed, taken out, put in, or another's tail."""
    data = bytearray(choose.choice(inputs))
    pieces = [b"\r\n", b"\n", b"\r", b" ", b"\t", b":", b",", b"0", b"chunked", b"\x00", b"\xff"]
    for _ in range(choose.randint(1, 3)):
        at = choose.randrange(len(data) + 1)
        kind = choose.randrange(4)
        if kind == 0:
            data[at : at + 1] = bytes([choose.randrange(256)])
        elif kind == 1:
            del data[at : at + choose.randint(1, 4)]
        elif kind == 2:
            data[at:at] = choose.choice(pieces)
        else:
            other = choose.choice(inputs)
            data[at:] = other[choose.randrange(len(other) + 1) :]
    return bytes(data)


def ask(command, paths):
    lines = []
    for begin in range(0, len(paths), FILES_AT_ONCE):
        some = paths[begin : begin + FILES_AT_ONCE]
        result = subprocess.run([*command, *some], check=True, capture_output=True, text=True)
        lines += result.stdout.splitlines()
    assert len(lines) == len(paths)
    return [json.loads(line) for line in lines]


def disagreement(ours, node):
    """What is wrong about the two readings of one input, or None."""
    if not ours["done"]:
        return None
    if not node["done"]:
        return f"taken, but Node refuses it: {node['error']}"
    target = ours["path"] + ("3f" + ours["query"] if ours["query"] else "")
    if node["target"] not in (target, target + "3f"):
        return f"target {target}, but {node['target']} in Node"
    for name in ("method", "body", "fields"):
        if ours[name] != node[name]:
            return f"{name} {ours[name]}, but {node[name]} in Node"
    return None


def test_what_we_take_node_takes_and_reads_alike(tmp_path):
    corpus = read_corpus()
    choose = random.Random(20112)
    inputs = corpus + [mutate(choose, corpus) for _ in range(MUTANTS)]
    paths = []
    for number, data in enumerate(inputs):
        paths.append(tmp_path / str(number))
        paths[-1].write_bytes(data)
    ours, node = ask([OURS], paths), ask(NODE, paths)
    wrong = {
        inputs[i]: disagreement(ours[i], node[i])
        for i in range(len(inputs))
        if disagreement(ours[i], node[i])
    }
    assert not wrong
    # Neither side says the same to everything.
    assert sum(reading["done"] for reading in ours) > 100
    assert sum(reading["status"] != 0 for reading in ours) > 100
    assert sum(reading["done"] for reading in node) > sum(reading["done"] for reading in ours)
