// Runs JavaScript clients: reads a JSON line for each cell from stdin, and writes one with the
// client's results to stdout, like drivers/drive.py for Python.

const AT_ONCE = 4;
const cells = (await text(process.stdin)).split("\n").filter(Boolean).map((line) => JSON.parse(line));
let next = 0;

async function text(stream) {
  let all = "";
  for await (const piece of stream.setEncoding("utf8")) all += piece;
  return all;
}

async function drive(asked) {
  const seen = { cell: asked.cell };
  try {
    const { converse } = await import(`./converse/${asked.module}.mjs`);
    const talk = { ...asked, pieces: 0 };
    seen.texts = await converse(talk);
    seen.pieces = talk.pieces;
  } catch (error) {
    // An exception of any class is the client's verdict.
    const cause = error?.responseBody ?? error?.cause ?? "";
    seen.error = `${error?.name}: ${error?.message} ${cause}`;
  }
  return seen;
}

async function worker() {
  while (next < cells.length) console.log(JSON.stringify(await drive(cells[next++])));
}

await Promise.all(Array.from({ length: AT_ONCE }, worker));
process.exit(0);
