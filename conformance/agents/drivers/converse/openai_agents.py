"""The OpenAI Agents SDK: with the Responses API, by `previous_response_id` or not, and with Chat."""

import agents
import openai

from converse import SYSTEM, get_weather, search_flights

agents.set_tracing_disabled(True)


async def converse(talk):
    """Runs both turns."""
    client = openai.AsyncOpenAI(base_url=talk.base, api_key=talk.key, max_retries=0)
    kind = (
        agents.OpenAIChatCompletionsModel if talk.variant == "chat" else agents.OpenAIResponsesModel
    )
    agent = agents.Agent(
        name="travel",
        instructions=SYSTEM,
        model=kind(model=talk.model, openai_client=client),
        tools=[
            agents.function_tool(tool, failure_error_function=lambda _, error: str(error))
            for tool in (get_weather, search_flights)
        ],
    )
    more = {"auto_previous_response_id": True} if talk.variant == "previous" else {}
    first = await _run(talk, agent, talk.prompts[0], more)
    picture = {"type": "input_image", "image_url": talk.image_url, "detail": "auto"}
    asked = [{"type": "input_text", "text": talk.prompts[1]}, picture]
    follow_up = [{"role": "user", "content": asked}]
    if talk.variant == "previous":
        more["previous_response_id"] = first.last_response_id
    else:
        follow_up = first.to_input_list() + follow_up
    second = await _run(talk, agent, follow_up, more)
    return [first.final_output, second.final_output]


async def _run(talk, agent, asked, more):
    if not talk.stream:
        return await agents.Runner.run(agent, asked, **more)
    result = agents.Runner.run_streamed(agent, asked, **more)
    async for event in result.stream_events():
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta":
            talk.pieces += 1
    return result
