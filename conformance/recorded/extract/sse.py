"""Server-sent events, read leniently: recordings may lack the last blank line."""

from recorded.facts import loads


def events(data):
    """The JSON payloads of a stream, in order; comments and `[DONE]` are skipped."""
    text = data.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    for block in text.split("\n\n"):
        lines = [line[5:].removeprefix(" ") for line in block.split("\n") if line.startswith("data:")]
        payload = "\n".join(lines).strip()
        if payload and payload != "[DONE]":
            yield loads(payload)
