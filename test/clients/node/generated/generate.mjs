// Generates the clients of openapi.json into dist/, and compiles them with the calls made through them.
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const FOLDER = import.meta.dirname;
const STEP_TIMEOUT_MS = 100_000;

async function run(program, ...args) {
  const options = { cwd: FOLDER, timeout: STEP_TIMEOUT_MS };
  try {
    await promisify(execFile)(process.execPath, [join(FOLDER, 'node_modules', program), ...args], options);
  } catch (cause) {
    throw new Error(`${program} failed:\n${cause.stdout}${cause.stderr}`, { cause });
  }
}

rmSync(join(FOLDER, 'dist'), { recursive: true, force: true });
await Promise.all([
  run('openapi-typescript/bin/cli.js', '../../../../openapi.json', '--output', 'dist/src/openapi-typescript.d.ts'),
  run('@hey-api/openapi-ts/bin/run.js', '--file', 'openapi-ts.config.mjs'),
  run('orval/dist/bin/orval.mjs', '--config', 'orval.config.mjs'),
]);
await run('typescript/bin/tsc', '--project', '.');
