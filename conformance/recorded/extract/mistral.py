"""Mistral: the form of Chat Completions, with chunks of thinking and whole calls in streams."""

from recorded.extract import openai_chat, sse
from recorded.facts import Reply

request = openai_chat.request
response = openai_chat.response


def stream(data):
    """A stream; every call arrives whole, several may share an index."""
    text, found, reason, wire, begun = "", [], None, None, False
    for chunk in sse.events(data):
        begun = begun or "choices" in chunk
        wire = chunk.get("usage") or wire
        for choice in chunk.get("choices") or []:
            delta = choice.get("delta") or {}
            text += "".join(each or "" for each, _ in openai_chat.texts(delta.get("content"), ""))
            found += openai_chat.calls(delta, "/choices/0/delta")
            reason = choice.get("finish_reason") or reason
    if not begun:
        return None
    return Reply(text, found, openai_chat.stop(reason, found), openai_chat.usage(wire))
