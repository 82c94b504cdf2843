"""Anthropic Messages, with the anthropic SDK."""

import anthropic

from gateway.clients import PROMPT, SYSTEM, TOOLS, Turn, result_text


def connect(base, key):
    """A client."""
    return anthropic.Anthropic(base_url=base, api_key=key, max_retries=0, timeout=60)


def first(client, model, stream):
    """The first turn: sends the question."""
    return _turn(client, model, stream, [{"role": "user", "content": PROMPT}])


def second(client, model, stream, turn):
    """The second turn: sends the results of the calls."""
    results = [
        {"type": "tool_result", "tool_use_id": id, "content": result_text(name, arguments)}
        for id, name, arguments in turn.calls
    ]
    return _turn(client, model, stream, [*turn.history, {"role": "user", "content": results}])


def _turn(client, model, stream, messages):
    asked = {
        "model": model,
        "max_tokens": 4096,
        "system": SYSTEM,
        "messages": messages,
        "tools": [
            {
                "name": tool["name"],
                "description": tool["description"],
                "input_schema": tool["parameters"],
            }
            for tool in TOOLS
        ],
    }
    if stream:
        with client.messages.stream(**asked) as events:
            found = events.get_final_message()
    else:
        found = client.messages.create(**asked)
    calls = [block for block in found.content if block.type == "tool_use"]
    said = [block.model_dump(exclude_none=True, warnings=False) for block in found.content]
    for block in said:
        block.pop("parsed_output", None)
    return Turn(
        [(block.id, block.name, block.input) for block in calls],
        "".join(block.text for block in found.content if block.type == "text"),
        found.stop_reason,
        found.usage and [found.usage.input_tokens, found.usage.output_tokens],
        [*messages, {"role": "assistant", "content": said}],
    )
