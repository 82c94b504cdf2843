"""Anthropic Messages."""

import json

from agents.vendors import Item, image, names, pieces, usage
from strict import need

_MIN_TOKENS = 8192


def is_stream(path, body):
    """Whether the client asked for a stream."""
    return body.get("stream") or False


def offered(body):
    """The tools: name to schema."""
    return {
        tool["name"]: tool["input_schema"]
        for tool in body.get("tools") or []
        if "input_schema" in tool
    }


def items(body):
    """The conversation."""
    found = [Item("system", _text(body["system"])[0])] if body.get("system") else []
    for message in body["messages"]:
        for block in _blocks(message["content"]):
            kind = block["type"]
            if kind == "text":
                found.append(Item(message["role"], block["text"]))
            elif kind == "image":
                found.append(Item(message["role"], media=[_image(block)]))
            elif kind == "tool_use":
                given = block["input"]
                found.append(Item("call", id=block["id"], name=block["name"], arguments=given))
            elif kind == "tool_result":
                text, media = _text(block.get("content") or "")
                found.append(Item("result", text, media, block["tool_use_id"]))
            elif kind in ("thinking", "redacted_thinking"):
                found.append(Item("opaque", block.get("signature") or block.get("data")))
    return found


def _blocks(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _text(content):
    blocks = _blocks(content)
    text = "".join(block.get("text", "") for block in blocks)
    return text, [_image(block) for block in blocks if block["type"] == "image"]


def _image(block):
    source = block["source"]
    need(source["type"] == "base64", "image", f"a source of type {source['type']!r}")
    return image(source["data"], source["media_type"])


def rules(body, cell):
    """Rejects requests that the vendor rejects."""
    most = body.get("max_tokens")
    need(isinstance(most, int) and most > 0, "max_tokens", "field required")
    small = cell.client.is_coding_agent and cell.is_main(body) and most < _MIN_TOKENS
    need(not small, "max_tokens", f"{most} cuts the patches of a coding agent")
    both = "temperature" in body and "top_p" in body
    need(not both, "sampling", "`temperature` and `top_p` cannot both be specified")
    _thinking(body)
    tools = body.get("tools") or []
    names([tool["name"] for tool in tools], r"[a-zA-Z0-9_-]{1,128}")
    need(tools or "tool_choice" not in body, "tool_choice", "may only be specified with tools")
    strict = [tool for tool in tools if tool.get("strict")]
    need(len(strict) <= 20, "tools", f"{len(strict)} strict tools, at most 20")
    _messages(body["messages"])
    marks = json.dumps(body).count('"cache_control"')
    need(marks <= 4, "cache_control", f"{marks} blocks, at most 4")


def _thinking(body):
    thinking = body.get("thinking") or {"type": "disabled"}
    if thinking["type"] == "disabled":
        return
    need("top_k" not in body, "top_k", "may not be set when thinking is enabled")
    need(body.get("temperature", 1) == 1, "temperature", "may only be 1 when thinking is enabled")
    forced = (body.get("tool_choice") or {}).get("type") in ("any", "tool")
    need(not forced, "thinking", "may not be enabled when tool_choice forces tool use")
    budget = thinking.get("budget_tokens", 0)
    need(budget < body["max_tokens"], "max_tokens", "must be greater than budget_tokens")


def _messages(messages):
    need(messages, "messages", "at least one message is required")
    roles = [message["role"] for message in messages]
    need(roles[0] == "user", "messages", f"the first message is of {roles[0]}")
    need(roles[-1] != "assistant", "messages", "the last message is of assistant: a prefill")
    waiting = []
    for number, message in enumerate(messages):
        at, role, blocks = f"messages.{number}", message["role"], _blocks(message["content"])
        need(blocks, at, "content must not be empty")
        for block in blocks:
            blank = block["type"] == "text" and not block["text"].strip()
            need(not blank, at, "text content blocks must contain non-whitespace text")
        if role == "system":
            need(not waiting, at, "role system between a call and its result")
            need(roles[number - 1] == "user", at, "role system must follow a user message")
            last = number + 1 == len(roles) or roles[number + 1] == "assistant"
            need(last, at, "role system must precede an assistant message or end the array")
        results = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        kinds = [block["type"] == "tool_result" for block in blocks]
        need(kinds == sorted(kinds, reverse=True), at, "tool_result blocks must come first")
        fine = sorted(results) == sorted(waiting)
        need(fine, at, f"tool_use ids {waiting} need their tool_result blocks; got {results}")
        waiting = [block["id"] for block in blocks if block["type"] == "tool_use"]
        need(not waiting or role == "assistant", at, f"tool_use of {role}")
    need(not waiting, "messages", f"no tool_result for {waiting}")


def _content(reply):
    found = []
    if reply.thinks:
        found.append({"type": "thinking", "thinking": "Let me see.", "signature": reply.opaque})
    if reply.text:
        found.append({"type": "text", "text": reply.text})
    for id, name, given in reply.calls:
        found.append({"type": "tool_use", "id": id, "name": name, "input": given})
    return found


def _message(reply, content, stop):
    came, went = usage(reply)
    return {
        "id": f"msg_{reply.tag}{reply.number}",
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": content,
        "stop_reason": stop,
        "stop_sequence": None,
        "usage": {"input_tokens": came, "output_tokens": went},
    }


def _stop(reply):
    return "tool_use" if reply.calls else "end_turn"


def whole(reply):
    """A reply."""
    return json.dumps(_message(reply, _content(reply), _stop(reply)))


def stream(reply):
    """A reply in events."""
    events = [{"type": "message_start", "message": _message(reply, [], None)}, {"type": "ping"}]
    for index, block in enumerate(_content(reply)):
        begun, deltas = dict(block), []
        if block["type"] == "thinking":
            begun |= {"thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}]
            deltas.append({"type": "signature_delta", "signature": block["signature"]})
        elif block["type"] == "text":
            begun["text"] = ""
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces(block["text"])]
        else:
            begun["input"] = {}
            text = json.dumps(block["input"], ensure_ascii=False)
            deltas = [{"type": "input_json_delta", "partial_json": each} for each in pieces(text)]
        events.append({"type": "content_block_start", "index": index, "content_block": begun})
        for delta in deltas:
            events.append({"type": "content_block_delta", "index": index, "delta": delta})
        events.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": _stop(reply), "stop_sequence": None}
    counts = {"output_tokens": usage(reply)[1]}
    events.append({"type": "message_delta", "delta": end, "usage": counts})
    events.append({"type": "message_stop"})
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)


def error(message):
    """An error body."""
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}
