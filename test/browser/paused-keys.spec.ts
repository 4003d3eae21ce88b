import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { giveSession, openScreen, type Screen } from '../support/chromium.js';
import { signInFirstAdmin } from '../support/console.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { apiError, startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';

const PAUSE_SECONDS = 600;
const MODELS = (url: string): string => `
providers:
  studio: { type: openai, base_url: "${url}", keys: [{ name: main, env: KEY_OF_STUDIO }] }
models:
  gpt-image-2: { kind: image, routes: [{ provider: studio }] }
`;

interface Told {
  readonly id: string;
  readonly estimated_time?: number;
}

/** A provider that works, but takes no request for as long as its only key is at its limit. */
describe('a provider whose only key is paused', () => {
  let folder: string;
  let upstream: ScriptedUpstream;
  let platform: Platform;
  let screen: Screen;
  let id: string;
  const page = (): Screen['page'] => screen.page;
  const told = async <T>(path: string): Promise<T> => (await (await platform.call(path)).json()) as T;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-paused-'));
    upstream = await startUpstream();
    upstream.script(apiError(429, { type: 'rate_limit_error' }, { 'retry-after': String(PAUSE_SECONDS) }));
    await writeFile(join(folder, 'models.yaml'), MODELS(upstream.url));
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml'), KEY_OF_STUDIO: 'sk-canary' });
    const ada = await signInFirstAdmin(platform);
    screen = await openScreen(platform.url);
    await giveSession(screen, ada.cookie);
    const accepted = await platform.call('/v1/images/generations/async', {
      body: { model: 'gpt-image-2', prompt: 'A quiet harbor', resolution: '1k' },
    });
    id = accepted.headers.get('x-task-id')!;
    // Released, with no position: it waits for the end of the pause.
    const isReleased = async (): Promise<boolean> => {
      const { rows } = await platform.pool.query<{ phase: string; waits: number }>(
        `SELECT phase, waits FROM tasks WHERE id = $1`,
        [id],
      );
      return upstream.calls.length > 0 && rows[0]?.phase === 'queued' && rows[0].waits > 0;
    };
    expect(await waitUntil(isReleased, { timeoutMs: 60_000 })).toBe(true);
  });
  afterAll(async () => {
    await screen.close();
    await platform.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(() => expect(screen.troubles).toEqual([]));

  it('is not called healthy, and every page says until when it takes no requests', async () => {
    await page().goto('/console/operation');
    const card = page().getByRole('article', { name: 'studio' });
    await card.getByText('Keys paused', { exact: true }).waitFor();
    await card.getByText(/^No key can be used\. Next attempt in \d+ s\.$/).waitFor();
    await card.getByText(/^Key main is refused or at its limit; paused for \d+ s\.$/).waitFor();
    await card.getByRole('button', { name: 'Try now: studio' }).waitFor();
    expect(await screen.inspect('operation-keys-paused')).toEqual([]);
    await page().goto('/console/');
    const providers = page().getByRole('region', { name: 'Image providers' });
    await providers.getByText('Keys paused', { exact: true }).waitFor();
    await page()
      .getByRole('region', { name: 'Needs attention' })
      .getByText(/^studio: key main is refused or at its limit, so it gets no requests for \d+ s\.$/)
      .waitFor();
  });

  it('lets no answer promise an earlier end than the pause', async () => {
    const one = await told<{ data: Told }>(`/v1/tasks/${id}`);
    const list = await told<{ data: Told[] }>('/v1/tasks');
    const batch = (await (await platform.call('/v1/tasks/batch', { body: { task_ids: [id] } })).json()) as {
      data: Told[];
    };
    for (const task of [one.data, list.data[0], batch.data[0]]) {
      expect(task?.id).toBe(id);
      expect(task?.estimated_time).toBeGreaterThanOrEqual(PAUSE_SECONDS);
    }
  });
});
