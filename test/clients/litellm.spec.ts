import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { newMarker } from '../support/fault-callers.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { LosingProxy, type Loss } from './losing-proxy.js';
import { makeSampleFiles } from './sample-files.js';

const COST = 'x-litellm-response-cost';
/** What LiteLLM's proxy 1.106.2 sent for a generation; recorded from the program. It had dropped its caller's Idempotency-Key. */
const GENERATION_HEADERS = {
  accept: 'application/json',
  'accept-encoding': 'gzip, deflate',
  'content-type': 'application/json',
  'user-agent': 'AsyncOpenAI/Python 2.54.0',
  'x-stainless-lang': 'python',
  'x-stainless-package-version': '2.54.0',
  'x-stainless-async': 'async:asyncio',
  'x-stainless-raw-response': 'true',
  'x-stainless-read-timeout': '6000.0',
};
/** The same for an edit, which goes out without an SDK. */
const EDIT_HEADERS = {
  accept: '*/*',
  'accept-encoding': 'gzip, deflate',
  'user-agent': 'litellm/1.106.2',
  'content-type': 'multipart/form-data; boundary=9b9a5459f5715fcccf911d75e16e58d8',
};
const BOUNDARY = '--9b9a5459f5715fcccf911d75e16e58d8';
const MODELS = (url: string): string => `providers:
  paid: { type: openai, base_url: "${url}", keys: [{ env: UP_KEY, name: main }] }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: paid }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 0.0123, 2k: 0.04, 4k: 0.16 } }]
`;

/** LiteLLM's proxy, by its own bytes: it takes the cost from the answer, and repeats calls whose answer was lost. */
describe('LiteLLM in front', () => {
  let provider: LedgerProvider;
  let platform: Platform;
  let proxy: LosingProxy;
  let folder: string;
  let files: Awaited<ReturnType<typeof makeSampleFiles>>;
  const losses = new Map<string, Loss>();
  const knownAsLost = new Map<string, () => void>();

  beforeAll(async () => {
    [provider, files] = await Promise.all([LedgerProvider.start(), makeSampleFiles()]);
    folder = await mkdtemp(join(tmpdir(), 'darkroom-litellm-'));
    await writeFile(join(folder, 'models.yaml'), MODELS(provider.url));
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml'), UP_KEY: 'sk-upstream-secret-key' });
    proxy = await LosingProxy.start({
      target: platform.url,
      losses,
      begun: (marker) => waitUntil(() => provider.startsOf(marker).length > 0, { timeoutMs: 30_000 }),
      left: async (marker) => {
        const isAbandoned = async (): Promise<boolean> => {
          const text = `SELECT FROM tasks WHERE prompt LIKE '%' || $1 AND abandoned_at IS NOT NULL`;
          return (await platform.pool.query(text, [marker])).rowCount === 1;
        };
        await waitUntil(isAbandoned, { timeoutMs: 30_000 });
        knownAsLost.get(marker)?.();
      },
    });
  });
  afterAll(async () => {
    await proxy.close();
    await platform.close();
    await provider.close();
    await files.remove();
    await rm(folder, { recursive: true, force: true });
  });

  /** As often as the SDK inside it tries, with its count. */
  async function generate(marker: string): Promise<Response> {
    const body = `{"prompt":"a red fox ${marker}","model":"gpt-image-2","n":1,"size":"1024x1024"}`;
    for (let retry = 0; ; retry++) {
      const headers = { ...GENERATION_HEADERS, 'x-stainless-retry-count': String(retry) };
      const call = platform.call('/v1/images/generations', { at: proxy, method: 'POST', headers, body });
      const response = await call.catch(() => undefined);
      if (response?.ok === true || retry === 2) return response as Response;
    }
  }

  async function edit(marker: string): Promise<Response> {
    const field = (name: string, value: string): string =>
      `${BOUNDARY}\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const file = `${BOUNDARY}\r\nContent-Disposition: form-data; name="image[]"; filename="image.png"\r\nContent-Type: image/png\r\n\r\n`;
    const body = Buffer.concat([
      Buffer.from(field('model', 'gpt-image-2') + field('size', '1024x1024')),
      Buffer.from(field('prompt', `a red hat ${marker}`) + file),
      await readFile(files.images[0] ?? ''),
      Buffer.from(`\r\n${BOUNDARY}--\r\n`),
    ]);
    return platform.call('/v1/images/edits', { at: proxy, method: 'POST', headers: EDIT_HEADERS, body });
  }

  async function expectOnePurchase(marker: string, response: Response): Promise<void> {
    const { data } = (await response.json()) as { data: { b64_json: string }[] };
    expect([response.status, Buffer.from(data[0]?.b64_json ?? '', 'base64').readUInt32BE(16)]).toEqual([200, 1_024]);
    const { rows } = await platform.pool.query(
      `SELECT amount_micros::int AS micros, currency FROM charges JOIN tasks ON tasks.id = task_id
      WHERE prompt LIKE '%' || $1 AND kind = 'settle'`,
      [marker],
    );
    expect([rows, response.headers.get(COST)]).toEqual([[{ micros: 12_300, currency: 'USD' }], '0.012300']);
    expect(provider.startsOf(marker)).toHaveLength(1);
  }

  it.each([
    ['a generation', generate],
    ['an edit', edit],
  ])('is told the cost that the ledger has: %s', async (_what, order) => {
    const marker = newMarker();
    await expectOnePurchase(marker, await order(marker));
  });

  it.each<Loss>(['cut', '502'])('buys once, and is told the cost once, when an answer is lost: %s', async (loss) => {
    const marker = newMarker();
    losses.set(marker, loss);
    provider.plan(marker, { until: new Promise<void>((resolve) => knownAsLost.set(marker, resolve)) });
    await expectOnePurchase(marker, await generate(marker));
  });
});
