"""Cohere v2."""

import json

from agents.vendors import Item, answered, data_url, names, pieces, usage
from strict import need


def is_stream(path, body):
    """Whether the client asked for a stream."""
    return body.get("stream") or False


def offered(body):
    """The tools: name to schema."""
    return {
        tool["function"]["name"]: tool["function"].get("parameters") or {}
        for tool in body.get("tools") or []
    }


def items(body):
    """The conversation."""
    found = []
    for message in body["messages"]:
        role = message["role"]
        text, media = _content(message.get("content"))
        if role == "tool":
            found.append(Item("result", text, media, message["tool_call_id"]))
            continue
        text = (message.get("tool_plan") or "") + text
        if text or media or role != "assistant":
            found.append(Item(role, text, media))
        for call in message.get("tool_calls") or []:
            own = call["function"]
            given = json.loads(own["arguments"])
            found.append(Item("call", id=call["id"], name=own["name"], arguments=given))
    return found


def _content(content):
    if isinstance(content, str) or content is None:
        return content or "", []
    text, media = "", []
    for part in content:
        text += part.get("text", "")
        if part["type"] == "image_url":
            media.append(data_url(part["image_url"]["url"]))
        if part["type"] == "document":
            text += json.dumps(part["document"], ensure_ascii=False)
    return text, media


def rules(body, cell):
    """Rejects requests that the vendor rejects."""
    names(list(offered(body)), r"[a-zA-Z_][a-zA-Z0-9_.-]{0,127}")
    need(offered(body) or "tool_choice" not in body, "tool_choice", "requires tools")
    answered(items(body))
    last = body["messages"][-1]["role"]
    need(last in ("user", "tool"), "messages", f"the last message is of {last}")


def _usage(reply):
    came, went = usage(reply)
    counts = {"input_tokens": came, "output_tokens": went}
    return {"billed_units": counts, "tokens": counts}


def _calls(reply):
    return [
        {
            "id": id,
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(given, ensure_ascii=False)},
        }
        for id, name, given in reply.calls
    ]


def whole(reply):
    """A reply. Text beside calls is the plan."""
    message = {"role": "assistant"}
    if reply.calls:
        message |= {"tool_plan": reply.text, "tool_calls": _calls(reply)}
    else:
        message["content"] = [{"type": "text", "text": reply.text}]
    return json.dumps(
        {
            "id": f"{reply.tag}{reply.number}",
            "finish_reason": "TOOL_CALL" if reply.calls else "COMPLETE",
            "message": message,
            "usage": _usage(reply),
        }
    )


def stream(reply):
    """A reply in events."""
    started = {"role": "assistant", "content": [], "tool_plan": "", "tool_calls": []}
    id = f"{reply.tag}{reply.number}"
    events = [{"type": "message-start", "id": id, "delta": {"message": started}}]
    if reply.calls:
        events += [
            {"type": "tool-plan-delta", "delta": {"message": {"tool_plan": piece}}}
            for piece in pieces(reply.text)
        ]
        for index, call in enumerate(_calls(reply)):
            text = call["function"].pop("arguments")
            call["function"]["arguments"] = ""
            delta = {"message": {"tool_calls": call}}
            events.append({"type": "tool-call-start", "index": index, "delta": delta})
            for piece in pieces(text):
                delta = {"message": {"tool_calls": {"function": {"arguments": piece}}}}
                events.append({"type": "tool-call-delta", "index": index, "delta": delta})
            events.append({"type": "tool-call-end", "index": index})
    else:
        delta = {"message": {"content": {"type": "text", "text": ""}}}
        events.append({"type": "content-start", "index": 0, "delta": delta})
        for piece in pieces(reply.text):
            delta = {"message": {"content": {"text": piece}}}
            events.append({"type": "content-delta", "index": 0, "delta": delta})
        events.append({"type": "content-end", "index": 0})
    finish = "TOOL_CALL" if reply.calls else "COMPLETE"
    delta = {"finish_reason": finish, "usage": _usage(reply)}
    events.append({"type": "message-end", "id": id, "delta": delta})
    return "".join(f"event: {each['type']}\ndata: {json.dumps(each)}\n\n" for each in events)


def error(message):
    """An error body."""
    return {"message": message}
