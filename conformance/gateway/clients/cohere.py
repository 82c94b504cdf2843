"""Cohere v2, with the cohere SDK."""

import cohere

from gateway.clients import PROMPT, SYSTEM, Turn, functions, read, result_text

_OPTIONS = {"max_retries": 0, "timeout_in_seconds": 60}


def connect(base, key):
    """A client."""
    return cohere.ClientV2(api_key=key, base_url=base)


def first(client, model, stream):
    """The first turn: sends the question."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}]
    return _turn(client, model, stream, messages)


def second(client, model, stream, turn):
    """The second turn: sends the results of the calls."""
    results = [
        {"role": "tool", "tool_call_id": id, "content": result_text(name, arguments)}
        for id, name, arguments in turn.calls
    ]
    return _turn(client, model, stream, [*turn.history, *results])


def _turn(client, model, stream, messages):
    asked = {
        "model": model,
        "messages": messages,
        "tools": functions(),
        "request_options": _OPTIONS,
    }
    if stream:
        said, finish, usage = _joined(client.chat_stream(**asked))
    else:
        found = client.chat(**asked)
        finish, usage = found.finish_reason, found.usage
        said = found.message.dict(exclude_none=True)
        said.pop("citations", None)
    calls = said.get("tool_calls", [])
    content = said.get("content", [])
    tokens = usage and usage.tokens
    return Turn(
        [
            (call["id"], call["function"]["name"], read(call["function"]["arguments"]))
            for call in calls
        ],
        "".join(part.get("text", "") for part in content),
        finish,
        tokens and [tokens.input_tokens, tokens.output_tokens],
        [*messages, said],
    )


def _joined(events):
    """The message of a stream; the SDK does not join it."""
    said, content, calls, finish, usage = {"role": "assistant"}, {}, {}, None, None
    for event in events:
        message = getattr(getattr(event, "delta", None), "message", None)
        if event.type == "tool-plan-delta":
            said["tool_plan"] = said.get("tool_plan", "") + message.tool_plan
        elif event.type == "tool-call-start":
            calls[event.index] = message.tool_calls.dict(exclude_none=True)
        elif event.type == "tool-call-delta":
            calls[event.index]["function"]["arguments"] += message.tool_calls.function.arguments
        elif event.type == "content-start":
            content[event.index] = message.content.dict(exclude_none=True)
        elif event.type == "content-delta":
            for key, value in message.content.dict(exclude_none=True).items():
                content[event.index][key] = content[event.index].get(key, "") + value
        elif event.type == "message-end":
            finish, usage = event.delta.finish_reason, event.delta.usage
    if calls:
        said["tool_calls"] = [call for _, call in sorted(calls.items())]
    if content:
        said["content"] = [part for _, part in sorted(content.items())]
    return said, finish, usage
