// Drives SDKs: reads a JSON line for each cell from stdin, and writes one with the SDK's results to
// stdout, like conformance/drive.py for Python.

const cells = (await text(process.stdin)).split("\n").filter(Boolean).map((line) => JSON.parse(line));
const made = new Map();
let next = 0;

async function text(stream) {
  let all = "";
  for await (const piece of stream.setEncoding("utf8")) all += piece;
  return all;
}

async function driver(dialect) {
  return import(`./clients/${dialect.replaceAll("-", "_")}.mjs`);
}

/** Both turns of a cell. */
async function drive({ cell, dialect, base, key, model, stream }) {
  const seen = { cell };
  try {
    const { connect, first, second } = await driver(dialect);
    const name = `${dialect} ${base} ${key}`;
    if (!made.has(name)) made.set(name, connect(base, key));
    const turn = await first(made.get(name), model, stream);
    seen.first = record(turn);
    seen.second = record(await second(made.get(name), model, stream, turn));
  } catch (error) {
    // An exception of any class is the SDK's verdict.
    seen.error = `${error?.name}: ${error?.message} ${error?.cause ?? ""}`;
  }
  return seen;
}

function record({ calls, text, finish, usage }) {
  return { calls, text: text ?? "", finish: finish ?? null, usage: usage ?? null };
}

async function worker() {
  while (next < cells.length) console.log(JSON.stringify(await drive(cells[next++])));
}

await Promise.all(Array.from({ length: 8 }, worker));
