// Judges the documents and pictures of plans with other projects' own tools: `check.mjs FOLDER`.
//
// Redocly's linter reads `*/arazzo.json` and `*/openapi.json`, Mermaid parses `*.mmd`. Each judge must first refuse
// a broken variant of every file.

import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

import { JSDOM } from 'jsdom';

const here = path.dirname(fileURLToPath(import.meta.url));
const folder = path.resolve(process.argv[2]);
const scratch = fs.mkdtempSync(path.join(os.tmpdir(), 'toolwright-plans-'));

// Mermaid sanitizes labels, for which it needs a document.
const { window } = new JSDOM('');
Object.assign(globalThis, { window, document: window.document });
const { default: mermaid } = await import('mermaid');

/** Lints a file. Tools of a plan have no licence. */
function lint(file) {
  const cli = path.join(here, 'node_modules/@redocly/cli/bin/cli.js');
  const words = ['lint', file, '--extends=recommended-strict', '--skip-rule=info-license', '--format=stylish'];
  const env = { ...process.env, REDOCLY_TELEMETRY: 'off', REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true' };
  const ran = spawnSync(process.execPath, [cli, ...words], { cwd: scratch, encoding: 'utf8', env });
  return ran.status === 0 ? null : ran.stdout + ran.stderr;
}

async function parse(text) {
  try {
    await mermaid.parse(text);
    return null;
  } catch (error) {
    return String(error);
  }
}

/** Writes a broken variant of a JSON document beside a copy of what it refers to. */
function broken(file, change) {
  const document = JSON.parse(fs.readFileSync(file, 'utf8'));
  change(document);
  const copy = fs.mkdtempSync(path.join(scratch, 'broken-'));
  fs.cpSync(path.dirname(file), copy, { recursive: true });
  const out = path.join(copy, path.basename(file));
  fs.writeFileSync(out, JSON.stringify(document));
  return out;
}

const BREAKS = {
  'arazzo.json': [
    ['a version of Arazzo that does not exist', (document) => (document.arazzo = '7.0.0')],
    ['a step without an id', (document) => delete document.workflows[0].steps[0].stepId],
    ['an unknown field', (document) => (document.workflows[0].steps[0].unknown = 1)],
  ],
  'openapi.json': [
    ['an operation without responses', (document) => delete Object.values(document.paths)[0].post.responses],
    ['a reference to nothing', (document) => (document.components.schemas = {})],
  ],
};

const failures = [];
let judged = 0;
function judge(name, problem) {
  judged += 1;
  if (problem) failures.push(`${name}\n${problem}`);
}

for (const name of fs.readdirSync(folder, { recursive: true }).sort()) {
  const file = path.join(folder, name);
  const breaks = BREAKS[path.basename(name)];
  if (breaks) {
    judge(name, lint(file));
    for (const [what, change] of breaks) {
      judge(name, lint(broken(file, change)) ? null : `${what} was not refused`);
    }
  } else if (name.endsWith('.mmd')) {
    const text = fs.readFileSync(file, 'utf8');
    judge(name, await parse(text));
    judge(name, (await parse(text.replace(/\]/, ''))) ? null : 'an open bracket was not refused');
  }
}
fs.rmSync(scratch, { recursive: true });
for (const failure of failures) console.error(failure);
console.log(`plans: ${judged} documents and broken variants judged, ${failures.length} failures`);
process.exit(failures.length || !judged ? 1 : 0);
