import { signInFirstAdmin, type Browser } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

interface Page {
  readonly data: readonly { readonly id: string }[];
  readonly has_more: boolean;
  readonly next: string | null;
}
interface Usage {
  readonly data: readonly { readonly group: string | null; readonly spend: string }[];
  readonly groups: readonly { readonly group: string | null; readonly spend: string; readonly images: number }[];
  readonly total: { readonly spend: string; readonly images: number };
}

describe('tasks and usage by end user and tag, over HTTP', () => {
  let platform: ApiPlatform;
  let ada: Browser;
  let key: string;
  let ids: string[];
  beforeAll(async () => {
    platform = await startApiPlatform();
    ada = await signInFirstAdmin(platform);
    const made = await ada.ask<{ secret: string; key: object }>('/keys', {
      body: { name: 'shop', end_users: 'forward', tags: ['shop'] },
    });
    expect(made.key).toMatchObject({ end_users: 'forward', tags: ['shop'] });
    key = made.secret;
    ids = [];
    for (const [user, tag] of [
      ['ann', 'x'],
      ['bob', 'x'],
      ['ann', 'y'],
    ] as const) {
      const response = await platform.call('/v1/images/generations/async', {
        key,
        headers: { 'x-darkroom-end-user': user, 'x-darkroom-tags': tag },
        body: { model: 'gpt-image-2', prompt: `for ${user}` },
      });
      expect(response.status).toBe(202);
      ids.push(response.headers.get('x-task-id') ?? '');
    }
  });
  afterAll(() => platform.close());

  const list = async (query: string, as = key): Promise<Page> =>
    (await (await platform.call(`/v1/tasks?${query}`, { key: as })).json()) as Page;
  const idsOf = ({ data }: Page): string[] => data.map(({ id }) => id);

  it('a caller lists them, page by page, and only what its key may see', async () => {
    const [first = '', second = '', third = ''] = ids;
    expect(idsOf(await list('end_user=ann'))).toEqual([third, first]);
    expect(idsOf(await list('tag=shop'))).toEqual([third, second, first]);
    expect(idsOf(await list('end_user=ann&tag=y&status=pending'))).toEqual([third]);
    expect(await list('end_user=nobody')).toEqual({ object: 'list', data: [], has_more: false, next: null });
    const page = await list('end_user=ann&limit=1');
    expect([idsOf(page), page.has_more, page.next]).toEqual([[third], true, third]);
    expect(idsOf(await list(`end_user=ann&limit=1&after=${third}`))).toEqual([first]);
    expect(idsOf(await list('tag=shop', await platform.newKey({ tasks: 'own' })))).toEqual([]);
    const foreign = await platform.newKey({}, await platform.newAccount());
    expect(idsOf(await list('tag=shop', foreign))).toEqual([]);
    const twice = await platform.call('/v1/tasks?tag=a&tag=b', { key });
    expect(twice.status).toBe(400);
  });

  it('the console lists, counts, and shows them', async () => {
    const [first = '', , third = ''] = ids;
    expect(idsOf(await ada.ask<Page>('/tasks?end_user=ann'))).toEqual([third, first]);
    expect(idsOf(await ada.ask<Page>('/tasks?end_user=ann&text=for&tag=x'))).toEqual([first]);
    expect(await ada.ask('/tasks/count?tag=shop&end_user=ann')).toMatchObject({ count: 2 });
    expect(await ada.ask(`/tasks/${first}`)).toMatchObject({ end_user: 'ann', tags: ['x', 'shop'] });
    const view = { name: 'ann', end_user: 'ann', tag: 'x' };
    await ada.ask('/task-views', { body: view });
    expect(await ada.ask('/task-views')).toMatchObject({
      data: [{ name: 'ann', filters: { end_user: 'ann', tag: 'x' } }],
    });
  });

  it('a bulk action changes only what they match', async () => {
    const dry = await ada.ask<object>('/tasks/cancel?end_user=bob&dry_run=true', { body: {} });
    expect(JSON.stringify(dry)).not.toContain(ids[0]);
    await ada.ask('/tasks/cancel?end_user=bob', { body: {} });
    const { rows } = await platform.pool.query<{ id: string }>(`SELECT id FROM tasks WHERE status = 'cancelled'`);
    expect(rows.map(({ id }) => id)).toEqual([ids[1]]);
  });

  it('usage is grouped by them, or of one, and its parts add up', async () => {
    await platform.pool.query(
      `UPDATE tasks SET cost = '{"reserved":1000001,"currency":"USD","settled":1000001}', status = 'completed', phase = 'done',
        finished_at = now(), images = '[{}]' WHERE status = 'pending'`,
    );
    const byUser = await ada.ask<Usage>('/usage?group=end_user');
    expect(byUser.groups.map(({ group, spend, images }) => [group, spend, images])).toEqual([
      ['ann', '2.000002', 2],
      ['bob', '0.000000', 0],
    ]);
    expect(byUser.total).toMatchObject({ spend: '2.000002', images: 2 });
    const byTag = await ada.ask<Usage>('/usage?group=tag');
    expect(byTag.groups.map(({ group, images }) => [group, images])).toEqual([
      ['shop', 2],
      ['x', 1],
      ['y', 1],
    ]);
    expect(byTag.total.images).toBe(2);
    expect((await ada.ask<Usage>('/usage?tag=y')).total).toMatchObject({ spend: '1.000001', images: 1 });
    const csv = await (await ada.call('/usage.csv?end_user=ann')).text();
    expect(csv).toContain(',ann,2,0,2.000002,USD,');
    for (const query of ['group=tag&by=hour', 'end_user=ann&model=gpt-image-2', 'end_user=ann&tag=x']) {
      expect([query, (await ada.call(`/usage?${query}`)).status]).toEqual([query, 400]);
    }
    expect((await ada.call('/usage/latency?end_user=ann')).status).toBe(400);
  });
});
