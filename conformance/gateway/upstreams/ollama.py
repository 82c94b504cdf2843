"""Ollama, which streams by default and pairs results by name and order."""

from gateway.upstreams import Request, bearer, follows, nested
from strict import need

DIALECT = "ollama"
TOOLS, FINAL = "ollama_tools.json", "ollama_final.json"
TOOLS_STREAM, FINAL_STREAM = "ollama_stream.ndjson.txt", "ollama_stream_text.ndjson.txt"
IDS = (("call_", "w1"), ("call_", "f2"))
OPAQUE = ()
MODEL = "qwen3:8b-{}"
CONTENT_TYPE = "application/x-ndjson"

credential = bearer


def paths(model, stream):
    """The accepted paths."""
    return ("/api/chat",)


def read(path, body):
    """Reads a request."""
    messages = body["messages"]
    follows(
        messages, lambda each: each.get("tool_calls"), lambda each: each["role"] == "tool", "order"
    )
    calls = [call for message in messages for call in message.get("tool_calls") or []]
    results = [message for message in messages if message["role"] == "tool"]
    for message in results:
        need(message.get("tool_name"), "tool", "a result without tool_name")
    return Request(
        stream=body.get("stream", True),
        system=_of(messages, "system"),
        prompt=_of(messages, "user"),
        tools=nested(body.get("tools")),
        calls=[
            (call.get("id"), call["function"]["name"], call["function"]["arguments"])
            for call in calls
        ],
        results=[
            (message.get("tool_call_id"), message["tool_name"], message["content"])
            for message in results
        ],
    )


def _of(messages, role):
    return "\n".join(message["content"] for message in messages if message["role"] == role)
