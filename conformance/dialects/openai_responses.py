"""OpenAI Responses, checked with the openai SDK."""

import re

import openai
from openai.types import responses
from openai.types.responses.response_create_params import (
    ResponseCreateParamsNonStreaming,
    ResponseCreateParamsStreaming,
)
from openai.types.shared import ErrorObject

import frames
import loopback
from strict import Rejected, check, harden, need

harden("openai.types.responses")
harden("openai.types.shared_params")

# The API sends them; the SDK does not declare them in every reply.
_UNNAMED = ("/store", "/response/store", "/obfuscation", "/name")
PATH = r"(/v1)?/responses"
_client = openai.OpenAI(base_url=loopback.URL + "/v1", api_key="x", max_retries=0)
_asked = {"model": "m", "input": "x"}


def request(path, body):
    """A request."""
    need(re.fullmatch(PATH, path), "path", f"{path!r} is not {PATH}")
    check(
        ResponseCreateParamsStreaming if body.get("stream") else ResponseCreateParamsNonStreaming,
        body,
    )


def tools(tools):
    """Tools of a request."""
    for tool in tools:
        check(responses.ToolParam, tool, "ToolParam")


def _calls(found):
    return [(item.name, item.arguments) for item in found.output if item.type == "function_call"]


def response(body):
    """A whole reply."""
    check(responses.Response, body, also=_UNNAMED)
    loopback.answer_json(body)
    return _calls(_client.responses.create(**_asked))


def stream(data):
    """A stream: each event by its type, and the whole with the SDK's accumulator."""
    events = frames.sse(data)
    frames.named(events, "ResponseStreamEvent")
    for number, event in enumerate(events):
        check(responses.ResponseStreamEvent, event.json, "ResponseStreamEvent", _UNNAMED)
        found = event.json["sequence_number"]
        need(found == number, "ResponseStreamEvent", f"sequence_number {found} at event {number}")
    last = events[-1].name
    ends = ("response.completed", "response.incomplete")
    need(last in ends, "ResponseStreamEvent", f"the stream ends with {last}")
    loopback.answer_bytes(data, "text/event-stream")
    try:
        with _client.responses.stream(**_asked) as replay:
            final = replay.get_final_response()
    except Exception as error:
        raise Rejected("responses.stream", repr(error)) from None
    return _calls(final)


def fault(status, headers, body):
    """An error body."""
    check(ErrorObject, body.get("error"))
    loopback.answer_json(body, status, headers)
    try:
        _client.responses.create(**_asked)
    except openai.APIStatusError as error:
        need(error.status_code == status, "APIStatusError", f"status {error.status_code}")
    else:
        raise Rejected("APIStatusError", "the SDK took it for an answer")
