"""Recorded replies, with the nonces of a cell inserted."""

import json
import pathlib
import re

import frames
from strict import need

FIXTURES = pathlib.Path(__file__).parents[2] / "fixtures"


def whole(vendor, cell, turn):
    """A whole reply."""
    name = vendor.TOOLS if turn == 1 else vendor.FINAL
    body = json.loads(_path(vendor, name).read_text("utf-8"))
    text = _edited(json.dumps(body, ensure_ascii=False), vendor, cell, turn, name)
    return text.encode("utf-8")


def stream(vendor, cell, turn):
    """The bytes of a stream."""
    name = vendor.TOOLS_STREAM if turn == 1 else vendor.FINAL_STREAM
    data = _path(vendor, name).read_bytes()
    if not name.endswith(".bin"):
        return _edited(data.decode("utf-8"), vendor, cell, turn, name).encode("utf-8")
    found = list(frames.aws(data))
    # All payloads at once, so that an edit that matches nothing is noticed.
    text = "\0".join(payload.decode("utf-8") for _, payload in found)
    edited = _edited(text, vendor, cell, turn, name).split("\0")
    return b"".join(
        frames.aws_frame(headers, payload.encode("utf-8"))
        for (headers, _), payload in zip(found, edited, strict=True)
    )


def _path(vendor, name):
    return FIXTURES / vendor.DIALECT / "accepted" / name


def _edited(text, vendor, cell, turn, name):
    """Inserts the nonces at all occurrences of the word in the recording."""
    if turn == 1:
        ids = [(old, re.escape(old), new) for old, new in _ids(vendor, cell)]
        edits = [
            ("city", r'京(?=\\?")', "京" + cell.word("w")),
            ("name", r'伟(?=\\?")', "伟" + cell.word("f")),
            *ids,
        ]
        if vendor.OPAQUE:
            words = zip(vendor.OPAQUE, vendor.opaque(cell.tag), strict=True)
            edits += [("opaque", re.escape(old), new) for old, new in words]
    else:
        edits = [("text", "再试。", "再试。" + cell.word("t"))]
    for what, pattern, new in edits:
        text, count = re.subn(pattern, lambda _: new, text)
        need(count, "replay", f"{name} has no place for {what}")
    return text


def _ids(vendor, cell):
    """The recorded ids and those of a cell: the same prefix, then a nonce."""
    return [
        (prefix + tail, prefix + cell.nonce(letter))
        for (prefix, tail), letter in zip(vendor.IDS, "wf")
    ]


def ids(vendor, cell):
    """The ids of a cell's calls."""
    return [new for _, new in _ids(vendor, cell)]
