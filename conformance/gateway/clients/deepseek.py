"""DeepSeek, with the openai SDK, handing its reasoning back as DeepSeek asks of clients."""

from gateway.clients import openai_chat

KEPT = ("reasoning_content",)

connect = openai_chat.connect


def first(client, model, stream):
    """Asks."""
    return openai_chat.first(client, model, stream, KEPT)


def second(client, model, stream, turn):
    """Answers the calls."""
    return openai_chat.second(client, model, stream, turn, KEPT)
