// Mistral, with @mistralai/mistralai.

import { Mistral } from "@mistralai/mistralai";
import { functions, opening, result } from "./task.mjs";

export const connect = (serverURL, apiKey) => new Mistral({ serverURL, apiKey, timeoutMs: 60_000 });

export const first = (client, model, stream) => turn(client, model, stream, opening);

export function second(client, model, stream, { calls, history }) {
  const results = calls.map((call) => ({
    role: "tool",
    toolCallId: call.id,
    name: call.name,
    content: JSON.stringify(result(call)),
  }));
  return turn(client, model, stream, [...history, ...results]);
}

async function turn(client, model, stream, messages) {
  const asked = { model, messages, tools: functions };
  const chunks = stream
    ? (await Array.fromAsync(await client.chat.stream(asked))).map((event) => event.data)
    : [await client.chat.complete(asked)];
  const choices = chunks.flatMap((chunk) => chunk.choices);
  const messagesOf = choices.map((choice) => choice.delta ?? choice.message);
  const usage = chunks.map((chunk) => chunk.usage).findLast(Boolean);
  const parts = messagesOf.flatMap(({ content }) =>
    typeof content === "string" ? [{ type: "text", text: content }] : (content ?? []),
  );
  const text = parts.map((part) => part.text ?? "").join("");
  const made = messagesOf.flatMap((message) => message.toolCalls ?? []);
  const said = { role: "assistant", content: merged(parts) };
  if (made.length) said.toolCalls = made;
  return {
    calls: made.map(({ id, function: { name, arguments: found } }) => ({
      id,
      name,
      arguments: typeof found === "string" ? JSON.parse(found) : found,
    })),
    text,
    finish: choices.at(-1).finishReason,
    usage: usage && [usage.promptTokens, usage.completionTokens],
    history: [...messages, said],
  };
}

/** Content to send back: text, or chunks if there was reasoning, joined by kind. */
function merged(parts) {
  const thinking = parts.filter((part) => part.type === "thinking");
  const text = parts.map((part) => part.text ?? "").join("");
  if (!thinking.length) return text;
  const thought = { ...thinking.at(-1), thinking: thinking.flatMap((part) => part.thinking) };
  return text ? [thought, { type: "text", text }] : [thought];
}
