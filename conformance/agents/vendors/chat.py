"""OpenAI Chat Completions, and DeepSeek and Mistral, which use its format with additional rules."""

import json

from agents.vendors import Item, answered, data_url, names, pieces, strict_schema, usage
from strict import need

_NAME = r"[a-zA-Z0-9_-]{1,64}"


def is_stream(path, body):
    """Whether the client asked for a stream."""
    return body.get("stream") or False


def offered(body):
    """The tools: name to schema, None for a tool in free form."""
    return {
        (own := tool[tool["type"]])["name"]: (
            (own.get("parameters") or {}) if tool["type"] == "function" else None
        )
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
        if role == "assistant" and message.get("reasoning_content"):
            found.append(Item("opaque", message["reasoning_content"]))
        kind = "system" if role == "developer" else role
        if text or media or role != "assistant":
            found.append(Item(kind, text, media))
        for call in message.get("tool_calls") or []:
            own = call[call.get("type") or "function"]
            given = own["arguments"] if "arguments" in own else {"input": own["input"]}
            given = json.loads(given) if isinstance(given, str) else given
            found.append(Item("call", id=call["id"], name=own["name"], arguments=given))
    return found


def _content(content):
    if isinstance(content, str) or content is None:
        return content or "", []
    text, media = "", []
    for part in content:
        if part["type"] == "text":
            text += part["text"]
        elif part["type"] == "image_url":
            url = part["image_url"]
            media.append(data_url(url if isinstance(url, str) else url["url"]))
    return text, media


def rules(body, cell):
    """Rejects requests that the vendor rejects."""
    tools = offered(body)
    names([tool[tool["type"]]["name"] for tool in body.get("tools") or []], _NAME, 128)
    for key in ("tool_choice", "parallel_tool_calls"):
        need(tools or key not in body, key, "only allowed when tools are specified")
    need("stream_options" not in body or body.get("stream"), "stream_options", "without stream")
    answered(items(body))
    {"openai-chat": _openai, "deepseek": _deepseek, "mistral": _mistral}[cell.dialect](body, cell)


def _openai(body, cell):
    need("max_tokens" not in body, "max_tokens", "not supported; use max_completion_tokens")
    need(body.get("temperature", 1) == 1, "temperature", "only the default (1) is supported")
    for message in body["messages"]:
        if message["role"] in ("tool", "system", "developer"):
            _, media = _content(message["content"])
            need(not media, message["role"], "content parts may only be text")
    for tool in body.get("tools") or []:
        if tool["type"] == "function" and tool["function"].get("strict"):
            strict_schema(tool["function"]["name"], tool["function"]["parameters"])


def _deepseek(body, cell):
    form = body.get("response_format", {}).get("type", "text")
    need(form in ("text", "json_object"), "response_format", f"unavailable type {form!r}")
    thinks = (body.get("thinking") or {}).get("type") != "disabled"
    choice = body.get("tool_choice", "auto")
    fine = choice in ("auto", "none") or not thinks
    need(fine, "tool_choice", "not supported in thinking mode")
    for number, message in enumerate(body["messages"]):
        _, media = _content(message.get("content"))
        need(not media, "messages", f"messages[{number}]: unknown variant image_url")
        if thinks and message.get("tool_calls"):
            found = message.get("reasoning_content")
            need(found, "reasoning_content", f"missing in messages[{number}] in thinking mode")
    usage_asked = (body.get("stream_options") or {}).get("include_usage")
    need(not body.get("stream") or usage_asked, "usage", "a stream without include_usage")


def _mistral(body, cell):
    last = body["messages"][-1]
    fine = last["role"] in ("user", "tool") or last.get("prefix")
    need(fine, "messages", f"Expected last role User or Tool, but got {last['role']}")
    for number, message in enumerate(body["messages"]):
        if message["role"] == "assistant":
            empty = not message.get("content") and not message.get("tool_calls")
            need(not empty, "messages", f"messages[{number}]: neither content nor tool_calls")


def _calls(reply, indexed=False):
    found = []
    for index, (id, name, given) in enumerate(reply.calls):
        call = {"index": index, "id": id} if indexed else {"id": id}
        if name in reply.free:
            call |= {"type": "custom", "custom": {"name": name, "input": given["input"]}}
        else:
            text = json.dumps(given, ensure_ascii=False)
            call |= {"type": "function", "function": {"name": name, "arguments": text}}
        found.append(call)
    return found


def _usage(reply):
    came, went = usage(reply)
    return {"prompt_tokens": came, "completion_tokens": went, "total_tokens": came + went}


def _frame(reply, kind, choice):
    return {
        "id": f"chatcmpl-{reply.tag}-{reply.number}",
        "object": kind,
        "created": 1794700000,
        "model": reply.model,
        "choices": choice,
    }


def whole(reply):
    """A reply."""
    message = {"role": "assistant", "content": reply.text}
    if reply.dialect == "openai-chat":
        message["refusal"] = None
    if reply.dialect == "deepseek" and reply.thinks:
        message["reasoning_content"] = reply.opaque
    if reply.calls:
        message["tool_calls"] = _calls(reply)
    choice = {"index": 0, "message": message, "finish_reason": _finish(reply)}
    if reply.dialect != "mistral":
        choice["logprobs"] = None
    return json.dumps({**_frame(reply, "chat.completion", [choice]), "usage": _usage(reply)})


def _finish(reply):
    return "tool_calls" if reply.calls else "stop"


def stream(reply):
    """A reply in chunks. Mistral sends all calls at the end, the others arguments in fragments."""
    deltas = [{"role": "assistant", "content": ""}]
    if reply.dialect == "deepseek" and reply.thinks:
        deltas += [{"reasoning_content": piece} for piece in pieces(reply.opaque)]
    deltas += [{"content": piece} for piece in pieces(reply.text)]
    for call in _calls(reply, indexed=True):
        if reply.dialect == "mistral":
            continue
        own = call[call["type"]]
        key = "arguments" if "arguments" in own else "input"
        text, own[key] = own[key], ""
        deltas.append({"tool_calls": [call]})
        for piece in pieces(text):
            more = {"index": call["index"], call["type"]: {key: piece}}
            deltas.append({"tool_calls": [more]})
    chunks = [[{"index": 0, "delta": delta, "finish_reason": None}] for delta in deltas]
    chunks.append([{"index": 0, "delta": {}, "finish_reason": _finish(reply)}])
    if reply.dialect == "mistral":
        calls = {"tool_calls": _calls(reply, indexed=True)} if reply.calls else {}
        chunks[-1][0]["delta"] = {"content": "", **calls}
    frames = [_frame(reply, "chat.completion.chunk", chunk) for chunk in chunks]
    if reply.dialect == "openai-chat":
        frames.append(_frame(reply, "chat.completion.chunk", []))
    frames[-1]["usage"] = _usage(reply)
    lines = [f"data: {json.dumps(frame)}\n\n" for frame in frames]
    return "".join([*lines, "data: [DONE]\n\n"])


def error(message):
    """An error body."""
    found = {"message": message, "type": "invalid_request_error", "param": None, "code": None}
    return {"error": found, "object": "error", "message": message}
