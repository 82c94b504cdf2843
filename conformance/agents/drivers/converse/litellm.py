"""LiteLLM's SDK as a client, with the routes of several vendors."""

import json

import litellm

from converse import SYSTEM, get_weather, search_flights

litellm.telemetry = False
litellm.suppress_debug_info = True
_TOOLS = {"get_weather": get_weather, "search_flights": search_flights}
_TEXT, _TEXTS = {"type": "string"}, {"type": "array", "items": {"type": "string"}}
_PROPERTIES = {
    "get_weather": {"city": _TEXT, "unit": _TEXT},
    "search_flights": {"origin": _TEXT, "destination": _TEXT, "passengers": _TEXTS},
}
_SCHEMAS = [
    {
        "type": "function",
        "function": {
            "name": name,
            "description": tool.__doc__,
            "parameters": {
                "type": "object",
                "properties": _PROPERTIES[name],
                "required": list(_PROPERTIES[name])[:1],
            },
        },
    }
    for name, tool in _TOOLS.items()
]


async def converse(talk):
    """Runs both turns."""
    messages = [{"role": "system", "content": SYSTEM}]
    first = await _turn(talk, messages, talk.prompts[0])
    picture = {"type": "image_url", "image_url": {"url": talk.image_url}}
    second = await _turn(talk, messages, [{"type": "text", "text": talk.prompts[1]}, picture])
    return [first, second]


async def _turn(talk, messages, asked):
    messages.append({"role": "user", "content": asked})
    while True:
        message = await _ask(talk, messages)
        messages.append(message)
        if not message.tool_calls:
            return message.content
        for call in message.tool_calls:
            result = {"role": "tool", "tool_call_id": call.id, "name": call.function.name}
            messages.append({**result, "content": _result(call)})


def _result(call):
    try:
        return _TOOLS[call.function.name](**json.loads(call.function.arguments))
    except ValueError as error:
        return f"error: {error}"


async def _ask(talk, messages):
    asked = {
        "model": f"{talk.variant}/{talk.model}",
        "api_base": talk.base,
        "api_key": talk.key,
        "messages": messages,
        "tools": _SCHEMAS,
        "num_retries": 0,
    }
    if not talk.stream:
        return (await litellm.acompletion(**asked)).choices[0].message
    chunks = []
    async for chunk in await litellm.acompletion(**asked, stream=True):
        talk.pieces += bool(chunk.choices and chunk.choices[0].delta.content)
        chunks.append(chunk)
    return litellm.stream_chunk_builder(chunks, messages=messages).choices[0].message
