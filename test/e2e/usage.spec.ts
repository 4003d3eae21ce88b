import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { startPlatform, type Platform } from '../support/platform.js';

const GENERATIONS = '/v1/images/generations';
const DAY = 86_400;

interface Figures {
  readonly images: number;
  readonly spend: string;
}
interface Usage {
  readonly total: Figures;
  readonly groups: readonly (Figures & { readonly group: string | null })[];
  readonly data: readonly (Figures & { readonly group: string | null; readonly time: number })[];
  readonly [more: string]: unknown;
}

describe('usage over the API', () => {
  let platform: Platform;
  let folder: string;
  let account: string;
  let key: string;
  let ownKey: string;
  let ids: string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'darkroom-usage-'));
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  paid: { type: sandbox }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: paid }]
    prices: [{ from: 2026-01-01, per_image: { 1k: { auto: 0.020001, high: 0.03 }, 2k: 0.04, 4k: 0.16 } }]
`,
    );
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml') });
    account = await platform.newAccount();
    key = await platform.newKey({ name: 'shop', end_users: 'forward' }, account);
    ownKey = await platform.newKey({ name: 'kiosk', end_users: 'forward', tasks: 'own' }, account);
    ids = [
      await generate(key, { user: 'ann', tags: ['a', 'b'] }),
      await generate(key, { user: 'bob', tags: ['b'] }),
      await generate(ownKey, { user: 'ann' }),
      await generate(ownKey, {}),
    ];
    await generate(platform.key, { tags: ['a'] });
  });
  afterAll(async () => {
    await platform.close();
    await rm(folder, { recursive: true, force: true });
  });

  let count = 0;
  async function generate(by: string, fields: object): Promise<string> {
    const body = { model: 'gpt-image-2', prompt: `a pear, number ${++count}`, resolution: '1k', ...fields };
    const answer = await platform.call(GENERATIONS, { key: by, body });
    expect(answer.status).toBe(200);
    return answer.headers.get('x-task-id') ?? '';
  }
  async function usage(by: string, query = ''): Promise<Usage> {
    const answer = await platform.call(`/v1/usage${query}`, { key: by });
    expect(answer.status).toBe(200);
    return (await answer.json()) as Usage;
  }
  async function refusal(by: string, query: string): Promise<unknown[]> {
    const answer = await platform.call(`/v1/usage${query}`, { key: by });
    const { error } = (await answer.json()) as { error: Record<string, unknown> };
    return [answer.status, error['code'], error['param']];
  }
  const imagesOf = ({ groups }: Usage) =>
    Object.fromEntries(groups.map(({ group, images }) => [group, images])) as Record<string, number>;
  const micros = (amount: string): number => Math.round(Number(amount) * 1e6);
  const sumOf = (rows: readonly Figures[]): number => rows.reduce((sum, { spend }) => sum + micros(spend), 0);

  it('by model, key, and end user adds up to the ledger', async () => {
    const { rows } = await platform.pool.query<{ amount: string }>(
      `SELECT sum(amount_micros)::text AS amount FROM charges WHERE account_id = $1 AND kind = 'settle'`,
      [account],
    );
    const ledger = Number(rows[0]?.amount);
    expect(ledger).toBe(4 * 20_001);
    for (const query of ['', '?group_by=model', '?group_by=key', '?group_by=end_user']) {
      const found = await usage(key, query);
      expect([query, found.total.images, micros(found.total.spend)]).toEqual([query, 4, ledger]);
      expect([query, sumOf(found.groups), sumOf(found.data)]).toEqual([query, ledger, ledger]);
    }
    expect(imagesOf(await usage(key, '?group_by=key'))).toEqual({ shop: 2, kiosk: 2 });
    expect(imagesOf(await usage(key, '?group_by=end_user'))).toEqual({ ann: 2, bob: 1, null: 1 });
    const tags = await usage(key, '?group_by=tag');
    expect([imagesOf(tags), tags.total.images]).toEqual([{ a: 1, b: 2 }, 4]);
    expect(imagesOf(await usage(key, '?end_user=ann'))).toEqual({ ann: 2 });
    expect(imagesOf(await usage(key, '?group_by=tag&tag=a'))).toEqual({ a: 1 });
  });

  it('is by day, within the time that is asked for', async () => {
    const found = await usage(key);
    const { start, end } = found as unknown as { start: number; end: number };
    expect(found).toMatchObject({ object: 'usage', group_by: 'model', currency: 'USD' });
    expect(end - start).toBe(30 * DAY);
    expect(found.data.every(({ time }) => time % DAY === 0)).toBe(true);
    const before = await usage(key, `?start=${start - 9 * DAY}&end=${start - DAY}`);
    expect(before).toMatchObject({ data: [], groups: [], total: { images: 0, spend: '0.000000' } });
  });

  it('of a key that sees its own tasks is its own', async () => {
    expect(imagesOf(await usage(ownKey, '?group_by=key'))).toEqual({ kiosk: 2 });
    expect((await usage(ownKey)).total.images).toBe(2);
    for (const query of ['?group_by=end_user', '?group_by=tag', '?end_user=ann', '?tag=a'])
      expect(await refusal(ownKey, query)).toEqual([403, 'endpoint_not_allowed', 'group_by']);
  });

  it('needs a key that may read tasks', async () => {
    const chats = await platform.newKey({ scopes: ['chat'] }, account);
    expect(await refusal(chats, '')).toEqual([403, 'endpoint_not_allowed', null]);
    expect((await platform.call('/v1/usage', { key: null })).status).toBe(401);
  });

  it.each([
    ['?group_by=provider', 'invalid_value', 'group_by'],
    ['?start=abc', 'invalid_type', 'start'],
    ['?start=1000&end=1000', 'invalid_value', 'start'],
    ['?start=0', 'invalid_value', 'start'],
    ['?end_user=a&tag=b', 'invalid_value', 'tag'],
    ['?end_user=a&group_by=key', 'invalid_value', 'group_by'],
  ])('refuses %s', async (query, code, param) => {
    expect(await refusal(key, query)).toEqual([400, code, param]);
  });

  it('a task shows its end user and its tags, in polls and lists', async () => {
    const shown = async (id: string) => {
      const { data } = (await (await platform.call(`/v1/tasks/${id}`, { key })).json()) as { data: object };
      return data;
    };
    expect(await shown(ids[0] ?? '')).toMatchObject({ end_user: 'ann', tags: ['a', 'b'] });
    expect(await shown(ids[2] ?? '')).toMatchObject({ end_user: 'ann' });
    expect(await shown(ids[2] ?? '')).not.toHaveProperty('tags');
    expect(await shown(ids[3] ?? '')).not.toHaveProperty('end_user');
    const listed = (await (await platform.call('/v1/tasks', { key })).json()) as { data: { id: string }[] };
    expect(listed.data.find(({ id }) => id === ids[1])).toMatchObject({ end_user: 'bob', tags: ['b'] });
    const later = `${GENERATIONS}/async`;
    const accepted = await platform.call(later, { key, body: { model: 'gpt-image-2', prompt: 'a plum', user: 'eve' } });
    const id = accepted.headers.get('x-task-id') ?? '';
    await waitUntil(async () => 'completed' in (await shown(id)), { timeoutMs: 60_000 });
    expect(await shown(id)).toMatchObject({ status: 'completed', end_user: 'eve' });
  });
});
