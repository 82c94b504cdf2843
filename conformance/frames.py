"""Reads streams without an SDK, to check what the SDKs overlook, and writes AWS frames."""

import json
import struct
import zlib

from strict import need


class SseEvent:
    """One server-sent event: its name, if it has one, and its data."""

    def __init__(self, name, data):
        self.name = name
        self.data = data

    @property
    def json(self):
        """The data, parsed as JSON."""
        return parse(self.data)


def parse(text):
    """Parses JSON, and rejects anything else."""
    try:
        return json.loads(text)
    except ValueError as error:
        need(False, "JSON", f"{error}: {text[:80]!r}")


def sse(data):
    """Splits bytes into server-sent events; comments are skipped."""
    events = []
    text = data.decode("utf-8").replace("\r\n", "\n")
    need(text.endswith("\n\n"), "SSE", "the stream does not end with a blank line")
    for block in text.split("\n\n"):
        name, lines = None, []
        for line in block.split("\n"):
            field, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if field == "event":
                name = value
            elif field == "data":
                lines.append(value)
            else:
                need(field == "", "SSE", f"unexpected field {field!r}")
        if lines:
            events.append(SseEvent(name, "\n".join(lines)))
    need(events, "SSE", "the stream has no events")
    return events


def unnamed(events, name):
    """Rejects `event:` lines, which the vendor does not send."""
    for event in events:
        need(event.name is None, name, f"the vendor sends no event lines, found {event.name!r}")


def named(events, name):
    """Rejects events whose name is not the `type` in their data."""
    for event in events:
        kind = event.json.get("type")
        need(event.name == kind, name, f"event {event.name!r} carries type {kind!r}")


def done(events, name):
    """Removes the closing `[DONE]`."""
    need(events[-1].data == "[DONE]", name, "the stream does not end with [DONE]")
    return events[:-1]


def ndjson(data):
    """Splits bytes into JSON lines."""
    need(data.endswith(b"\n"), "NDJSON", "the last line is not closed")
    return [parse(line) for line in data.decode("utf-8").split("\n") if line]


def aws(data):
    """Splits bytes into AWS frames: headers and payload of each, with both checksums verified."""
    at = 0
    while at < len(data):
        total, length, check = struct.unpack_from(">III", data, at)
        frame = data[at : at + total]
        need(check == zlib.crc32(frame[:8]), "AWS frame", f"bad checksum of the prelude at {at}")
        (whole,) = struct.unpack(">I", frame[-4:])
        need(whole == zlib.crc32(frame[:-4]), "AWS frame", f"bad checksum at {at}")
        yield frame[12 : 12 + length], frame[12 + length : -4]
        at += total


def aws_frame(headers, payload):
    """An AWS frame with these headers, as `aws` returns them, and this payload."""
    prelude = struct.pack(">II", 16 + len(headers) + len(payload), len(headers))
    frame = prelude + struct.pack(">I", zlib.crc32(prelude)) + headers + payload
    return frame + struct.pack(">I", zlib.crc32(frame))
