// Cohere v2, with cohere-ai.

import { CohereClientV2 } from "cohere-ai";
import { functions, opening, result } from "./task.mjs";

const options = { maxRetries: 0, timeoutInSeconds: 60 };

export const connect = (environment, token) => new CohereClientV2({ environment, token });

export const first = (client, model, stream) => turn(client, model, stream, opening);

export function second(client, model, stream, { calls, history }) {
  const results = calls.map((call) => ({
    role: "tool",
    toolCallId: call.id,
    content: JSON.stringify(result(call)),
  }));
  return turn(client, model, stream, [...history, ...results]);
}

async function turn(client, model, stream, messages) {
  const asked = { model, messages, tools: functions };
  const found = stream
    ? await joined(await client.chatStream(asked, options))
    : await client.chat(asked, options);
  const { citations, ...said } = found.message;
  const made = said.toolCalls ?? [];
  const tokens = found.usage?.tokens;
  return {
    calls: made.map(({ id, function: { name, arguments: text } }) => ({
      id,
      name,
      arguments: JSON.parse(text),
    })),
    text: (said.content ?? []).map((part) => part.text ?? "").join(""),
    finish: found.finishReason,
    usage: tokens && [tokens.inputTokens, tokens.outputTokens],
    history: [...messages, { ...said, role: "assistant" }],
  };
}

/** The message of a stream; the SDK does not join it. */
async function joined(events) {
  const message = {};
  const calls = [];
  const content = [];
  let end;
  for await (const { type, index, delta } of events) {
    if (type === "tool-plan-delta") message.toolPlan = (message.toolPlan ?? "") + delta.message.toolPlan;
    else if (type === "tool-call-start") calls[index] = structuredClone(delta.message.toolCalls);
    else if (type === "tool-call-delta")
      calls[index].function.arguments += delta.message.toolCalls.function.arguments;
    else if (type === "content-start") content[index] = structuredClone(delta.message.content);
    else if (type === "content-delta") {
      for (const [key, value] of Object.entries(delta.message.content)) {
        if (value !== undefined) content[index][key] = (content[index][key] ?? "") + value;
      }
    } else if (type === "message-end") end = delta;
  }
  if (calls.length) message.toolCalls = calls;
  if (content.length) message.content = content;
  return { message, finishReason: end?.finishReason, usage: end?.usage };
}
