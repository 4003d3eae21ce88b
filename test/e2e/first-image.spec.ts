import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { openImage } from '#images/sharp.js';
import { startChild, type Child } from '#embedded/child.js';
import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin } from '../support/console.js';
import { freePort } from '../support/free-port.js';
import { patient } from '../support/patience.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';

const MAIN = resolve('bin', 'darkroom.mjs');
const READY = 'Ctrl-C stops everything.';
let folder: string;
let vendor: ScriptedUpstream;
let earlier: ApiPlatform | undefined;
const started: Child[] = [];

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'darkroom-first-image-'));
  vendor = await startUpstream();
});

afterEach(async () => {
  for (const child of started.splice(0)) await child.stop([['SIGTERM', patient(60_000)]]);
  await earlier?.close();
  earlier = undefined;
  await vendor.close();
  await rm(folder, { recursive: true, force: true });
});

async function run(command: readonly string[], settings: Record<string, string>) {
  const log = join(folder, `${command.join('-')}.txt`);
  const env = { PATH: process.env['PATH'], HOME: folder, DATA_DIR: join(folder, 'data'), ...settings };
  const args = [MAIN, ...command];
  const child = await startChild({ command: process.execPath, args, env, log, deathSignal: 'SIGTERM' });
  started.push(child);
  return { child, output: () => readFile(log, 'utf8') };
}

/** A catalog's file, which names the vendor's address. */
async function writeCatalog(): Promise<string> {
  const file = join(folder, 'models.yaml');
  await writeFile(
    file,
    `currency: USD
providers:
  vendor: { type: openai, base_url: "${vendor.url}", keys: [{ env: VENDOR_KEY }] }
models:
  gpt-image-2: { kind: image, routes: [{ provider: vendor }], prices: [{ from: 2026-01-01, per_image: { 1k: 1, 2k: 2, 4k: 4 } }] }
`,
  );
  return file;
}

/** A database in which somebody has added the vendor in the console, and its secret. */
async function addInConsole(): Promise<Record<string, string>> {
  earlier = await startApiPlatform();
  const ada = await signInFirstAdmin(earlier);
  const provider = { entry: { type: 'openai', base_url: vendor.url }, keys: [{ name: 'team', key: 'sk-paid' }] };
  const model = { entry: { kind: 'image', routes: [{ provider: 'vendor' }] } };
  await ada.ask('/catalog/providers/vendor', { method: 'PUT', body: { revision: 0, ...provider } });
  await ada.ask('/catalog/models/gpt-image-2', { method: 'PUT', body: { revision: 1, ...model } });
  return { DATABASE_URL: earlier.settings['DATABASE_URL'] ?? '', SECRET_KEY: earlier.secretKey };
}

it.each([
  ['OPENAI_API_KEY', () => Promise.resolve({ OPENAI_API_KEY: 'sk-paid', OPENAI_BASE_URL: vendor.url })],
  ['MODELS_FILE', async () => ({ MODELS_FILE: await writeCatalog(), VENDOR_KEY: 'sk-paid' })],
  ['DATABASE_URL, and a vendor added in the console,', addInConsole],
])(
  'M7: the first start with %s set draws its image itself, and neither it nor the doctor buys anything',
  async (_name, settings) => {
    const chosen = { PORT: String(await freePort()), ...(await settings()) };
    const product = await run(['start'], chosen);
    await waitUntil(async () => !product.child.running || (await product.output()).includes(READY), {
      timeoutMs: 120_000,
    });
    expect(await product.output()).toMatch(/First image .*\(2048x2048, made in .* by the sandbox, free of charge\)/);
    const image = await openImage(await readFile(join(folder, 'data', 'first-image.png'))).metadata();
    expect(image).toMatchObject({ format: 'png', width: 2048, height: 2048 });
    const doctor = await run(['doctor'], chosen);
    expect(await doctor.child.exited).toEqual({ code: 0, signal: null });
    expect(vendor.calls.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
  },
  240_000,
);
