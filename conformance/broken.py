"""Broken variants of valid fixtures, one change each. Every one of them must be rejected.

Those in `OBSERVED` have the name under which `fixtures/negative.json` records the SDK's behaviour
on such a reply; where the SDK accepts it, its types do not, and the types count here.
"""

import functools
import json

from strict import need


def change(pointer, value):
    """Sets the value at a pointer."""

    def apply(text):
        body = json.loads(text)
        *parents, last = (int(key) if key.isdigit() else key for key in pointer[1:].split("/"))
        functools.reduce(lambda at, key: at[key], parents, body)[last] = value
        return json.dumps(body)

    return apply


def drop(pointer):
    """Removes a key."""

    def apply(text):
        body = json.loads(text)
        *parents, last = (int(key) if key.isdigit() else key for key in pointer[1:].split("/"))
        del functools.reduce(lambda at, key: at[key], parents, body)[last]
        return json.dumps(body)

    return apply


def rewrite(old, new):
    """Replaces all occurrences of a text."""

    def apply(text):
        need(old in text, "self-test", f"{old!r} is not in the fixture")
        return text.replace(old, new)

    return apply


def append(tail):
    """Adds text at the end."""
    return lambda text: text + tail


def corrupt(text):
    """Flips the last bit."""
    return text[:-1] + chr(ord(text[-1]) ^ 1)


def without_lines(start):
    """Removes the lines with a prefix."""
    return lambda text: "".join(
        line for line in text.splitlines(True) if not line.startswith(start)
    )


def without_event(name):
    """Removes the event of that name from a stream."""
    return lambda text: "".join(
        block + "\n\n"
        for block in text.split("\n\n")
        if block and not block.startswith(f"event: {name}\n")
    )


_CHAT, _CHAT_STREAM = (
    "openai-chat/accepted/openai_chat_tools.json",
    "openai-chat/accepted/openai_chat_stream.txt",
)
_RESPONSES_STREAM = "openai-responses/accepted/openai_responses_stream.txt"
_CLAUDE, _CLAUDE_STREAM = (
    "anthropic/accepted/anthropic_tools.json",
    "anthropic/accepted/anthropic_stream.txt",
)
_BEDROCK, _BEDROCK_STREAM = (
    "bedrock/accepted/bedrock_converse_tools.json",
    "bedrock/accepted/bedrock_converse_stream.bin",
)
_GEMINI, _GEMINI_STREAM = "gemini/accepted/gemini_tools.json", "gemini/accepted/gemini_stream.txt"
_OLLAMA = "ollama/accepted/ollama_tools.json"
_MISTRAL = "mistral/accepted/mistral_tools.json"
_COHERE, _COHERE_STREAM = "cohere/accepted/cohere_tools.json", "cohere/accepted/cohere_stream.txt"

