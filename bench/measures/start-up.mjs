import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '#embedded/free-port.js';
import { waitUntil } from '#embedded/wait-until.js';
import { median, seconds } from '../figures.mjs';
import { ROOT } from '../stage.mjs';

const LIMIT_MS = 120_000;

export const title = 'Starting';

/**
 * `npm start` with an empty DATA_DIR and again with the same one, installed and built; and each process alone, from
 * spawn until it is ready.
 */
export async function measure({ stage, quick }) {
  const dataDir = join(stage.folder, 'start-up');
  const first = await npmStart(dataDir);
  const second = await npmStart(dataDir);
  const roles = [];
  for (const [name, start] of [
    ['API', () => stage.startApi()],
    ['worker', () => stage.startWorker({ instant: false })],
  ]) {
    const runs = [];
    for (let round = 0; round < (quick ? 2 : 5); round++) {
      const since = performance.now();
      const started = await start();
      runs.push(performance.now() - since);
      await stage.stop(started);
    }
    roles.push({ name, runs });
  }
  const rows = [
    ['npm start, empty DATA_DIR: to the first image', seconds(first.imageMs)],
    ['npm start, empty DATA_DIR: to ready', seconds(first.readyMs)],
    ['npm start, second time: to ready', seconds(second.readyMs)],
    ...roles.flatMap(({ name, runs }) => [
      [`${name} process alone, first time: to ready`, seconds(runs[0])],
      [`${name} process alone, again: to ready`, seconds(median(runs.slice(1)))],
    ]),
  ];
  const goal = { text: 'a second npm start is ready in under 10 s', value: seconds(second.readyMs) };
  const goals = [{ ...goal, met: second.readyMs < 10_000 }];
  return { columns: ['start', 'time'], rows, goals, raw: { first, second, roles } };
}

async function npmStart(dataDir) {
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: dataDir, PORT: String(await freePort()) };
  const image = join(dataDir, 'first-image.png');
  const fresh = !existsSync(image);
  const since = performance.now();
  const npm = spawn('npm', ['start'], { cwd: ROOT, env, detached: true, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  for (const stream of [npm.stdout, npm.stderr]) stream.on('data', (bytes) => (output += bytes));
  // Output ends with the last process that has it open: the product, not npm.
  const ended = new Promise((resolve) => npm.once('close', resolve));
  let imageMs;
  try {
    const ready = await waitUntil(
      () => {
        if (npm.exitCode !== null) throw new Error(`npm start ended: ${output.slice(-2_000)}`);
        if (fresh && imageMs === undefined && existsSync(image)) imageMs = performance.now() - since;
        return output.includes('Darkroom is ready');
      },
      { timeoutMs: LIMIT_MS, everyMs: 5 },
    );
    if (!ready) throw new Error(`npm start was not ready after ${LIMIT_MS / 1000} s: ${output.slice(-2_000)}`);
    return { readyMs: performance.now() - since, imageMs };
  } finally {
    // The group is npm, its shell and the product, which stops its own children.
    if (npm.exitCode === null) process.kill(-npm.pid, 'SIGTERM');
    await ended;
  }
}
