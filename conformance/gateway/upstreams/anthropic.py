"""Anthropic Messages."""

import base64

from gateway.upstreams import Request, follows, text
from strict import need

DIALECT = "anthropic"
TOOLS, FINAL = "anthropic_tools.json", "anthropic_final.json"
TOOLS_STREAM, FINAL_STREAM = "anthropic_stream.txt", "anthropic_stream_text.txt"
IDS = (("toolu_01A09q90qw90lq", "917835lq9"), ("toolu_01B19r91rx91mr", "928946mr0"))
OPAQUE = ("EqQBCgIYAhIkOpaqueSignature==", "EmwKAhgBEgyRedacted==")
MODEL = "claude-opus-5-{}"
CONTENT_TYPE = "text/event-stream"
VERSIONS = ("2023-06-01", "2026-10-21")


def opaque(tag):
    """A signature and encrypted reasoning unique to this cell."""
    redacted = base64.b64encode(f"redacted-{tag}".encode()).decode()
    return f"EqQBCgIYAhIk{tag}==", redacted


def credential(headers, key):
    """Checks the key, in the header of either SDK major, and the API version."""
    version = headers.get("anthropic-version")
    if version not in VERSIONS:
        return f"anthropic-version {version!r} is none of {VERSIONS}"
    found = [headers.get("x-api-key"), headers.get("authorization")]
    right = found in ([key, None], [None, f"Bearer {key}"])
    return None if right else "neither x-api-key nor authorization is the key, or both are there"


def paths(model, stream):
    """The accepted paths."""
    return ("/v1/messages",)


def read(path, body):
    """Reads a request."""
    messages = [(message["role"], _blocks(message["content"])) for message in body["messages"]]
    follows(
        messages,
        lambda each: any(block["type"] == "tool_use" for block in each[1]),
        lambda each: any(block["type"] == "tool_result" for block in each[1]),
        "order",
    )
    for role, blocks in messages:
        kinds = [block["type"] == "tool_result" for block in blocks]
        need(kinds == sorted(kinds, reverse=True), "order", "a tool_result after other blocks")
        need(not any(kinds) or role == "user", "order", f"a tool_result of {role}")
    blocks = [block for _, blocks in messages for block in blocks]
    system = [text(blocks) for role, blocks in messages if role == "system"]
    return Request(
        stream=body.get("stream") or False,
        system="\n".join([text(body.get("system")), *system]),
        prompt="\n".join(text(blocks) for role, blocks in messages if role == "user"),
        tools={
            tool["name"]: (tool.get("description"), tool["input_schema"]) for tool in body["tools"]
        },
        calls=[
            (block["id"], block["name"], block["input"])
            for block in blocks
            if block["type"] == "tool_use"
        ],
        results=[
            (block["tool_use_id"], None, text(block.get("content")))
            for block in blocks
            if block["type"] == "tool_result"
        ],
        opaque=[
            block.get("signature") or block.get("data")
            for block in blocks
            if block["type"] in ("thinking", "redacted_thinking")
        ],
    )


def _blocks(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content
