"""Mistral, with mistralai."""

try:
    from mistralai.client import Mistral
except ImportError:  # the previous major
    from mistralai import Mistral

from gateway.clients import PROMPT, SYSTEM, Turn, functions, read, result_text


def connect(base, key):
    """A client."""
    return Mistral(api_key=key, server_url=base, timeout_ms=60_000)


def first(client, model, stream):
    """The first turn: sends the question."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}]
    return _turn(client, model, stream, messages)


def second(client, model, stream, turn):
    """The second turn: sends the results of the calls."""
    results = [
        {
            "role": "tool",
            "tool_call_id": id,
            "name": name,
            "content": result_text(name, arguments),
        }
        for id, name, arguments in turn.calls
    ]
    return _turn(client, model, stream, [*turn.history, *results])


def _turn(client, model, stream, messages):
    asked = {"model": model, "messages": messages, "tools": functions()}
    if stream:
        with client.chat.stream(**asked) as events:
            chunks = [event.data for event in events]
        messages_of = [choice.delta for chunk in chunks for choice in chunk.choices]
    else:
        chunks = [client.chat.complete(**asked)]
        messages_of = [chunks[0].choices[0].message]
    finish = [choice.finish_reason for chunk in chunks for choice in chunk.choices][-1]
    usage = next((chunk.usage for chunk in reversed(chunks) if chunk.usage), None)
    content, calls = [], []
    for message in messages_of:
        content += _chunks(message.content)
        calls += message.tool_calls or []
    text = "".join(chunk["text"] for chunk in content if chunk["type"] == "text")
    thought = any(chunk["type"] == "thinking" for chunk in content)
    said = {"role": "assistant", "content": _merged(content) if thought else text}
    if calls:
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
            for call in calls
        ]
    return Turn(
        [(call.id, call.function.name, read(call.function.arguments)) for call in calls],
        text,
        finish,
        usage and [usage.prompt_tokens, usage.completion_tokens],
        [*messages, said],
    )


def _chunks(content):
    """Content is text, or chunks of text and thinking."""
    if isinstance(content, str):
        return [{"type": "text", "text": content}] if content else []
    return [
        chunk.model_dump(mode="json", exclude_none=True, by_alias=True) for chunk in content or []
    ]


def _merged(content):
    """Joins adjacent chunks of the same kind."""
    merged = []
    for chunk in content:
        if not merged or merged[-1]["type"] != chunk["type"]:
            merged.append(chunk)
        elif chunk["type"] == "text":
            merged[-1] = {**merged[-1], "text": merged[-1]["text"] + chunk["text"]}
        else:
            merged[-1] = {
                **merged[-1],
                **chunk,
                "thinking": merged[-1]["thinking"] + chunk["thinking"],
            }
    return merged
