// Starts each bundle once, without services and with temporary settings, and saves the code that V8 compiled.
import { fork } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** Time limit for a bundle to become ready; without a cache, it just starts more slowly. */
const READY_MS = 60_000;
const WRITE = 'write';
/** Characters of the output of a bundle that did not start. */
const LAST_OUTPUT = 2_000;

/** Writes a code cache next to each file that these bundles load when they start. Throws if one of them can't start. */
export async function writeCodeCaches(folder, roles) {
  const data = await mkdtemp(join(tmpdir(), 'darkroom-build-'));
  try {
    for (const role of roles) await startOnce(folder, role, data);
  } finally {
    await rm(data, { recursive: true, force: true });
  }
}

async function startOnce(folder, role, data) {
  const child = fork(fileURLToPath(import.meta.url), [folder, role], {
    // Nothing listens on port 1. Both roles start without services and wait for them.
    env: {
      PATH: process.env.PATH,
      DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none',
      REDIS_URL: 'redis://127.0.0.1:1',
      SECRET_KEY: 'nothing is signed or encrypted with it',
      DATA_DIR: data,
      HOST: '127.0.0.1',
      PORT: String(await freePort()),
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  const ended = new Promise((resolve) => child.once('close', resolve));
  const timer = setTimeout(() => child.kill('SIGKILL'), READY_MS);
  let output = '';
  child.stderr.on('data', (bytes) => (output += bytes));
  child.stdout.on('data', (bytes) => {
    output += bytes;
    if (output.includes(`"${role}.started"`) && child.connected) child.send(WRITE, () => undefined);
  });
  await ended;
  clearTimeout(timer);
  if (!output.includes(`"${role}.started"`) && !child.killed)
    throw new Error(`the bundle of the ${role} ended while it was starting\n${output.slice(-LAST_OUTPUT)}`);
}

async function freePort() {
  const server = createServer();
  await new Promise((resolve, reject) => server.once('error', reject).listen(0, '127.0.0.1', resolve));
  const { port } = server.address();
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** In the child process: runs the bundle until the parent says that it is ready. */
async function runAndWrite([folder, role]) {
  const { codeCaches, loadBundle } = await import(pathToFileURL(join(folder, 'load-bundle.mjs')).href);
  process.once('message', async () => {
    for (const [path, bytes] of codeCaches()) await writeFile(path, bytes);
    process.exit(0);
  });
  loadBundle(`${role}.cjs`);
}

if (process.argv[1] === fileURLToPath(import.meta.url)) await runAndWrite(process.argv.slice(2));
