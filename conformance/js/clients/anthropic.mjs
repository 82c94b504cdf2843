// Anthropic Messages, with @anthropic-ai/sdk.

import Anthropic from "@anthropic-ai/sdk";
import { prompt, result, system, tools } from "./task.mjs";

export const connect = (baseURL, apiKey) => new Anthropic({ baseURL, apiKey, maxRetries: 0, timeout: 60_000 });

export function first(client, model, stream) {
  return turn(client, model, stream, [{ role: "user", content: prompt }]);
}

export function second(client, model, stream, { calls, history }) {
  const content = calls.map((call) => ({
    type: "tool_result",
    tool_use_id: call.id,
    content: JSON.stringify(result(call)),
  }));
  return turn(client, model, stream, [...history, { role: "user", content }]);
}

async function turn(client, model, stream, messages) {
  const asked = {
    model,
    max_tokens: 4096,
    system,
    messages,
    tools: tools.map(({ name, description, parameters }) => ({
      name,
      description,
      input_schema: parameters,
    })),
  };
  const found = stream
    ? await client.messages.stream(asked).finalMessage()
    : await client.messages.create(asked);
  const { content, stop_reason, usage } = found;
  return {
    calls: content
      .filter((block) => block.type === "tool_use")
      .map(({ id, name, input }) => ({ id, name, arguments: input })),
    text: content.map((block) => block.text ?? "").join(""),
    finish: stop_reason,
    usage: usage && [usage.input_tokens, usage.output_tokens],
    history: [...messages, { role: "assistant", content }],
  };
}
