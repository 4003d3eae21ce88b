import { waitUntil } from '#embedded/wait-until.js';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { lineOf, startBatch } from '../support/batches.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { startPlatform, type Platform } from '../support/platform.js';

const MODELS = `providers:
  sandbox: { type: sandbox }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: sandbox }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 0.02, 2k: 0.04, 4k: 0.16 } }]
`;
const BODY = { model: 'gpt-image-2', resolution: '1k', prompt: 'one of many' };

interface Shown {
  readonly id: string;
  readonly status: string;
  readonly file_name: string;
  readonly completed: number;
  readonly spent: { readonly amount: string; readonly currency: string };
  readonly failed_lines: readonly { readonly custom_id: string; readonly code: string }[];
  readonly files: readonly string[];
}

describe('batches of the console', () => {
  let folder: string;
  let platform: Platform;
  let accountId: string;
  let admin: Browser;
  let member: Browser;
  let stranger: Browser;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-console-batches-'));
    await writeFile(join(folder, 'models.yaml'), MODELS);
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml') });
    await signInFirstAdmin(platform);
    accountId = await platform.newAccount();
    const invited = (name: string, role: 'admin' | 'member', account = accountId) =>
      signInInvited(platform, { email: `${name}@example.org`, role, accountId: account });
    admin = await invited('admin', 'admin');
    member = await invited('member', 'member');
    stranger = await invited('stranger', 'admin', await platform.newAccount());
  });
  afterAll(async () => {
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function create(who: Browser, lines: readonly object[], endpoint = ''): Promise<Response> {
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new Blob([lines.map((line) => JSON.stringify(line)).join('\n')]), 'pears.jsonl');
    return await who.call(`/batches${endpoint && `?endpoint=${encodeURIComponent(endpoint)}`}`, { body: form });
  }
  async function ended(who: Browser, id: string): Promise<Shown> {
    let batch: Shown | undefined;
    const hasEnded = async (): Promise<boolean> => {
      batch = await who.ask<Shown>(`/batches/${id}`);
      return ['failed', 'completed', 'cancelled'].includes(batch.status);
    };
    expect(await waitUntil(hasEnded, { timeoutMs: 60_000 })).toBe(true);
    return batch as Shown;
  }
  const idsOf = async (who: Browser): Promise<string[]> =>
    (await who.ask<{ data: Shown[] }>('/batches')).data.map(({ id }) => id);

  it('belong to the user who started them, as their tasks do, and are the admin’s to see', async () => {
    const created = await create(member, [
      lineOf('a', BODY),
      lineOf('b', { ...BODY, size: 'huge' }),
      lineOf('c', BODY),
    ]);
    expect(created.status).toBe(200);
    const { id } = (await created.json()) as Shown;
    const batch = await ended(member, id);
    expect(batch).toMatchObject({
      status: 'completed',
      file_name: 'pears.jsonl',
      completed: 2,
      failed: 1,
      spent: { amount: '0.040000', currency: 'USD' },
      failed_lines: [{ custom_id: 'b', code: 'invalid_value' }],
      files: ['input', 'output', 'errors'],
    });
    const { key } = await platform.newKeyWithId({}, accountId);
    const ofKey = await startBatch(platform, [lineOf('a', BODY)], { key });
    expect(await idsOf(member)).toEqual([id]);
    expect(await idsOf(admin)).toEqual([ofKey.id, id]);
    expect(await idsOf(stranger)).toEqual([]);
    for (const [who, batchId] of [
      [member, ofKey.id],
      [stranger, id],
    ] as const) {
      for (const path of [`/batches/${batchId}`, `/batches/${batchId}/files/input`]) {
        expect((await who.call(path)).status).toBe(404);
      }
      expect((await who.call(`/batches/${batchId}/cancel`, { method: 'POST' })).status).toBe(404);
    }
    const tasks = await member.ask<{ data: readonly object[] }>('/tasks');
    expect(tasks.data).toHaveLength(2);
    const output = await member.call(`/batches/${id}/files/output`);
    expect(output.headers.get('content-disposition')).toBe(`attachment; filename="${id}_output.jsonl"`);
    expect((await output.text()).trimEnd().split('\n')).toHaveLength(2);
    expect((await member.call(`/batches/${id}/files/other`)).status).toBe(404);
    const audit = await admin.ask<{ data: { sentence: string }[] }>('/audit');
    expect(JSON.stringify(audit)).toContain('started a batch from');
  });

  it('show failed lines while others still run', async () => {
    await platform.worker.stop();
    const created = await create(member, [lineOf('waits', BODY), lineOf('fails', { ...BODY, size: 'huge' })]);
    const { id } = (await created.json()) as Shown;
    let batch: Shown | undefined;
    const shown = async (): Promise<boolean> => {
      batch = await member.ask<Shown>(`/batches/${id}`);
      return batch.failed_lines.length === 1;
    };
    expect(await waitUntil(shown, { timeoutMs: 60_000 })).toBe(true);
    expect(batch).toMatchObject({
      status: 'in_progress',
      failed_lines: [{ custom_id: 'fails', code: 'invalid_value' }],
      files: ['input'],
    });
    expect((await admin.call(`/batches/${id}/cancel`, { method: 'POST' })).status).toBe(200);
    expect(await ended(member, id)).toMatchObject({ status: 'cancelled', spent: { amount: '0.000000' } });
  });

  it.each([
    ['an endpoint that is none', '/v1/videos', 400],
    ['lines of edits, which are checked as such', '/v1/images/edits', 200],
  ])('take %s', async (_what, endpoint, status) => {
    expect((await create(member, [lineOf('a', BODY)], endpoint)).status).toBe(status);
  });
});
