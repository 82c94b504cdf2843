"""OpenAI Responses, with the openai SDK."""

import openai

from gateway.clients import PROMPT, SYSTEM, TOOLS, Turn, read, result_text


def connect(base, key):
    """A client."""
    return openai.OpenAI(base_url=base, api_key=key, max_retries=0, timeout=60)


def first(client, model, stream):
    """The first turn: sends the question."""
    return _turn(client, model, stream, [{"role": "user", "content": PROMPT}])


def second(client, model, stream, turn):
    """The second turn: sends the results of the calls."""
    results = [
        {"type": "function_call_output", "call_id": id, "output": result_text(name, arguments)}
        for id, name, arguments in turn.calls
    ]
    return _turn(client, model, stream, [*turn.history, *results])


def _turn(client, model, stream, items):
    asked = {
        "model": model,
        "instructions": SYSTEM,
        "input": items,
        "store": False,
        "tools": [{"type": "function", "strict": False, **tool} for tool in TOOLS],
    }
    if stream:
        with client.responses.stream(**asked) as events:
            for _ in events:
                pass
            found = events.get_final_response()
    else:
        found = client.responses.create(**asked)
    calls = [item for item in found.output if item.type == "function_call"]
    # Without the fields that the SDK's stream helper adds.
    said = [
        item.model_dump(exclude_none=True, exclude={"parsed_arguments": True}, warnings=False)
        for item in found.output
    ]
    for item in said:
        for part in item.get("content") or []:
            part.pop("parsed", None)
    usage = found.usage and [found.usage.input_tokens, found.usage.output_tokens]
    return Turn(
        [(item.call_id, item.name, read(item.arguments)) for item in calls],
        found.output_text,
        found.status,
        usage,
        [*items, *said],
    )