OBSERVED = (
    ("openai_chat: id/created/object/usage missing", _CHAT, drop("/id")),
    (
        "openai_chat: arguments as object",
        _CHAT,
        change("/choices/0/message/tool_calls/0/function/arguments", {}),
    ),
    ("openai_chat: tool_call.type missing", _CHAT, drop("/choices/0/message/tool_calls/0/type")),
    ("openai_chat: unknown finish_reason", _CHAT, change("/choices/0/finish_reason", "weird")),
    (
        "openai_chat stream helper: tool_calls[].index missing",
        _CHAT_STREAM,
        rewrite('"tool_calls":[{"index":0,', '"tool_calls":[{'),
    ),
    ("openai_chat stream helper: no [DONE]", _CHAT_STREAM, without_lines("data: [DONE]")),
    (
        "openai_chat stream helper: with event: line",
        _CHAT_STREAM,
        rewrite("data: {", "event: x\ndata: {"),
    ),
    (
        "responses stream helper: no event: lines (data only)",
        _RESPONSES_STREAM,
        without_lines("event:"),
    ),
    ("responses stream helper: trailing [DONE]", _RESPONSES_STREAM, append("data: [DONE]\n\n")),
    (
        "responses stream helper: no response.completed",
        _RESPONSES_STREAM,
        without_event("response.completed"),
    ),
    (
        "responses stream helper: no sequence_number",
        _RESPONSES_STREAM,
        rewrite('"sequence_number"', '"number"'),
    ),
    ("anthropic stream helper: no event: lines", _CLAUDE_STREAM, without_lines("event:")),
    ("anthropic stream helper: trailing data:[DONE]", _CLAUDE_STREAM, append("data: [DONE]\n\n")),
    ("anthropic: usage missing", _CLAUDE, drop("/usage")),
    ("anthropic: input as JSON string", _CLAUDE, change("/content/3/input", "{}")),
    ("anthropic: unknown block", _CLAUDE, change("/content/0", {"type": "future_block"})),
    ("bedrock stream: corrupt final CRC", _BEDROCK_STREAM, corrupt),
    ("bedrock: unknown stopReason, no metrics", _BEDROCK, change("/stopReason", "weird")),
    (
        "bedrock: unknown union member",
        _BEDROCK,
        change("/output/message/content/0", {"futureBlock": {}}),
    ),
    (
        "bedrock: two union members in one block",
        _BEDROCK,
        change("/output/message/content/2", {"text": "x", "cachePoint": {"type": "default"}}),
    ),
    (
        'bedrock: extra "type" next to union member',
        _BEDROCK,
        change("/output/message/content/2/type", "text"),
    ),
    ("gemini stream: trailing [DONE]", _GEMINI_STREAM, append("data: [DONE]\n\n")),
    ("gemini stream: event: line present", _GEMINI_STREAM, rewrite("data: {", "event: x\ndata: {")),
    ("gemini stream: SSE comment line", _GEMINI_STREAM, append(": ping\n\n")),
    ("gemini: unknown finishReason", _GEMINI, change("/candidates/0/finishReason", "FUTURE")),
    (
        "gemini: args as string",
        _GEMINI,
        change("/candidates/0/content/parts/2/functionCall/args", "{}"),
    ),
    (
        "gemini: thoughtSignature not base64",
        _GEMINI,
        change("/candidates/0/content/parts/2/thoughtSignature", "not base64!!"),
    ),
    ("gemini: unknown part key", _GEMINI, change("/candidates/0/content/parts/2/future", 1)),
    (
        "ollama: arguments as string",
        _OLLAMA,
        change("/message/tool_calls/0/function/arguments", "{}"),
    ),
    ("mistral: usage missing", _MISTRAL, drop("/usage")),
    ("mistral: created missing", _MISTRAL, drop("/created")),
    ("mistral: object missing", _MISTRAL, drop("/object")),
    ("cohere stream: no event: lines", _COHERE_STREAM, without_lines("event:")),
    ("cohere: unknown finish_reason, no id", _COHERE, change("/finish_reason", "WEIRD")),
)

