"""DeepSeek, which requires its reasoning in the next request once tools are involved."""

from gateway.upstreams import bearer, openai_chat

DIALECT = "deepseek"
TOOLS, FINAL = "deepseek_chat_tools.json", "deepseek_chat_final.json"
TOOLS_STREAM, FINAL_STREAM = "deepseek_chat_stream.txt", "deepseek_chat_stream_text.txt"
IDS = (("call_00_", "nK8a"), ("call_01_", "pQ2b"))
OPAQUE = ("两个工具",)
MODEL = "deepseek-v4-flash-{}"
CONTENT_TYPE = "text/event-stream"

credential = bearer
read = openai_chat.read


def opaque(tag):
    """Reasoning unique to this cell."""
    return (f"两个工具（{tag}）",)


def paths(model, stream):
    """The accepted paths: strict tools are served under /beta."""
    return "/chat/completions", "/beta/chat/completions"
