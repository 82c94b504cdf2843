"""Instructor: a forced tool, and a retry after invalid arguments."""

import instructor
import openai
import pydantic

from converse import SYSTEM


class Weather(pydantic.BaseModel):
    """The weather in a city. 城市天气。"""

    city: str
    celsius: int


async def converse(talk):
    """Runs both turns."""
    client = openai.AsyncOpenAI(base_url=talk.base, api_key=talk.key, max_retries=0)
    modes = {"chat": instructor.Mode.TOOLS, "responses": instructor.Mode.RESPONSES_TOOLS}
    client = instructor.from_openai(client, mode=modes[talk.variant])
    messages = [
        {"role": "system", "content": SYSTEM},
        {"role": "user", "content": talk.prompts[0]},
    ]
    first = await _ask(talk, client, messages)
    kinds = ("text", "image_url") if talk.variant == "chat" else ("input_text", "input_image")
    picture = {"url": talk.image_url} if talk.variant == "chat" else talk.image_url
    asked = [{"type": kinds[0], "text": talk.prompts[1]}, {"type": kinds[1], "image_url": picture}]
    follow_up = {"role": "user", "content": asked}
    said = {"role": "assistant", "content": first.model_dump_json()}
    second = await _ask(talk, client, [*messages, said, follow_up])
    return [first.city, second.city]


async def _ask(talk, client, messages):
    return await client.create(
        model=talk.model, response_model=Weather, messages=messages, max_retries=2
    )
