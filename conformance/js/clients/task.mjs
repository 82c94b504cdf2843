// The task of the cells: the question, the tools, and their results.

import { readFileSync } from "node:fs";

const task = JSON.parse(readFileSync(new URL("../task.json", import.meta.url), "utf8"));

export const { system, prompt, tools } = task;

/** The tools in the form of most vendors: nested, with `parameters`. */
export const functions = tools.map((tool) => ({ type: "function", function: tool }));

/** The result of a tool: a word of its arguments, so that results cannot be confused. */
export function result({ name, arguments: found }) {
  if (name === "get_weather") return { city: found.city, temp_c: -2.5, condition: "晴" };
  return { passenger: found.passengers[0].name, flights: [] };
}

/** The first messages, for dialects with roles. */
export const opening = [
  { role: "system", content: system },
  { role: "user", content: prompt },
];
