// OpenAI Chat Completions, with the openai SDK.

import OpenAI from "openai";
import { functions, opening, result } from "./task.mjs";

export const connect = (baseURL, apiKey) => new OpenAI({ baseURL, apiKey, maxRetries: 0, timeout: 60_000 });

export const first = (client, model, stream) => turn(client, model, stream, opening);

export function second(client, model, stream, { calls, history }) {
  const results = calls.map((call) => ({
    role: "tool",
    tool_call_id: call.id,
    content: JSON.stringify(result(call)),
  }));
  return turn(client, model, stream, [...history, ...results]);
}

async function turn(client, model, stream, messages) {
  const asked = { model, messages, tools: functions };
  const found = stream
    ? await client.chat.completions
        .stream({ ...asked, stream_options: { include_usage: true } })
        .finalChatCompletion()
    : await client.chat.completions.create(asked);
  const [{ message, finish_reason }] = found.choices;
  const made = message.tool_calls ?? [];
  const said = { role: "assistant", content: message.content };
  if (made.length) {
    said.tool_calls = made.map(({ id, function: { name, arguments: text } }) => ({
      id,
      type: "function",
      function: { name, arguments: text },
    }));
  }
  return {
    calls: made.map(({ id, function: { name, arguments: text } }) => ({
      id,
      name,
      arguments: JSON.parse(text),
    })),
    text: message.content,
    finish: finish_reason,
    usage: found.usage && [found.usage.prompt_tokens, found.usage.completion_tokens],
    history: [...messages, said],
  };
}
