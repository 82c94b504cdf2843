"""DeepSeek, with the openai SDK, sending its reasoning back as DeepSeek requires."""

from gateway.clients import openai_chat

KEPT = ("reasoning_content",)

connect = openai_chat.connect


def first(client, model, stream):
    """The first turn: sends the question."""
    return openai_chat.first(client, model, stream, KEPT)


def second(client, model, stream, turn):
    """The second turn: sends the results of the calls."""
    return openai_chat.second(client, model, stream, turn, KEPT)
