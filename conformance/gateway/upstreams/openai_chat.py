"""OpenAI Chat Completions."""

from gateway.upstreams import Request, arguments, bearer, follows, nested, text

DIALECT = "openai-chat"
TOOLS, FINAL = "openai_chat_tools.json", "openai_chat_final.json"
TOOLS_STREAM, FINAL_STREAM = "openai_chat_stream.txt", "openai_chat_stream_text.txt"
IDS = (("call_", "W8xw01aZ"), ("call_", "F9yq02bY"))
OPAQUE = ()
MODEL = "gpt-6-astra-{}"
CONTENT_TYPE = "text/event-stream"

credential = bearer


def paths(model, stream):
    """The accepted paths."""
    return ("/v1/chat/completions",)


def read(path, body):
    """Reads a request."""
    messages = body["messages"]
    follows(
        messages, lambda each: each.get("tool_calls"), lambda each: each["role"] == "tool", "order"
    )
    said = [call for message in messages for call in message.get("tool_calls") or []]
    return Request(
        stream=body.get("stream") or False,
        system=_of(messages, ("system", "developer")),
        prompt=_of(messages, ("user",)),
        tools=nested(body.get("tools")),
        calls=[
            (call["id"], call["function"]["name"], arguments(call["function"]["arguments"]))
            for call in said
        ],
        results=[
            (message["tool_call_id"], None, text(message["content"]))
            for message in messages
            if message["role"] == "tool"
        ],
        opaque=[
            message["reasoning_content"] for message in messages if message.get("reasoning_content")
        ],
    )


def _of(messages, roles):
    return "\n".join(text(message["content"]) for message in messages if message["role"] in roles)
