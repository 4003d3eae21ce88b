import OpenAI from 'openai';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { tableTexts } from '../support/traces-of.js';

const CATALOG = `providers:
  paid: { type: sandbox, free: false }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: paid }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 4, 2k: 4, 4k: 4 } }]
`;

/** The official SDK as it is, with `store: false`, whose first answer is lost. */
describe('an OpenAI SDK that retries what is not to be stored', () => {
  let folder: string;
  let platform: Platform;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-not-stored-'));
    await writeFile(join(folder, 'models.yaml'), CATALOG);
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml') });
  });
  afterAll(async () => {
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function found(prompt: string, condition: string): Promise<boolean> {
    const text = `SELECT 1 FROM tasks WHERE prompt = $1 AND ${condition}`;
    return (await platform.pool.query(text, [prompt])).rowCount === 1;
  }

  it.each([
    ['while its image is generated', 'canary-unstored-1 [[latency=5s]]', 'true'],
    ['after its image was stored', 'canary-unstored-2', `status = 'completed'`],
  ])('gets its image when the connection is cut %s; it is bought once, and then gone', async (_when, prompt, state) => {
    const proxy = await FaultProxy.start(platform.url, ['mute']);
    const openai = new OpenAI({ apiKey: platform.key, baseURL: `${proxy.url}/v1`, maxRetries: 8 });
    const params = { model: 'gpt-image-2', prompt, size: '1:1' } as const;
    const answer = openai.images.generate({ ...params, store: false } as typeof params);
    expect(await waitUntil(() => found(prompt, state), { timeoutMs: 60_000 })).toBe(true);
    proxy.cut();
    const { data } = await answer;
    expect(data?.[0]?.b64_json?.slice(0, 5)).toBe('iVBOR');
    expect(proxy.count).toBeGreaterThan(1);

    const { rows } = await platform.pool.query<{ id: string }>(
      `SELECT id, provider_starts AS starts, EXTRACT(EPOCH FROM expires_at - finished_at)::int AS kept,
        (SELECT count(*)::int FROM charges WHERE task_id = id AND kind = 'reserve') AS reserves FROM tasks WHERE prompt = $1`,
      [prompt],
    );
    expect(rows).toEqual([{ id: expect.any(String) as string, starts: 1, kept: 120, reserves: 1 }]);
    const id = rows[0]?.id ?? '';
    // As if its time were over.
    await platform.pool.query('UPDATE task_erasures SET due_at = now() WHERE task_id = $1', [id]);
    const isGone = async (): Promise<boolean> => {
      const response = await platform.call(`/v1/tasks/${id}/receipt`);
      await response.text();
      return response.status === 200;
    };
    expect(await waitUntil(isGone, { timeoutMs: 60_000 })).toBe(true);
    expect(await tableTexts(platform)).not.toContain('canary-unstored');
    await proxy.close();
  });
});
