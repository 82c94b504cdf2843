// What every client asks, the tools that it offers and what they give back: the task of the cells.

import { readFileSync } from "node:fs";

const task = JSON.parse(readFileSync(new URL("../task.json", import.meta.url), "utf8"));

export const { system, prompt, tools } = task;

/** The tools as most vendors want them: nested, with `parameters`. */
export const functions = tools.map((tool) => ({ type: "function", function: tool }));

/** What a tool gives back: a word of its arguments, so that results cannot be mixed up. */
export function result({ name, arguments: found }) {
  if (name === "get_weather") return { city: found.city, temp_c: -2.5, condition: "晴" };
  return { passenger: found.passengers[0].name, flights: [] };
}

/** The first messages, where a dialect has them by role. */
export const opening = [
  { role: "system", content: system },
  { role: "user", content: prompt },
];
