// AWS Bedrock Converse, with @aws-sdk/client-bedrock-runtime.

import {
  BedrockRuntimeClient,
  ConverseCommand,
  ConverseStreamCommand,
} from "@aws-sdk/client-bedrock-runtime";
import { prompt, result, system, tools } from "./task.mjs";

export function connect(endpoint, key) {
  const [accessKeyId, secretAccessKey] = key.split(":");
  return new BedrockRuntimeClient({
    endpoint,
    region: "us-east-1",
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: 1,
  });
}

export function first(client, model, stream) {
  return turn(client, model, stream, [{ role: "user", content: [{ text: prompt }] }]);
}

export function second(client, model, stream, { calls, history }) {
  const content = calls.map((call) => ({
    toolResult: { toolUseId: call.id, content: [{ json: result(call) }] },
  }));
  return turn(client, model, stream, [...history, { role: "user", content }]);
}

async function turn(client, modelId, stream, messages) {
  const asked = {
    modelId,
    system: [{ text: system }],
    messages,
    toolConfig: {
      tools: tools.map(({ name, description, parameters }) => ({
        toolSpec: { name, description, inputSchema: { json: parameters } },
      })),
    },
  };
  let content, finish, usage;
  if (stream) {
    const found = await client.send(new ConverseStreamCommand(asked));
    ({ content, finish, usage } = await joined(found.stream));
  } else {
    const found = await client.send(new ConverseCommand(asked));
    ({ stopReason: finish, usage } = found);
    ({ content } = found.output.message);
  }
  return {
    calls: content
      .filter((block) => block.toolUse)
      .map(({ toolUse: { toolUseId, name, input } }) => ({ id: toolUseId, name, arguments: input })),
    text: content.map((block) => block.text ?? "").join(""),
    finish,
    usage: usage && [usage.inputTokens, usage.outputTokens],
    history: [...messages, { role: "assistant", content }],
  };
}

/** The blocks of a stream; the SDK does not join them. */
async function joined(events) {
  const content = [];
  let finish, usage;
  for await (const { contentBlockStart, contentBlockDelta, messageStop, metadata } of events) {
    if (contentBlockStart) {
      const { toolUseId, name } = contentBlockStart.start.toolUse;
      content[contentBlockStart.contentBlockIndex] = { toolUse: { toolUseId, name, input: "" } };
    } else if (contentBlockDelta) {
      add((content[contentBlockDelta.contentBlockIndex] ??= {}), contentBlockDelta.delta);
    } else if (messageStop) finish = messageStop.stopReason;
    else if (metadata) usage = metadata.usage;
  }
  for (const { toolUse } of content) if (toolUse) toolUse.input = JSON.parse(toolUse.input || "{}");
  return { content, finish, usage };
}

function add(block, { text, toolUse, reasoningContent }) {
  if (text !== undefined) block.text = (block.text ?? "") + text;
  else if (toolUse) block.toolUse.input += toolUse.input;
  else if (reasoningContent.redactedContent) block.reasoningContent = reasoningContent;
  else {
    const thought = ((block.reasoningContent ??= {}).reasoningText ??= { text: "" });
    for (const [key, value] of Object.entries(reasoningContent)) {
      thought[key] = (thought[key] ?? "") + value;
    }
  }
}
