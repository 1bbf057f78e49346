"""frames - the two WebSocket encodings of a Jupyter message, read and written.

Written from the protocol's pages, not from the gateway's code: two readings of one text must agree.
The one complication is the mirrored byte order: the legacy binary frame counts in big-endian
32-bit words, v1.kernel.websocket.jupyter.org in little-endian 64-bit ones.
"""

import itertools
import json
import struct

V1 = "v1.kernel.websocket.jupyter.org"
PARTS = ("header", "parent_header", "metadata", "content")


def encode_legacy(message):
    """A str, or bytes where the message has buffers."""
    buffers = message.get("buffers")
    if not buffers:
        return json.dumps(message)
    text = json.dumps({key: value for key, value in message.items() if key != "buffers"}).encode()
    segments = [text, *buffers]
    offset, offsets = 4 * (len(segments) + 1), []
    for segment in segments:
        offsets.append(offset)
        offset += len(segment)
    return struct.pack(f">{len(segments) + 1}I", len(segments), *offsets) + b"".join(segments)


def decode_legacy(frame):
    if isinstance(frame, str):
        return json.loads(frame)
    (count,) = struct.unpack_from(">I", frame)
    offsets = [*struct.unpack_from(f">{count}I", frame, 4), len(frame)]
    assert offsets[0] == 4 * (count + 1), "the first segment follows the offsets"
    text, *buffers = (frame[begin:end] for begin, end in itertools.pairwise(offsets))
    message = json.loads(text)
    assert "buffers" not in message, "a binary frame's JSON has no buffers key"
    return {**message, "buffers": buffers}


def encode_v1(message):
    parts = (json.dumps(message.get(part) or {}).encode() for part in PARTS)
    segments = [message["channel"].encode(), *parts, *(message.get("buffers") or [])]
    offset, offsets = 8 * (len(segments) + 2), []
    for segment in segments:
        offsets.append(offset)
        offset += len(segment)
    return struct.pack(f"<{len(segments) + 2}Q", len(segments) + 1, *offsets, offset) + b"".join(
        segments
    )


def decode_v1(frame):
    assert isinstance(frame, bytes), "v1 frames are always binary"
    (count,) = struct.unpack_from("<Q", frame)
    offsets = struct.unpack_from(f"<{count}Q", frame, 8)
    assert offsets[0] == 8 * (count + 1), "the first segment follows the offsets"
    assert offsets[-1] == len(frame), "the last offset is the frame's size"
    channel, *rest = (frame[begin:end] for begin, end in itertools.pairwise(offsets))
    message = dict(zip(PARTS, map(json.loads, rest), strict=False))
    return {"channel": channel.decode(), **message, "buffers": rest[len(PARTS) :]}


ENCODINGS = {"legacy": (encode_legacy, decode_legacy), "v1": (encode_v1, decode_v1)}
