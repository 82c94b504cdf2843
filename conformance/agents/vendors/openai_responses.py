"""OpenAI Responses."""

import json

from agents.vendors import Item, answered, data_url, names, pieces, strict_schema, usage
from strict import need


def is_stream(path, body):
    """Whether the client asked for a stream."""
    return body.get("stream") or False


def offered(body):
    """The tools that the client runs: name to schema."""
    return {
        tool["name"]: (tool.get("parameters") or {}) if tool["type"] == "function" else None
        for tool in body.get("tools") or []
        if tool["type"] in ("function", "custom")
    }


def items(body):
    """The conversation."""
    found = [Item("system", body["instructions"])] if body.get("instructions") else []
    given = body["input"]
    for item in [{"role": "user", "content": given}] if isinstance(given, str) else given:
        kind = item.get("type", "message")
        if kind == "message":
            text, media = _content(item["content"])
            role = "system" if item["role"] == "developer" else item["role"]
            found.append(Item(role, text, media))
        elif kind in ("function_call", "custom_tool_call"):
            given = (
                json.loads(item["arguments"]) if "arguments" in item else {"input": item["input"]}
            )
            found.append(Item("call", id=item["call_id"], name=item["name"], arguments=given))
        elif kind in ("function_call_output", "custom_tool_call_output"):
            text, media = _content(item["output"])
            found.append(Item("result", text, media, item["call_id"]))
        elif kind == "reasoning":
            found.append(Item("opaque", item.get("encrypted_content") or ""))
        else:
            need(False, "input", f"an item of type {kind!r}")
    return found


def _content(content):
    if isinstance(content, str):
        return content, []
    text = "".join(part.get("text", "") for part in content)
    media = [data_url(part["image_url"]) for part in content if part["type"] == "input_image"]
    return text, media


def rules(body, cell):
    """Rejects requests that the vendor rejects."""
    tools = body.get("tools") or []
    names([tool["name"] for tool in tools if "name" in tool], r"[a-zA-Z0-9_-]{1,64}", 128)
    # `parallel_tool_calls` alone is accepted.
    need(tools or body.get("tool_choice", "auto") in ("auto", "none"), "tool_choice", "no tools")
    need(body.get("temperature", 1) == 1, "temperature", "only the default (1) is supported")
    need("previous_response_id" not in body, "previous_response_id", "Previous response not found")
    for tool in tools:
        if tool["type"] == "function" and tool.get("strict"):
            strict_schema(tool["name"], tool["parameters"])
    if not isinstance(body["input"], str):
        for item in body["input"]:
            need(item.get("type") != "item_reference", "item_reference", "Item not found")
            if item.get("type") == "function_call":
                fine = item.get("id", "fc_").startswith("fc_")
                need(fine, "function_call", f"the id {item.get('id')!r} does not begin with fc")
    # A call's results may come later than other items here, but not be missing.
    found = items(body)
    answered([item for item in found if item.kind in ("call", "result")])


def _output(reply):
    found = []
    if reply.thinks:
        found.append(
            {
                "id": f"rs_{reply.tag}{reply.number}",
                "type": "reasoning",
                "summary": [],
                "encrypted_content": reply.opaque,
            }
        )
    if reply.text:
        part = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        found.append(
            {
                "id": f"msg_{reply.tag}{reply.number}",
                "type": "message",
                "status": "completed",
                "role": "assistant",
                "content": [part],
            }
        )
    for id, name, given in reply.calls:
        found.append(
            {
                "id": f"fc_{id}",
                "type": "function_call",
                "status": "completed",
                "call_id": id,
                "name": name,
                "arguments": json.dumps(given, ensure_ascii=False),
            }
        )
    return found


def _response(reply, output, status):
    came, went = usage(reply)
    counts = {
        "input_tokens": came,
        "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
        "output_tokens": went,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": came + went,
    }
    return {
        "id": f"resp_{reply.tag}{reply.number}",
        "object": "response",
        "created_at": 1794700000,
        "status": status,
        "error": None,
        "incomplete_details": None,
        "instructions": None,
        "model": reply.model,
        "output": output,
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
        "metadata": {},
        "usage": counts if status == "completed" else None,
    }


def whole(reply):
    """A reply."""
    return json.dumps(_response(reply, _output(reply), "completed"))


def stream(reply):
    """A reply in events."""
    output = _output(reply)
    events = [{"type": "response.created", "response": _response(reply, [], "in_progress")}]
    for index, item in enumerate(output):
        events += _item_events(index, item)
    done = _response(reply, output, "completed")
    events.append({"type": "response.completed", "response": done})
    return "".join(
        f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n"
        for number, event in enumerate(events)
    )


def _item_events(index, item):
    at = {"output_index": index}
    inside = {**at, "item_id": item["id"]}
    begun, middle = dict(item), []
    if item["type"] == "message":
        begun |= {"content": [], "status": "in_progress"}
        inside["content_index"] = 0
        (part,) = item["content"]
        kind = "response.output_text"
        middle = [
            {"type": "response.content_part.added", **inside, "part": {**part, "text": ""}},
            *(
                {"type": f"{kind}.delta", **inside, "delta": piece, "logprobs": []}
                for piece in pieces(part["text"])
            ),
            {"type": f"{kind}.done", **inside, "text": part["text"], "logprobs": []},
            {"type": "response.content_part.done", **inside, "part": part},
        ]
    elif item["type"] == "function_call":
        begun |= {"arguments": "", "status": "in_progress"}
        kind = "response.function_call_arguments"
        text = item["arguments"]
        middle = [
            *({"type": f"{kind}.delta", **inside, "delta": piece} for piece in pieces(text)),
            {"type": f"{kind}.done", **inside, "arguments": text, "name": item["name"]},
        ]
    return [
        {"type": "response.output_item.added", **at, "item": begun},
        *middle,
        {"type": "response.output_item.done", **at, "item": item},
    ]


def error(message):
    """An error body."""
    found = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return {"error": found}
