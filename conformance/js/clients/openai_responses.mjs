// OpenAI Responses, with the openai SDK.

import OpenAI from "openai";
import { prompt, result, system, tools } from "./task.mjs";

export const connect = (baseURL, apiKey) => new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 60_000 });

export function first(client, model, stream) {
  return turn(client, model, stream, [{ role: "user", content: prompt }]);
}

export function second(client, model, stream, { calls, history }) {
  const results = calls.map((call) => ({
    type: "function_call_output",
    call_id: call.id,
    output: JSON.stringify(result(call)),
  }));
  return turn(client, model, stream, [...history, ...results]);
}

async function turn(client, model, stream, input) {
  const asked = {
    model,
    instructions: system,
    input,
    store: false,
    tools: tools.map((tool) => ({ type: "function", strict: false, ...tool })),
  };
  const found = stream
    ? await client.responses.stream(asked).finalResponse()
    : await client.responses.create(asked);
  // Without the fields that the SDK's stream helper adds.
  const said = found.output.map(({ parsed_arguments, ...item }) =>
    item.type === "message"
      ? { ...item, content: item.content.map(({ parsed, ...part }) => part) }
      : item,
  );
  return {
    calls: found.output
      .filter((item) => item.type === "function_call")
      .map((item) => ({ id: item.call_id, name: item.name, arguments: JSON.parse(item.arguments) })),
    text: found.output_text,
    finish: found.status,
    usage: found.usage && [found.usage.input_tokens, found.usage.output_tokens],
    history: [...input, ...said],
  };
}
