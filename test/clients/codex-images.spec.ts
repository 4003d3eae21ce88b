import { readFile } from 'node:fs/promises';
import { waitUntil } from '#embedded/wait-until.js';
import { newMarker } from '../support/fault-callers.js';
import { LedgerProvider } from '../support/ledger-provider.js';
import { patient, patientSetting } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { retriedAsByCodex } from '../support/codex-retries.js';
import { LosingProxy, type Loss } from './losing-proxy.js';
import { makeSampleFiles } from './sample-files.js';

/** Longer than an image that nothing holds up takes on a busy machine. */
const WINDOW_MS = Number(patientSetting(4_000, 60_000));
/** What users set, so that Codex has the tool; Codex sends it with every call. */
const HEADERS = { 'x-openai-actor-authorization': 'local-image-extension' };

/** What Codex parses of an answer. */
interface ImageResponse {
  readonly created: number;
  readonly data: readonly { readonly b64_json: string }[];
  readonly background?: string;
  readonly quality?: string;
}

interface Outcome {
  readonly image: string;
  /** Statuses of the tries; 0: cut, or no answer in time. */
  readonly tries: readonly number[];
}

/**
 * Codex's image tool, by its source: the requests of `codex-rs/ext/image-generation/src/tool.rs` at 0165dbf as
 * `codex-api/src/images.rs` at 26a4083 writes them, the retries of `codex-api/src/provider.rs`.
 */
describe('the image tool of Codex', () => {
  let provider: LedgerProvider;
  let platform: Platform;
  let proxy: LosingProxy;
  let files: Awaited<ReturnType<typeof makeSampleFiles>>;
  const losses = new Map<string, Loss>();
  /** By marker, what lets the image be made that nobody waits for any more. */
  const knownAsLost = new Map<string, () => void>();

  beforeAll(async () => {
    [provider, files] = await Promise.all([LedgerProvider.start(), makeSampleFiles()]);
    platform = await startPlatform({
      SYNC_WAIT_MS: String(WINDOW_MS),
      OPENAI_API_KEY: 'sk-ledger-secret-key',
      OPENAI_BASE_URL: provider.url,
    });
    proxy = await LosingProxy.start({ target: platform.url, losses, begun, left });
  });
  afterAll(async () => {
    await proxy.close();
    await platform.close();
    await provider.close();
    await files.remove();
  });

  const begun = (marker: string): Promise<unknown> =>
    waitUntil(() => provider.startsOf(marker).length > 0, { timeoutMs: 30_000 });

  async function left(marker: string): Promise<void> {
    const isAbandoned = async (): Promise<boolean> => {
      const text = `SELECT FROM tasks WHERE prompt LIKE '%' || $1 AND abandoned_at IS NOT NULL`;
      return (await platform.pool.query(text, [marker])).rowCount === 1;
    };
    expect(await waitUntil(isAbandoned, { timeoutMs: 30_000 })).toBe(true);
    knownAsLost.get(marker)?.();
  }

  async function call(path: string, body: object, cutMs = patient(250_000)): Promise<Outcome> {
    const { response, tries } = await retriedAsByCodex(() =>
      platform.call(path, { at: proxy, headers: HEADERS, body, signal: AbortSignal.timeout(cutMs) }),
    );
    const { data } = (await response?.json()) as ImageResponse;
    return { image: sizeOf(data[0]?.b64_json ?? ''), tries };
  }

  const generate = (marker: string, cutMs?: number): Promise<Outcome> => {
    const options = { background: 'auto', model: 'gpt-image-2', quality: 'auto', size: 'auto' };
    return call('/v1/images/generations', { prompt: `a blue whale ${marker}`, ...options }, cutMs);
  };

  async function edit(marker: string): Promise<Outcome> {
    const images = await Promise.all(
      files.images.map(async (path) => ({ image_url: `data:image/png;base64,${await readFile(path, 'base64')}` })),
    );
    const options = { background: 'auto', model: 'gpt-image-2', quality: 'auto', size: 'auto' };
    return call('/v1/images/edits', { images, prompt: `a red hat ${marker}`, ...options });
  }

  /** An image that is made once it is known that its first caller has left. */
  function lost(loss?: Loss): string {
    const marker = newMarker();
    provider.plan(marker, { until: new Promise<void>((resolve) => knownAsLost.set(marker, resolve)) });
    if (loss !== undefined) losses.set(marker, loss);
    return marker;
  }

  async function expectOnePurchase(marker: string): Promise<void> {
    const { rows } = await platform.pool.query(`SELECT status FROM tasks WHERE prompt LIKE '%' || $1`, [marker]);
    expect([rows, provider.startsOf(marker).length]).toEqual([[{ status: 'completed' }], 1]);
  }

  it('gets the image of a generation', async () => {
    const marker = newMarker();
    expect(await generate(marker)).toEqual({ image: 'png 1024x1024', tries: [200] });
    await expectOnePurchase(marker);
  });

  it('gets the image of an edit, whose images are data URLs', async () => {
    const marker = newMarker();
    expect(await edit(marker)).toEqual({ image: 'png 1024x1024', tries: [200] });
    await expectOnePurchase(marker);
    expect(provider.startsOf(marker)[0]?.path).toBe('/v1/images/edits');
  });

  it.each<[string, Loss, number, (marker: string) => Promise<Outcome>]>([
    ['a generation, after a 502 of a proxy', '502', 502, generate],
    ['a generation, after a cut connection', 'cut', 0, generate],
    ['an edit, after a 502 of a proxy', '502', 502, edit],
    ['an edit, after a cut connection', 'cut', 0, edit],
  ])('gets the image that its first try bought: %s', async (_what, loss, status, order) => {
    const marker = lost(loss);
    expect(await order(marker)).toEqual({ image: 'png 1024x1024', tries: [status, 200] });
    await expectOnePurchase(marker);
  });

  it('gets the image that its first try bought when it stops waiting itself', async () => {
    const marker = lost();
    const outcome = generate(marker, Math.round(WINDOW_MS / 2));
    await left(marker);
    const { image, tries } = await outcome;
    expect([image, tries[0], tries.at(-1)]).toEqual(['png 1024x1024', 0, 200]);
    await expectOnePurchase(marker);
  });

  it('gets an image that takes longer than the window', async () => {
    const marker = lost();
    const outcome = generate(marker);
    await left(marker);
    const { image, tries } = await outcome;
    expect([image, tries[0], tries.at(-1)]).toEqual(['png 1024x1024', 504, 200]);
    await expectOnePurchase(marker);
  });
});

/** `png 1024x1024`. */
function sizeOf(base64: string): string {
  const png = Buffer.from(base64, 'base64');
  return `${png.toString('latin1', 1, 4).toLowerCase()} ${png.readUInt32BE(16)}x${png.readUInt32BE(20)}`;
}
