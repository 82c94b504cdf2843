"""Anthropic Messages, checked with the anthropic SDK."""

import anthropic
from anthropic import types
from anthropic.types.message_create_params import (
    MessageCreateParamsNonStreaming,
    MessageCreateParamsStreaming,
)
from anthropic.types.shared import ErrorResponse

import frames
import loopback
from strict import Rejected, check, harden, need

harden("anthropic.types")

PATH = "/v1/messages"
# The API accepts them under version 2023-06-01; the SDK knows 2026-10-21 only.
_SAMPLING = ("temperature", "top_p", "top_k")
_client = anthropic.Anthropic(base_url=loopback.URL, api_key="x", max_retries=0)
_asked = {"model": "m", "max_tokens": 1, "messages": [{"role": "user", "content": "x"}]}


def request(path, body):
    """A request."""
    need(path == PATH, "path", f"{path!r} is not {PATH}")
    body = {key: value for key, value in body.items() if key not in _SAMPLING}
    check(
        MessageCreateParamsStreaming if body.get("stream") else MessageCreateParamsNonStreaming,
        body,
    )


def tools(tools):
    """Tools of a request."""
    for tool in tools:
        check(types.ToolUnionParam, tool, "ToolUnionParam")


def _calls(message):
    return [(block.name, block.input) for block in message.content if block.type == "tool_use"]


def response(body):
    """A whole reply."""
    check(types.Message, body)
    loopback.answer_json(body)
    return _calls(_client.messages.create(**_asked))


def stream(data):
    """A stream: each event by its type, and the whole with the SDK's accumulator."""
    events = frames.sse(data)
    frames.named(events, "RawMessageStreamEvent")
    for event in events:
        if event.name != "ping":
            check(types.RawMessageStreamEvent, event.json, "RawMessageStreamEvent")
    last = events[-1].name
    need(last == "message_stop", "RawMessageStreamEvent", f"the stream ends with {last}")
    _blocks_in_order(events)
    loopback.answer_bytes(data, "text/event-stream")
    try:
        with _client.messages.stream(**_asked) as replay:
            message = replay.get_final_message()
    except Exception as error:
        raise Rejected("messages.stream", repr(error)) from None
    return _calls(message)


def _blocks_in_order(events):
    """Checks that blocks do not interleave and have dense indexes; the SDK would overwrite silently."""
    open_at, next_index = None, 0
    for event in events:
        index = event.json.get("index")
        if event.name == "content_block_start":
            need(open_at is None, event.name, f"block {open_at} is still open")
            need(index == next_index, event.name, f"index {index} where {next_index} comes next")
            open_at, next_index = index, next_index + 1
        elif event.name in ("content_block_delta", "content_block_stop"):
            need(index == open_at, event.name, f"index {index}, open is {open_at}")
            open_at = None if event.name == "content_block_stop" else open_at
    need(open_at is None, "message_stop", f"block {open_at} was never closed")


def fault(status, headers, body):
    """An error body."""
    check(ErrorResponse, body)
    loopback.answer_json(body, status, headers)
    try:
        _client.messages.create(**_asked)
    except anthropic.APIStatusError as error:
        need(error.status_code == status, "APIStatusError", f"status {error.status_code}")
    else:
        raise Rejected("APIStatusError", "the SDK took it for an answer")
