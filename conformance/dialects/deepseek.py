"""DeepSeek: the openai SDK's types, and the keys that DeepSeek adds."""

import re

from dialects import openai_chat
from strict import need

PATH = r"(/v1|/beta)?/chat/completions"
# DeepSeek ignores unknown fields, such as the one that litellm leaves on messages.
_REQUEST = ("reasoning_content", "thinking", "provider_specific_fields")


def request(path, body):
    """A request."""
    need(re.fullmatch(PATH, path), "path", f"{path!r} is not {PATH}")
    openai_chat.request("/chat/completions", body, _REQUEST)


response = openai_chat.response
stream = openai_chat.stream
tools = openai_chat.tools
fault = openai_chat.fault
