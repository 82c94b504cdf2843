// Google Gemini, with @google/genai.

import { GoogleGenAI } from "@google/genai";
import { prompt, result, system, tools } from "./task.mjs";

export const connect = (baseUrl, apiKey) =>
  new GoogleGenAI({ apiKey, httpOptions: { baseUrl, timeout: 60_000 } });

export function first(client, model, stream) {
  return turn(client, model, stream, [{ role: "user", parts: [{ text: prompt }] }]);
}

export function second(client, model, stream, { calls, history }) {
  const parts = calls.map((call) => ({
    functionResponse: { id: call.id, name: call.name, response: { output: result(call) } },
  }));
  return turn(client, model, stream, [...history, { role: "user", parts }]);
}

async function turn(client, model, stream, contents) {
  const functionDeclarations = tools.map(({ name, description, parameters }) => ({
    name,
    description,
    parametersJsonSchema: parameters,
  }));
  const config = { systemInstruction: system, tools: [{ functionDeclarations }] };
  const chunks = stream
    ? await Array.fromAsync(await client.models.generateContentStream({ model, contents, config }))
    : [await client.models.generateContent({ model, contents, config })];
  const candidates = chunks.flatMap((chunk) => chunk.candidates ?? []);
  const parts = candidates.flatMap((candidate) => candidate.content?.parts ?? []);
  const usage = chunks.map((chunk) => chunk.usageMetadata).findLast(Boolean);
  return {
    calls: parts
      .filter((part) => part.functionCall)
      .map(({ functionCall: { id, name, args } }) => ({ id, name, arguments: args ?? {} })),
    text: parts.map((part) => (part.thought ? "" : (part.text ?? ""))).join(""),
    finish: candidates.map((candidate) => candidate.finishReason).findLast(Boolean),
    usage: usage && [usage.promptTokenCount, usage.candidatesTokenCount],
    history: [...contents, { role: "model", parts }],
  };
}
