// `npm run check`: everything CI requires except the tests. Runs all steps, and shows the output of those that failed and
// the advice of the others.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { prepare, releaseSignals, ROOT } from '../build/prepare.mjs';

const tool = (name) => join(ROOT, 'tools', 'node_modules', '.bin', name);
const tsc = join(ROOT, 'node_modules', '.bin', 'tsc');

/** Run in parallel, one per processor, the longest first. */
const steps = [
  ['lint', tool('eslint'), ['--max-warnings', '0', '.']],
  ['format', tool('prettier'), ['--check', '--log-level', 'warn', '.']],
  ['types', tsc, ['--noEmit']],
  ['pages', tsc, ['--noEmit', '--project', 'apps/dashboard']],
  ['openapi', process.execPath, ['dist/apps/api/src/openapi.js', '--check']],
  ['imports', process.execPath, ['scripts/check/imports.mjs']],
  ['unused', tool('knip'), ['--config', 'knip.config.mjs', '--no-progress', '--no-config-hints']],
  ['size', process.execPath, ['scripts/check/size.mjs']],
  ['shape', process.execPath, ['scripts/check/shape.mjs']],
  ['tables', process.execPath, ['scripts/check/migrations.mjs']],
  ['alerts', process.execPath, ['scripts/check/alerts.mjs']],
  ['deploy', process.execPath, ['scripts/check/deploy.mjs']],
  ['helm', process.execPath, ['scripts/check/helm.mjs']],
  ['settings', process.execPath, ['scripts/build/settings.mjs', '--check']],
];
/** On two cores that run other programs as well, lint alone has taken ten minutes. */
const STEP_TIMEOUT_MS = 1_500_000;

// Builds what lint and type checks need: the database client, the console's types, and the program that prints OpenAPI.
await prepare({ tools: true });
releaseSignals();
const failed = [];
const left = [...steps];
await Promise.all(Array.from({ length: availableParallelism() }, work));
console.log(failed.length === 0 ? `All ${steps.length} checks hold.` : `Failed: ${failed.join(', ')}.`);
process.exitCode = failed.length === 0 ? 0 : 1;

async function work() {
  for (let step = left.shift(); step !== undefined; step = left.shift()) await check(step);
}

async function check([name, command, args]) {
  const start = performance.now();
  const { ok, output } = await run(command, args);
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${name.padEnd(8)} ${((performance.now() - start) / 1000).toFixed(1)} s`);
  if (ok) {
    for (const line of output.split('\n')) if (line.startsWith('advice:')) console.log(`       ${line}`);
    return;
  }
  failed.push(name);
  console.log(output.trimEnd().replace(/^/gm, '       '));
}

function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'], timeout: STEP_TIMEOUT_MS });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text) => (output += text));
    }
    child.on('error', (error) => resolve({ ok: false, output: error.message }));
    child.on('close', (code, signal) => {
      if (signal !== null) output += `\nended by ${signal} (each step has ${STEP_TIMEOUT_MS / 1000} s)`;
      resolve({ ok: code === 0, output });
    });
  });
}
