// Vercel's AI SDK, with its providers for eight vendors.

import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createCohere } from "@ai-sdk/cohere";
import { createDeepSeek } from "@ai-sdk/deepseek";
import { createGoogle } from "@ai-sdk/google";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, isStepCount, streamText, tool } from "ai";
import { z } from "zod";

globalThis.AI_SDK_LOG_WARNINGS = false;

const SYSTEM = "You are a travel assistant. 你是一名旅行助理。";

function model({ variant, base: baseURL, key: apiKey, model: name }) {
  const settings = { baseURL, apiKey };
  const [accessKeyId, secretAccessKey] = apiKey.split(":");
  const makers = {
    openai: () => createOpenAI(settings)(name),
    "openai-chat": () => createOpenAI(settings).chat(name),
    compatible: () => createOpenAICompatible({ name: "toolwright", includeUsage: true, ...settings })(name),
    anthropic: () => createAnthropic(settings)(name),
    // A name with a slash counts as a full resource name.
    google: () => createGoogle(settings)(`models/${name}`),
    mistral: () => createMistral(settings)(name),
    cohere: () => createCohere(settings)(name),
    deepseek: () => createDeepSeek(settings)(name),
    bedrock: () => createAmazonBedrock({ baseURL, region: "us-east-1", accessKeyId, secretAccessKey })(name),
  };
  return makers[variant]();
}

const tools = {
  get_weather: tool({
    description: "Get the current weather for a city. 查询指定城市的当前天气。",
    inputSchema: z.object({ city: z.string(), unit: z.enum(["celsius", "fahrenheit"]).optional() }),
    execute: async ({ city, unit }) => ({ city, degrees: 21, unit }),
  }),
  search_flights: tool({
    description: "Search one-way flights between two airports. 搜索两个机场之间的航班。",
    inputSchema: z.object({ origin: z.string(), destination: z.string(), passengers: z.array(z.string()) }),
    execute: async ({ destination }) => {
      throw new Error(`no flights to ${destination}`);
    },
  }),
};

export async function converse(talk) {
  const messages = [{ role: "user", content: talk.prompts[0] }];
  const first = await turn(talk, messages);
  const image = { type: "file", data: Buffer.from(talk.image, "base64"), mediaType: "image/png" };
  messages.push({ role: "user", content: [{ type: "text", text: talk.prompts[1] }, image] });
  return [first, await turn(talk, messages)];
}

async function turn(talk, messages) {
  const asked = { model: model(talk), system: SYSTEM, messages, tools, maxRetries: 0, stopWhen: isStepCount(5) };
  if (!talk.stream) {
    const result = await generateText(asked);
    messages.push(...result.responseMessages);
    return result.text;
  }
  let failure;
  const result = streamText({ ...asked, onError: ({ error }) => (failure ??= error) });
  for await (const _ of result.textStream) talk.pieces++;
  if (failure) throw failure;
  messages.push(...(await result.responseMessages));
  return result.text;
}
