"""OpenAI Chat Completions, checked with the openai SDK."""

import re

import openai
from openai.types import chat
from openai.types.chat.completion_create_params import (
    CompletionCreateParamsNonStreaming,
    CompletionCreateParamsStreaming,
)
from openai.types.shared import ErrorObject

import frames
import loopback
from strict import Rejected, check, harden, need

harden("openai.types.chat")
harden("openai.types.shared_params")

PATH = r"(/v1)?/chat/completions"
# Fields of replies beyond the types, which the SDK passes on: reasoning, which the types do not
# declare (docs/decisions/0007), and the counts of a compatible vendor.
_SHOWN = ("*/reasoning_content", "/usage/prompt_cache_*_tokens")
_client = openai.OpenAI(base_url=loopback.URL + "/v1", api_key="x", max_retries=0)
_asked = {"model": "m", "messages": [{"role": "user", "content": "x"}]}


def request(path, body, also=()):
    """A request, without the keys in `also` at the top and in messages."""
    need(re.fullmatch(PATH, path), "path", f"{path!r} is not {PATH}")
    kind = (
        CompletionCreateParamsStreaming
        if body.get("stream")
        else CompletionCreateParamsNonStreaming
    )
    check(kind, _without(body, also))


def _without(body, also):
    strip = lambda value: {key: each for key, each in value.items() if key not in also}
    return strip({**body, "messages": [strip(message) for message in body.get("messages", [])]})


def tools(tools):
    """Tools of a request."""
    for tool in tools:
        check(chat.ChatCompletionToolUnionParam, tool, "ChatCompletionToolUnionParam")


def response(body):
    """A whole reply."""
    check(chat.ChatCompletion, body, also=_SHOWN)
    loopback.answer_json(body)
    return _calls(_client.chat.completions.create(**_asked).choices[0].message)


def _calls(message):
    """The calls of a message; a custom call has its text as the only argument."""
    return [
        (call.custom.name, {"input": call.custom.input})
        if call.type == "custom"
        else (call.function.name, call.function.arguments)
        for call in message.tool_calls or []
    ]


def stream(data):
    """A stream: each chunk by its type, and the whole with the SDK's accumulator."""
    events = frames.sse(data)
    frames.unnamed(events, "ChatCompletionChunk")
    for event in frames.done(events, "ChatCompletionChunk"):
        need("error" not in event.json, "ChatCompletionChunk", "an error in mid-stream")
        check(chat.ChatCompletionChunk, event.json, also=("/obfuscation", *_SHOWN))
    loopback.answer_bytes(data, "text/event-stream")
    try:
        with _client.chat.completions.stream(**_asked) as replay:
            message = replay.get_final_completion().choices[0].message
    except Exception as error:
        raise Rejected("chat.completions.stream", repr(error)) from None
    return _calls(message)


def fault(status, headers, body):
    """An error body."""
    check(ErrorObject, body.get("error"))
    loopback.answer_json(body, status, headers)
    try:
        _client.chat.completions.create(**_asked)
    except openai.APIStatusError as error:
        need(error.status_code == status, "APIStatusError", f"status {error.status_code}")
        need(error.message, "APIStatusError", "no message")
    else:
        raise Rejected("APIStatusError", "the SDK took it for an answer")
