"""Ollama, which pairs results by name and order."""

import json

from agents.vendors import Item, pieces, standard_base64, usage
from strict import need


def is_stream(path, body):
    """Whether the client asked for a stream: the default."""
    return body.get("stream", True)


def offered(body):
    """The tools: name to schema."""
    return {
        tool["function"]["name"]: tool["function"]["parameters"] for tool in body.get("tools") or []
    }


def items(body):
    """The conversation."""
    found = []
    for message in body["messages"]:
        media = [standard_base64(each) for each in message.get("images") or []]
        role, text = message["role"], message.get("content") or ""
        if role == "tool":
            id = message.get("tool_call_id")
            found.append(Item("result", text, media, id, message.get("tool_name")))
            continue
        if text or media or role != "assistant":
            found.append(Item(role, text, media))
        for call in message.get("tool_calls") or []:
            own = call["function"]
            call = Item("call", id=call.get("id"), name=own["name"], arguments=own["arguments"])
            found.append(call)
    return found


def rules(body, cell):
    """Rejects requests that the vendor or the chat templates of common models reject."""
    for key in ("tool_choice", "parallel_tool_calls"):
        need(key not in body, key, "no such field")
    roles = [message["role"] for message in body["messages"]]
    late = "system" in roles[1:]
    need(not late, "messages", f"the template raises: system message must be first, got {roles}")
    for number, message in enumerate(body["messages"]):
        if message["role"] == "tool":
            need(message.get("tool_name"), f"messages[{number}]", "a result without tool_name")


def _frame(reply, message, done):
    found = {
        "model": reply.model,
        "created_at": "2026-11-15T00:00:00.123456Z",
        "message": {"role": "assistant", **message},
        "done": done,
    }
    if done:
        came, went = usage(reply)
        found |= {
            "done_reason": "stop",
            "total_duration": 4883583458,
            "load_duration": 1334875,
            "prompt_eval_count": came,
            "prompt_eval_duration": 342546000,
            "eval_count": went,
            "eval_duration": 4535599000,
        }
    return found


def _calls(reply):
    return [
        {"id": id, "function": {"index": index, "name": name, "arguments": given}}
        for index, (id, name, given) in enumerate(reply.calls)
    ]


def whole(reply):
    """A reply."""
    message = {"content": reply.text}
    if reply.calls:
        message["tool_calls"] = _calls(reply)
    return json.dumps(_frame(reply, message, True))


def stream(reply):
    """A reply in lines; calls are not split."""
    messages = [{"content": piece} for piece in pieces(reply.text)]
    messages += [{"content": "", "tool_calls": [call]} for call in _calls(reply)]
    lines = [_frame(reply, message, False) for message in messages]
    lines.append(_frame(reply, {"content": ""}, True))
    return "".join(f"{json.dumps(line)}\n" for line in lines)


def error(message):
    """An error body."""
    return {"error": message}
