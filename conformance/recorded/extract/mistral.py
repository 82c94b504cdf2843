"""Mistral: the form of Chat Completions, with chunks of thinking."""

from recorded.extract import openai_chat

request = openai_chat.request
response = openai_chat.response
stream = openai_chat.stream
