"""LangChain's chat models for seven vendors, in LangGraph's agent."""

from langchain_core.messages import HumanMessage
from langgraph.prebuilt import ToolNode, create_react_agent

from converse import SYSTEM, get_weather, search_flights


def _model(talk):
    given = {"model": talk.model, "max_retries": 0, "streaming": talk.stream}
    if talk.variant in ("chat", "responses"):
        from langchain_openai import ChatOpenAI

        responses = talk.variant == "responses"
        return ChatOpenAI(
            base_url=talk.base, api_key=talk.key, use_responses_api=responses, **given
        )
    if talk.variant == "anthropic":
        from langchain_anthropic import ChatAnthropic

        return ChatAnthropic(base_url=talk.base, api_key=talk.key, **given)
    if talk.variant == "google":
        from langchain_google_genai import ChatGoogleGenerativeAI

        return ChatGoogleGenerativeAI(base_url=talk.base, google_api_key=talk.key, **given)
    if talk.variant == "mistral":
        from langchain_mistralai import ChatMistralAI

        return ChatMistralAI(
            model=talk.model, base_url=talk.base, api_key=talk.key, streaming=talk.stream
        )
    if talk.variant == "ollama":
        from langchain_ollama import ChatOllama

        return ChatOllama(model=talk.model, base_url=talk.base, disable_streaming=not talk.stream)
    if talk.variant == "cohere":
        from langchain_cohere import ChatCohere

        return ChatCohere(
            model=talk.model, base_url=talk.base, cohere_api_key=talk.key, streaming=talk.stream
        )
    from langchain_aws import ChatBedrockConverse

    access, secret = talk.aws_keys
    return ChatBedrockConverse(
        model=talk.model,
        endpoint_url=talk.base,
        provider="anthropic",
        region_name="us-east-1",
        aws_access_key_id=access,
        aws_secret_access_key=secret,
        disable_streaming=not talk.stream,
    )


async def converse(talk):
    """Runs both turns."""
    tools = ToolNode([get_weather, search_flights], handle_tool_errors=True)
    agent = create_react_agent(_model(talk), tools, prompt=SYSTEM)
    messages = await _run(talk, agent, [HumanMessage(talk.prompts[0])])
    first = messages[-1].text
    picture = {"type": "image_url", "image_url": {"url": talk.image_url}}
    follow_up = HumanMessage([{"type": "text", "text": talk.prompts[1]}, picture])
    messages = await _run(talk, agent, [*messages, follow_up])
    return [str(first), str(messages[-1].text)]


async def _run(talk, agent, messages):
    given = {"messages": messages}
    if not talk.stream:
        return (await agent.ainvoke(given))["messages"]
    async for mode, value in agent.astream(given, stream_mode=["messages", "values"]):
        if mode == "messages":
            talk.pieces += value[0].type == "AIMessageChunk"
        else:
            messages = value["messages"]
    return messages
