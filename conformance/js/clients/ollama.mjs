// Ollama, with the ollama SDK.

import { Ollama } from "ollama";
import { functions, opening, result } from "./task.mjs";

export const connect = (host, key) => new Ollama({ host, headers: { authorization: `Bearer ${key}` } });

export const first = (client, model, stream) => turn(client, model, stream, opening);

export function second(client, model, stream, { calls, history }) {
  const results = calls.map((call) => ({
    role: "tool",
    tool_name: call.name,
    content: JSON.stringify(result(call)),
  }));
  return turn(client, model, stream, [...history, ...results]);
}

async function turn(client, model, stream, messages) {
  const asked = { model, messages, tools: functions };
  const chunks = stream
    ? await Array.fromAsync(await client.chat({ ...asked, stream: true }))
    : [await client.chat(asked)];
  const last = chunks.at(-1);
  const text = chunks.map((chunk) => chunk.message.content ?? "").join("");
  const thinking = chunks.map((chunk) => chunk.message.thinking ?? "").join("");
  // The SDK passes on the server's reply, including call ids.
  const made = chunks.flatMap((chunk) => chunk.message.tool_calls ?? []);
  const said = { role: "assistant", content: text };
  if (thinking) said.thinking = thinking;
  if (made.length) said.tool_calls = made;
  return {
    calls: made.map(({ id, function: { name, arguments: found } }) => ({ id, name, arguments: found })),
    text,
    finish: last.done ? last.done_reason : null,
    usage: [last.prompt_eval_count, last.eval_count],
    history: [...messages, said],
  };
}
