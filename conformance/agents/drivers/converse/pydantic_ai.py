"""Pydantic AI, with its models for six vendors."""

from pydantic_ai import Agent, BinaryContent, ModelRetry
from pydantic_ai.messages import PartDeltaEvent, TextPartDelta

from converse import SYSTEM, get_weather
from converse import search_flights as failing_search


def search_flights(origin: str, destination: str, passengers: list[str]) -> str:
    """Search one-way flights between two airports. 搜索两个机场之间的航班。"""
    try:
        return failing_search(origin, destination, passengers)
    except ValueError as error:
        raise ModelRetry(str(error)) from None


def _model(talk):
    key, base = talk.key, talk.base
    if talk.variant in ("chat", "responses"):
        from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
        from pydantic_ai.providers.openai import OpenAIProvider

        kind = OpenAIChatModel if talk.variant == "chat" else OpenAIResponsesModel
        return kind(talk.model, provider=OpenAIProvider(base_url=base, api_key=key))
    if talk.variant == "anthropic":
        from pydantic_ai.models.anthropic import AnthropicModel
        from pydantic_ai.providers.anthropic import AnthropicProvider

        return AnthropicModel(talk.model, provider=AnthropicProvider(base_url=base, api_key=key))
    if talk.variant == "google":
        from pydantic_ai.models.google import GoogleModel
        from pydantic_ai.providers.google import GoogleProvider

        return GoogleModel(talk.model, provider=GoogleProvider(base_url=base, api_key=key))
    if talk.variant == "mistral":
        from pydantic_ai.models.mistral import MistralModel
        from pydantic_ai.providers.mistral import MistralProvider

        return MistralModel(talk.model, provider=MistralProvider(base_url=base, api_key=key))
    from pydantic_ai.models.bedrock import BedrockConverseModel
    from pydantic_ai.providers.bedrock import BedrockProvider

    access, secret = talk.aws_keys
    provider = BedrockProvider(
        base_url=base,
        region_name="us-east-1",
        aws_access_key_id=access,
        aws_secret_access_key=secret,
    )
    return BedrockConverseModel(talk.model, provider=provider)


async def converse(talk):
    """Runs both turns."""
    agent = Agent(_model(talk), instructions=SYSTEM, tools=[get_weather, search_flights])
    first = await _run(talk, agent, talk.prompts[0], [])
    follow_up = [talk.prompts[1], BinaryContent(talk.image, media_type="image/png")]
    second = await _run(talk, agent, follow_up, first.all_messages())
    return [first.output, second.output]


async def _run(talk, agent, asked, messages):
    if not talk.stream:
        return await agent.run(asked, message_history=messages)
    async with agent.iter(asked, message_history=messages) as run:
        async for node in run:
            if not Agent.is_model_request_node(node):
                continue
            async with node.stream(run.ctx) as events:
                async for event in events:
                    text = isinstance(event, PartDeltaEvent) and isinstance(
                        event.delta, TextPartDelta
                    )
                    talk.pieces += text
    return run.result
