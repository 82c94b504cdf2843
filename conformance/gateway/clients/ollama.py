"""Ollama, with the ollama SDK, which discards call ids."""

import ollama

from gateway.clients import PROMPT, SYSTEM, Turn, functions, result_text


def connect(base, key):
    """A client."""
    return ollama.Client(host=base, headers={"authorization": f"Bearer {key}"}, timeout=60)


def first(client, model, stream):
    """The first turn: sends the question."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}]
    return _turn(client, model, stream, messages)


def second(client, model, stream, turn):
    """The second turn: sends the results of the calls, in their order and by name."""
    results = [
        {"role": "tool", "tool_name": name, "content": result_text(name, arguments)}
        for _, name, arguments in turn.calls
    ]
    return _turn(client, model, stream, [*turn.history, *results])


def _turn(client, model, stream, messages):
    asked = {"model": model, "messages": messages, "tools": functions()}
    chunks = list(client.chat(**asked, stream=True)) if stream else [client.chat(**asked)]
    last = chunks[-1]
    calls = [call.function for chunk in chunks for call in chunk.message.tool_calls or []]
    text = "".join(chunk.message.content or "" for chunk in chunks)
    thinking = "".join(chunk.message.thinking or "" for chunk in chunks)
    said = {"role": "assistant", "content": text}
    if thinking:
        said["thinking"] = thinking
    if calls:
        said["tool_calls"] = [
            {"function": {"name": call.name, "arguments": dict(call.arguments)}} for call in calls
        ]
    usage = last.eval_count and [last.prompt_eval_count, last.eval_count]
    return Turn(
        [(None, call.name, dict(call.arguments)) for call in calls],
        text,
        last.done_reason if last.done else None,
        usage,
        [*messages, said],
    )
