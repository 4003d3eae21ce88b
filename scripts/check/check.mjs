// `npm run check`: everything CI requires except the tests. Runs all steps, and shows the output of those that failed and
// the advice of the others.
import { spawn } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { prepare, releaseSignals, ROOT } from '../build/prepare.mjs';

const tool = (name) => join(ROOT, 'tools', 'node_modules', '.bin', name);
const tsc = join(ROOT, 'node_modules', '.bin', 'tsc');
const cruise = [tool('depcruise'), 'apps', 'libs', '--output-type', 'err-long', '--config'];
const node = (...args) => [process.execPath, ...args];

/** Name and commands; the steps run in parallel, one per processor, the longest first. */
const steps = [
  ['lint', [tool('eslint'), '--max-warnings', '0', '.']],
  ['format', [tool('prettier'), '--check', '--log-level', 'warn', '.']],
  ['types', [tsc, '--noEmit'], [tsc, '--noEmit', '--project', 'apps/dashboard']],
  ['imports', [...cruise, 'scripts/check/imports.config.mjs'], [...cruise, 'scripts/check/folders.config.mjs']],
  ['unused', [tool('knip'), '--config', 'knip.config.mjs', '--no-progress', '--no-config-hints']],
  ['deploy', node('scripts/check/helm.mjs'), node('scripts/check/deploy.mjs'), node('scripts/check/alerts.mjs')],
  ['shape', node('scripts/check/shape.mjs')],
  ['tables', node('scripts/check/migrations.mjs')],
  ['generated', node('dist/apps/api/src/main.js', 'openapi', '--check'), node('scripts/build/settings.mjs', '--check')],
];
/** On two cores that run other programs as well, lint alone has taken ten minutes. */
const COMMAND_TIMEOUT_MS = 1_500_000;

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

async function check([name, ...commands]) {
  const start = performance.now();
  const results = [];
  for (const [command, ...args] of commands) results.push(await run(command, args));
  const ok = results.every((result) => result.ok);
  console.log(`${ok ? 'ok    ' : 'FAILED'} ${name.padEnd(9)} ${((performance.now() - start) / 1000).toFixed(1)} s`);
  const lines = results.flatMap(({ ok: held, output }) => {
    const all = output.trimEnd().split('\n');
    return held ? all.filter((line) => line.startsWith('advice:')) : all;
  });
  for (const line of lines) console.log(`       ${line}`);
  if (!ok) failed.push(name);
}

function run(command, args) {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: ROOT, stdio: ['ignore', 'pipe', 'pipe'], timeout: COMMAND_TIMEOUT_MS });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8');
      stream.on('data', (text) => (output += text));
    }
    child.on('error', (error) => resolve({ ok: false, output: error.message }));
    child.on('close', (code, signal) => {
      if (signal !== null) output += `\nended by ${signal} (each command has ${COMMAND_TIMEOUT_MS / 1000} s)`;
      resolve({ ok: code === 0, output });
    });
  });
}
