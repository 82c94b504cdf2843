"""Google Gemini, checked with the google-genai SDK."""

import re
import typing

import pydantic
from google import genai
from google.genai import errors, types

import frames
import loopback
from strict import Rejected, check, need

PATH = r"/(v1|v1beta|v1beta1/publishers/google)/models/[^/:]+:(generateContent|streamGenerateContent\?alt=sse)"
_options = types.HttpOptions(
    base_url=loopback.URL, retry_options=types.HttpRetryOptions(attempts=1)
)
_client = genai.Client(api_key="x", http_options=_options)
_asked = {"model": "m", "contents": "x"}


class Body(pydantic.BaseModel):
    """Checks the body that the SDK builds from these types; it has no type for the whole."""

    model_config = pydantic.ConfigDict(
        extra="forbid", alias_generator=pydantic.alias_generators.to_camel, populate_by_name=True
    )

    contents: typing.List[types.Content]
    system_instruction: typing.Optional[types.Content] = None
    tools: typing.Optional[typing.List[types.Tool]] = None
    tool_config: typing.Optional[types.ToolConfig] = None
    generation_config: typing.Optional[types.GenerationConfig] = None
    safety_settings: typing.Optional[typing.List[types.SafetySetting]] = None
    cached_content: typing.Optional[str] = None
    labels: typing.Optional[typing.Dict[str, str]] = None
    service_tier: typing.Optional[types.ServiceTier] = None
    store: typing.Optional[bool] = None


def request(path, body):
    """A request."""
    need(re.fullmatch(PATH, path), "path", f"{path!r} is not {PATH}")
    _members_once(check(Body, body, "GenerateContent body").contents)


def tools(tools):
    """Tools of a request."""
    for tool in tools:
        check(types.Tool, tool)


_MEMBERS = (
    "text",
    "inline_data",
    "file_data",
    "function_call",
    "function_response",
    "executable_code",
    "code_execution_result",
    "tool_call",
    "tool_response",
)


def _members_once(contents):
    """Checks that a part has one member; the SDK's type accepts two."""
    for number, content in enumerate(contents):
        for index, part in enumerate(content.parts or []):
            found = [member for member in _MEMBERS if getattr(part, member, None) is not None]
            need(len(found) <= 1, "Part", f"contents/{number}/parts/{index} has {found}")


def _calls(found):
    return [(call.name, call.args or {}) for call in found.function_calls or []]


def response(body):
    """A whole reply."""
    checked = check(types.GenerateContentResponse, body)
    _members_once([each.content for each in checked.candidates or [] if each.content])
    loopback.answer_json(body)
    return _calls(_client.models.generate_content(**_asked))


def stream(data):
    """A stream: each chunk by its type, and the whole with the SDK."""
    need(b"\n:" not in data and not data.startswith(b":"), "SSE", "the SDK fails on comments")
    events = frames.sse(data)
    frames.unnamed(events, "GenerateContentResponse")
    for event in events:
        check(types.GenerateContentResponse, event.json)
    loopback.answer_bytes(data, "text/event-stream")
    calls, finish = [], None
    try:
        for chunk in _client.models.generate_content_stream(**_asked):
            calls += _calls(chunk)
            for candidate in chunk.candidates or []:
                finish = candidate.finish_reason or finish
    except Exception as error:
        raise Rejected("generate_content_stream", repr(error)) from None
    need(finish, "generate_content_stream", "no finishReason in the stream")
    return calls


def fault(status, headers, body):
    """An error body."""
    loopback.answer_json(body, status, headers)
    try:
        _client.models.generate_content(**_asked)
    except errors.APIError as error:
        need(error.code == status, "APIError", f"code {error.code} at status {status}")
        need(error.status and error.message, "APIError", "no status or no message")
        need(body["error"]["code"] == status, "APIError", "error.code is not the HTTP status")
    else:
        raise Rejected("APIError", "the SDK took it for an answer")