OURS = (
    (
        "a flat tool",
        "openai-chat/captured/openai_chat_tools.json",
        change("/tools/0", {"type": "function", "name": "f", "parameters": {}}),
    ),
    (
        "a result without its call id",
        "openai-chat/captured/openai_chat_toolresult.json",
        rewrite('"tool_call_id"', '"call_id"'),
    ),
    (
        "a role of another dialect",
        "openai-chat/captured/openai_chat_tools.json",
        change("/messages/0/role", "model"),
    ),
    (
        "a key of another dialect",
        "openai-chat/captured/openai_chat_tools.json",
        change("/system", "x"),
    ),
    (
        "a nested tool",
        "openai-responses/captured/openai_responses_tools.json",
        change("/tools/0", {"type": "function", "function": {"name": "f"}}),
    ),
    (
        "a nested choice",
        "openai-responses/captured/openai_responses_tools.json",
        change("/tool_choice", {"type": "function", "function": {"name": "f"}}),
    ),
    (
        "a result without its call id",
        "openai-responses/captured/openai_responses_toolresult.json",
        rewrite('"call_id"', '"tool_call_id"'),
    ),
    ("a call that is never closed", _RESPONSES_STREAM, without_event("response.output_item.done")),
    (
        "tool_choice as a string",
        "anthropic/captured/anthropic_tools.json",
        change("/tool_choice", "required"),
    ),
    (
        "a schema under another key",
        "anthropic/captured/anthropic_tools.json",
        rewrite('"input_schema"', '"parameters"'),
    ),
    ("max_tokens missing", "anthropic/captured/anthropic_tools.json", drop("/max_tokens")),
    (
        "a result without its call id",
        "anthropic/captured/anthropic_toolresult.json",
        rewrite('"tool_use_id"', '"id"'),
    ),
    (
        "a result of unknown blocks",
        "anthropic/captured/anthropic_toolresult.json",
        rewrite('"type": "image"', '"type": "image_url"'),
    ),
    ("two blocks of one index", _CLAUDE_STREAM, rewrite('"index":4', '"index":3')),
    ("no message_stop", _CLAUDE_STREAM, without_event("message_stop")),
    ("the last frame cut off", _BEDROCK_STREAM, lambda text: text[:-9]),
    (
        "no schema",
        "bedrock/captured/bedrock_converse_tools.json",
        drop("/toolConfig/tools/0/toolSpec/inputSchema"),
    ),
    (
        "a name with a space",
        "bedrock/captured/bedrock_converse_tools.json",
        change("/toolConfig/tools/0/toolSpec/name", "a b"),
    ),
    ("an unknown key", "bedrock/captured/bedrock_converse_tools.json", change("/temperature", 1)),
    (
        "the model in the body",
        "bedrock/captured/bedrock_converse_tools.json",
        change("/modelId", "m"),
    ),
    (
        "a lower-case mode",
        "gemini/captured/gemini_tools.json",
        change("/toolConfig", {"functionCallingConfig": {"mode": "required"}}),
    ),
    ("an unknown key", "gemini/captured/gemini_tools.json", change("/tool_choice", "auto")),
    (
        "a response that is no object",
        "gemini/captured/gemini_toolresult.json",
        rewrite('"response": {', '"response": "", "x": {'),
    ),
    (
        "arguments as string",
        "ollama/captured/ollama_toolresult.json",
        rewrite('"arguments": {', '"arguments": "", "x": {'),
    ),
    (
        "content parts",
        "ollama/captured/ollama_tools.json",
        change("/messages/0/content", [{"type": "text", "text": "x"}]),
    ),
    (
        "an id that is not nine characters",
        "mistral/captured/mistral_toolresult.json",
        rewrite('"tool_call_id": "', '"tool_call_id": "call_'),
    ),
    (
        "a tool right after a user",
        "mistral/captured/mistral_toolresult.json",
        change("/messages/2", {"role": "user", "content": "x"}),
    ),
    ("no parameters", "mistral/captured/mistral_tools.json", drop("/tools/0/function/parameters")),
    (
        "argument fragments",
        "mistral/accepted/mistral_stream.txt",
        rewrite('"name":"get_weather",', ""),
    ),
    ("a lower-case choice", "cohere/captured/cohere_tools.json", change("/tool_choice", "auto")),
    ("a call without its id", _COHERE, drop("/message/tool_calls/0/id")),
    ("no message-end", _COHERE_STREAM, without_event("message-end")),
    ("a key of no vendor", "deepseek/captured/deepseek_chat_tools.json", change("/thoughts", True)),
    (
        "one call too few",
        "deepseek/accepted/deepseek_chat_tools.json",
        drop("/choices/0/message/tool_calls/1"),
    ),
    ("no message", "openai-chat/accepted/openai_error_400.json", drop("/error/message")),
    (
        "an unknown kind of error",
        "anthropic/accepted/anthropic_error_400.json",
        change("/error/type", "weird"),
    ),
    ("another status", "gemini/accepted/gemini_error_429.json", change("/error/code", 500)),
    (
        "an object for an error",
        "ollama/accepted/ollama_error_400.json",
        change("/error", {"message": "x"}),
    ),
    ("no message", "cohere/accepted/cohere_error_400.json", drop("/message")),
    (
        "a shape of another vendor",
        "mistral/accepted/mistral_error_429.json",
        change("/object", "x"),
    ),
)
