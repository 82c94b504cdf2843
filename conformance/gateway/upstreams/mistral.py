"""Mistral, whose ids have nine letters and digits; `conformance/dialects` checks its order of roles."""

from gateway.upstreams import bearer, openai_chat
from strict import need

DIALECT = "mistral"
TOOLS, FINAL = "mistral_tools.json", "mistral_final.json"
TOOLS_STREAM, FINAL_STREAM = "mistral_stream.txt", "mistral_stream_text.txt"
IDS = (("", "D681PevKs"), ("", "a1B2c3D4e"))
OPAQUE = ()
MODEL = "mistral-large-{}"
CONTENT_TYPE = "text/event-stream"

credential = bearer


def paths(model, stream):
    """The accepted paths."""
    return ("/v1/chat/completions",)


def read(path, body):
    """Reads a request."""
    found = openai_chat.read(path, body)
    counts = (len(found.calls), len(found.results))
    need(counts[0] == counts[1], "count", f"{counts[0]} calls and {counts[1]} responses")
    return found
