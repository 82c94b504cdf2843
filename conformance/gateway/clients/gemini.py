"""Google Gemini, with google-genai."""

from google import genai
from google.genai import types

from gateway.clients import PROMPT, SYSTEM, TOOLS, Turn, result


def connect(base, key):
    """A client."""
    options = types.HttpOptions(base_url=base, timeout=60_000)
    return genai.Client(api_key=key, http_options=options)


def first(client, model, stream):
    """The first turn: sends the question."""
    asked = types.Content(role="user", parts=[types.Part(text=PROMPT)])
    return _turn(client, model, stream, [asked])


def second(client, model, stream, turn):
    """The second turn: sends the results of the calls."""
    results = [
        types.Part(
            function_response=types.FunctionResponse(
                id=id, name=name, response={"output": result(name, arguments)}
            )
        )
        for id, name, arguments in turn.calls
    ]
    answered = types.Content(role="user", parts=results)
    return _turn(client, model, stream, [*turn.history, answered])


def _turn(client, model, stream, contents):
    declared = [
        types.FunctionDeclaration(
            name=tool["name"],
            description=tool["description"],
            parameters_json_schema=tool["parameters"],
        )
        for tool in TOOLS
    ]
    config = types.GenerateContentConfig(
        system_instruction=SYSTEM,
        tools=[types.Tool(function_declarations=declared)],
        automatic_function_calling=types.AutomaticFunctionCallingConfig(disable=True),
    )
    asked = {"model": model, "contents": contents, "config": config}
    if stream:
        chunks = list(client.models.generate_content_stream(**asked))
    else:
        chunks = [client.models.generate_content(**asked)]
    parts, finish, usage = [], None, None
    for chunk in chunks:
        usage = chunk.usage_metadata or usage
        for candidate in chunk.candidates or []:
            finish = candidate.finish_reason or finish
            parts += (candidate.content and candidate.content.parts) or []
    calls = [part.function_call for part in parts if part.function_call]
    counted = usage and [usage.prompt_token_count, usage.candidates_token_count]
    return Turn(
        [(call.id, call.name, call.args or {}) for call in calls],
        "".join(part.text or "" for part in parts if not part.thought),
        finish and finish.value,
        counted,
        [*contents, types.Content(role="model", parts=parts)],
    )
