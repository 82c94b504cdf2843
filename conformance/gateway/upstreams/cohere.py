"""Cohere v2."""

import json

from gateway.upstreams import Request, arguments, bearer, follows, nested, text

DIALECT = "cohere"
TOOLS, FINAL = "cohere_tools.json", "cohere_final.json"
TOOLS_STREAM, FINAL_STREAM = "cohere_stream.txt", "cohere_stream_text.txt"
IDS = (("get_weather_", "k8rn3"), ("search_flights_", "p2vw1"))
OPAQUE = ()
MODEL = "command-a-{}"
CONTENT_TYPE = "text/event-stream"

credential = bearer


def paths(model, stream):
    """The accepted paths."""
    return ("/v2/chat",)


def read(path, body):
    """Reads a request."""
    messages = body["messages"]
    follows(
        messages, lambda each: each.get("tool_calls"), lambda each: each["role"] == "tool", "order"
    )
    calls = [call for message in messages for call in message.get("tool_calls") or []]
    return Request(
        stream=body.get("stream") or False,
        system=_of(messages, "system"),
        prompt=_of(messages, "user"),
        tools=nested(body.get("tools")),
        calls=[
            (call["id"], call["function"]["name"], arguments(call["function"]["arguments"]))
            for call in calls
        ],
        results=[
            (message["tool_call_id"], None, _result(message["content"]))
            for message in messages
            if message["role"] == "tool"
        ],
    )


def _of(messages, role):
    return "\n".join(text(message["content"]) for message in messages if message["role"] == role)


def _result(content):
    if isinstance(content, str):
        return content
    return "".join(
        part["text"] if part["type"] == "text" else json.dumps(part["document"], ensure_ascii=False)
        for part in content
    )
