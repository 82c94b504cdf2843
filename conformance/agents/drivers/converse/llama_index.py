"""LlamaIndex, with its models for five vendors, in its function agent."""

from llama_index.core.agent.workflow import AgentStream, FunctionAgent
from llama_index.core.base.llms.types import ChatMessage, ImageBlock, TextBlock
from llama_index.core.memory import ChatMemoryBuffer
from llama_index.core.tools import FunctionTool

from converse import SYSTEM, get_weather, search_flights


def _model(talk):
    base, key = talk.base, talk.key
    if talk.variant == "chat":
        from llama_index.llms.openai_like import OpenAILike

        return OpenAILike(
            model=talk.model,
            api_base=base,
            api_key=key,
            is_chat_model=True,
            is_function_calling_model=True,
            max_retries=0,
        )
    if talk.variant == "responses":
        from llama_index.llms.openai import OpenAIResponses

        return OpenAIResponses(model=talk.model, api_base=base, api_key=key, context_window=200_000)
    if talk.variant == "anthropic":
        from llama_index.llms.anthropic import Anthropic

        return Anthropic(model=talk.model, base_url=base, api_key=key, max_tokens=8192)
    if talk.variant == "mistral":
        from llama_index.llms.mistralai import MistralAI

        return MistralAI(model=talk.model, endpoint=base, api_key=key)
    from google.genai.types import HttpOptions
    from llama_index.llms.google_genai import GoogleGenAI

    return GoogleGenAI(model=talk.model, api_key=key, http_options=HttpOptions(base_url=base))


async def converse(talk):
    """Runs both turns."""
    tools = [FunctionTool.from_defaults(fn) for fn in (get_weather, search_flights)]
    agent = FunctionAgent(
        tools=tools, llm=_model(talk), system_prompt=SYSTEM, streaming=talk.stream
    )
    memory = ChatMemoryBuffer.from_defaults(token_limit=100_000)
    first = await _run(talk, agent, ChatMessage(role="user", content=talk.prompts[0]), memory)
    picture = ImageBlock(image=talk.image, image_mimetype="image/png")
    blocks = [TextBlock(text=talk.prompts[1]), picture]
    second = await _run(talk, agent, ChatMessage(role="user", blocks=blocks), memory)
    return [first, second]


async def _run(talk, agent, asked, memory):
    handler = agent.run(user_msg=asked, memory=memory)
    async for event in handler.stream_events():
        talk.pieces += isinstance(event, AgentStream) and bool(event.delta)
    return str(await handler)
