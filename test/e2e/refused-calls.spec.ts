import { waitUntil } from '#embedded/wait-until.js';
import { Browser, signInFirstAdmin, signInInvited } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';

const ORDER = { model: 'gpt-image-2', resolution: '1k', prompt: 'a small harbor' };

interface Refused {
  readonly account: { readonly id: string } | null;
  readonly key: { readonly id: string; readonly name: string } | null;
  readonly code: string;
  readonly status: number;
  readonly count: number;
}
interface Groups {
  readonly data: readonly Refused[];
  readonly total: number;
}
type Minutes = { readonly data: readonly (Refused & { readonly minute: string })[] };
interface Keys {
  readonly data: readonly { readonly id: string; readonly refused_24h: number }[];
}

/** Two APIs, whose counts must add up. */
describe('refused calls', () => {
  let platform: ApiPlatform;
  let second: TestProcess;
  let ada: Browser;
  let max: Browser;
  let eve: Browser;
  let other: string;

  beforeAll(async () => {
    platform = await startApiPlatform({ RATE_SUBMITS_PER_MINUTE: '0', ACCOUNT_LIMIT_FACTOR: '0' });
    second = await startApi(platform.settings);
    ada = await signInFirstAdmin(platform);
    max = await signInInvited(platform, { email: 'max@example.org', role: 'member' });
    other = await platform.newAccount();
    eve = await signInInvited(platform, { email: 'eve@example.org', role: 'admin', accountId: other });
  });
  afterAll(async () => {
    await second.stop();
    await platform.close();
  });

  const groups = (query = '', who = ada) => who.ask<Groups>(`/refused-calls${query}`);
  const counted = async (query: string, count: number, who = ada): Promise<Groups> => {
    expect(await waitUntil(async () => (await groups(query, who)).total >= count, { timeoutMs: 30_000 })).toBe(true);
    return await groups(query, who);
  };
  const submit = (key: string | null, body: unknown = ORDER, at: { url: string } = platform.api) =>
    platform.call('/v1/images/generations/async', { key, body, at });
  const idOf = async (name: string): Promise<string> =>
    ((await platform.pool.query('SELECT id FROM people WHERE email = $1', [name])).rows[0] as { id: string }).id;

  it('counts every call of a flood at two processes, in a row per minute', async () => {
    const { id, key } = await platform.newKeyWithId({ submits_per_minute: 1 });
    await submit(key, {});
    const statuses = await Promise.all(
      Array.from({ length: 101 }, async (_, n) => (await submit(key, ORDER, n % 2 ? second : platform.api)).status),
    );
    // The window of the limit may end meanwhile, and let another call in.
    while (statuses.filter((status) => status === 429).length < 101) statuses.push((await submit(key)).status);
    const limited = 101;
    const { data } = await counted(`?key=${id}&code=rate_limit_exceeded`, limited);
    expect(data).toEqual([
      expect.objectContaining({ key: { id, name: expect.any(String) }, status: 429, count: limited }),
    ]);
    const { data: minutes } = await ada.ask<Minutes>(`/refused-calls/minutes?key=${id}&code=rate_limit_exceeded`);
    expect(minutes.length).toBeLessThanOrEqual(3);
    expect(minutes.reduce((sum, { count }) => sum + count, 0)).toBe(limited);
    const { rows } = await platform.pool.query('SELECT count FROM refused_calls WHERE key_id = $1 AND status = 429', [
      id,
    ]);
    expect(rows).toHaveLength(minutes.length);
    const all = (await groups(`?key=${id}`)).total;
    const { data: keys } = await ada.ask<Keys>('/keys');
    expect(keys.find((one) => one.id === id)?.refused_24h).toBe(all);
  });

  it('counts calls of a revoked key and of a missing permission for their key', async () => {
    const revoked = await platform.newKeyWithId({ revoked_at: new Date() });
    const chats = await platform.newKeyWithId({ scopes: ['chat'] });
    expect((await submit(revoked.key)).status).toBe(401);
    expect((await submit(chats.key)).status).toBe(403);
    expect((await counted(`?key=${revoked.id}`, 1)).data).toMatchObject([{ code: 'invalid_api_key', status: 401 }]);
    expect((await counted(`?key=${chats.id}`, 1)).data).toMatchObject([{ code: 'endpoint_not_allowed', status: 403 }]);
  });

  it('counts calls without a valid key for the installation alone, which operators see', async () => {
    const before = (await groups('?installation=true&code=invalid_api_key')).total;
    const account = (await groups('?code=invalid_api_key')).total;
    for (const key of ['sk-dr-unknown', 'sk-dr-other', null]) expect((await submit(key)).status).toBe(401);
    // A public route, an unknown URL, and the console's own calls are no calls of the API.
    await platform.call('/v1/nothing', { key: null });
    await ada.call('/keys', { method: 'POST', body: {} });
    const { data, total } = await counted('?installation=true&code=invalid_api_key', before + 3);
    expect(total).toBe(before + 3);
    expect(data).toContainEqual(expect.objectContaining({ account: null, key: null, count: 3 }));
    expect((await groups('?code=invalid_api_key')).total).toBe(account);
    expect(JSON.stringify((await platform.pool.query('SELECT * FROM refused_calls')).rows)).not.toContain('sk-dr');
    expect((await eve.call('/refused-calls?installation=true')).status).toBe(403);
  });

  it('shows members those of their own keys, and admins those of their account', async () => {
    const own = await platform.newKeyWithId({ created_by: await idOf('max@example.org') });
    const foreign = await platform.newKeyWithId({}, other);
    await submit(own.key, { ...ORDER, prompt: '' });
    await submit(foreign.key, { ...ORDER, prompt: '' });
    const mine = await counted('', 1, max);
    expect(mine).toMatchObject({ total: 1, data: [{ key: { id: own.id } }] });
    const theirs = await counted('', 1, eve);
    expect(theirs).toMatchObject({ total: 1, data: [{ key: { id: foreign.id } }] });
    expect((await groups(`?key=${foreign.id}`)).total).toBe(0);
    expect((await groups(`?key=${foreign.id}`, max)).total).toBe(0);
    const everything = (await groups('?installation=true')).data.map(({ key }) => key?.id);
    expect(everything).toEqual(expect.arrayContaining([own.id, foreign.id]));
    const { data: keys } = await max.ask<Keys>('/keys');
    expect(keys).toMatchObject([{ id: own.id, refused_24h: 1 }]);
  });

  it('says what is wrong with a query', async () => {
    for (const query of ['?hours=0', '?hours=169', '?hours=x', '?installation=yes', '?kye=x']) {
      expect((await ada.call(`/refused-calls${query}`)).status).toBe(400);
    }
    expect((await new Browser(platform.url).call('/refused-calls')).status).toBe(401);
  });
});
