"""OpenAI Chat Completions, with the openai SDK."""

import openai

from gateway.clients import PROMPT, SYSTEM, Turn, functions, read, result_text

# What a client of this dialect sends back besides the message's own fields.
KEPT = ()


def connect(base, key):
    """A client."""
    return openai.OpenAI(base_url=base, api_key=key, max_retries=0, timeout=60)


def first(client, model, stream, kept=KEPT):
    """The first turn: sends the question."""
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": PROMPT}]
    return _turn(client, model, stream, messages, kept)


def second(client, model, stream, turn, kept=KEPT):
    """The second turn: sends the results of the calls."""
    results = [
        {"role": "tool", "tool_call_id": id, "content": result_text(name, arguments)}
        for id, name, arguments in turn.calls
    ]
    return _turn(client, model, stream, [*turn.history, *results], kept)


def _turn(client, model, stream, messages, kept):
    asked = {"model": model, "messages": messages, "tools": functions()}
    if stream:
        asked["stream_options"] = {"include_usage": True}
        with client.chat.completions.stream(**asked) as events:
            for _ in events:
                pass
            found = events.get_final_completion()
    else:
        found = client.chat.completions.create(**asked)
    choice = found.choices[0]
    calls = choice.message.tool_calls or []
    said = {"role": "assistant", "content": choice.message.content}
    if calls:
        said["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": call.function.name, "arguments": call.function.arguments},
            }
            for call in calls
        ]
    said.update({key: getattr(choice.message, key) for key in kept if hasattr(choice.message, key)})
    usage = found.usage and [found.usage.prompt_tokens, found.usage.completion_tokens]
    return Turn(
        [(call.id, call.function.name, read(call.function.arguments)) for call in calls],
        choice.message.content,
        choice.finish_reason,
        usage,
        [*messages, said],
    )
