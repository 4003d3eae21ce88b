import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { signInFirstAdmin, signInInvited, Browser } from '../support/console.js';
import { untilPartialsAreHeard } from '../support/partials-heard.js';
import { startPlatform, type Platform } from '../support/platform.js';

interface TaskBody {
  readonly id: string;
  readonly status: string;
  readonly prompt: string;
  readonly images: { url: string; url_expires_at: string; size: string }[];
  readonly timeline: { event: string }[];
  readonly [field: string]: unknown;
}
interface Page {
  readonly data: TaskBody[];
  readonly has_more: boolean;
  readonly next: string | null;
}

/** Everything that names one task. */
const OF_ONE_TASK = [
  ['GET', ''],
  ['GET', '/events'],
  ['GET', '/inputs/0'],
  ['GET', '/thumbnail'],
  ['POST', '/cancel'],
  ['POST', '/again'],
  ['POST', '/favorite'],
  ['DELETE', '/favorite'],
] as const;

describe('playground and tasks of the console', () => {
  let platform: Platform;
  let ada: Browser;
  const draw = async (body: object): Promise<string> =>
    (await ada.ask<{ task_id: string }>('/images', { body: { model: 'gpt-image-2', resolution: '1k', ...body } }))
      .task_id;
  const find = (id: string): Promise<TaskBody> => ada.ask<TaskBody>(`/tasks/${id}`);
  const ended = async (id: string): Promise<TaskBody> => {
    await waitUntil(async () => (await find(id)).status !== 'pending', { timeoutMs: 30_000 });
    return await find(id);
  };
  /** What the list's image is answered with: its type, or the error's code. */
  const firstLook = async (id: string): Promise<string | null> => {
    const answer = await ada.call(`/tasks/${id}/thumbnail`);
    if (!answer.ok) return ((await answer.json()) as { error: { code: string } }).error.code;
    await answer.body?.cancel();
    return answer.headers.get('content-type');
  };
  /** Event names and data of a whole stream. */
  const events = async (id: string): Promise<[string, Record<string, unknown>][]> => {
    const text = await (await ada.call(`/tasks/${id}/events`)).text();
    return text
      .split('\n\n')
      .filter((block) => block.startsWith('event: '))
      .map((block) => {
        const [name = '', data = ''] = block.split('\n');
        return [name.slice(7), JSON.parse(data.slice(6)) as Record<string, unknown>];
      });
  };

  beforeAll(async () => {
    platform = await startPlatform({ IMAGE_RETENTION_HOURS: '100' });
    ada = await signInFirstAdmin(platform);
  });
  afterAll(() => platform.close());

  it('names the image models', async () => {
    const { data } = await ada.ask<{ data: { id: string; capabilities: object }[] }>('/models');
    expect(data.map(({ id }) => id)).toEqual(['gpt-image-2']);
    expect(data[0]!.capabilities).toMatchObject({ edits: true, masks: true });
  });

  it('draws an image and tells all about its task', async () => {
    const id = await draw({ prompt: 'A red fox', size: '3:2', quality: 'high' });
    const task = await ended(id);
    expect(task).toMatchObject({
      id,
      status: 'completed',
      phase: 'done',
      progress: 100,
      action: 'generation',
      model: 'gpt-image-2',
      provenance: 'marked',
      size: '3:2',
      resolution: '1k',
      prompt: 'A red fox',
      options: { quality: 'high', output_format: 'png' },
      key: { name: 'Playground' },
      webhook_deliveries: [],
      request_id: expect.stringMatching(/^req_/),
      sizes: { requested: expect.any(String), sent: expect.any(String), received: expect.any(String) },
    });
    expect(task.timeline.map(({ event }) => event)).toEqual(['accepted', 'started', 'provider_call', 'completed']);
    expect(task.images[0]!.url).toMatch(/^\/i\//);
    const image = await fetch(platform.url + task.images[0]!.url);
    const end = Date.parse(task.images[0]!.url_expires_at) / 1_000;
    expect(new URL(image.url).searchParams.get('exp')).toBe(String(end));
    expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/png']);
    await image.body?.cancel();
    const keptMs = Date.parse(String(task['images_expire_at'])) - Date.parse(String(task['finished_at']));
    expect(Math.round(keptMs / 1_000)).toBeCloseTo(100 * 3_600, -1);
  });

  it('lists a small copy of the image, which nobody else is told of or can guess the link to', async () => {
    const id = await ended(await draw({ prompt: 'A small fox', size: '16:9' })).then((task) => task.id);
    expect((await find(id))['thumbnail_url']).toBe(`/console/api/tasks/${id}/thumbnail`);
    // A list shows the image itself while the worker has not made the small copy within three seconds.
    const isSmall = async (): Promise<boolean> => (await firstLook(id)) === 'image/webp';
    expect(await waitUntil(isSmall, { timeoutMs: 30_000 })).toBe(true);
    const url = String((await find(id))['thumbnail_url']);
    expect(url).toMatch(new RegExp(`^/i/${id}-1\\.thumb\\.webp\\?exp=`));
    const small = await fetch(platform.url + url);
    expect([small.status, small.headers.get('content-type')]).toEqual([200, 'image/webp']);
    const bytes = Buffer.from(await small.arrayBuffer());
    expect(await sharp(bytes).metadata()).toMatchObject({ format: 'webp', width: 320, height: 180 });
    const { images } = await find(id);
    const guessed = images[0]!.url.replace('.png?', '.thumb.webp?');
    expect((await fetch(platform.url + guessed)).status).toBe(403);
    for (const path of [`/v1/tasks/${id}`, '/v1/tasks?limit=5']) {
      const answer = await platform.call(path);
      expect(answer.status).toBe(200);
      const text = await answer.text();
      expect(text).toContain(id);
      expect(text).not.toContain('thumb');
    }
  });

  it('shows the image itself where it is as small, and nothing of what was deleted', async () => {
    const { id } = await ended(await draw({ prompt: 'An old fox' }));
    const change = (columns: string) => platform.pool.query(`UPDATE tasks SET ${columns} WHERE id = $1`, [id]);
    await change(`images = jsonb_set(jsonb_set(images, '{0,width}', '320'), '{0,height}', '200')`);
    expect((await find(id))['thumbnail_url']).toMatch(/-1\.png\?/);
    expect(await firstLook(id)).toBe('image/png');
    await change('objects_deleted_at = now()');
    expect(await firstLook(id)).toBe('file_not_found');
    const deleted = { thumbnail_url: null, images_deleted_at: expect.stringMatching(/^20/) };
    expect(await find(id)).toMatchObject({ ...deleted, images: [] });
    expect((await ada.ask<Page>('/tasks?limit=1')).data[0]).toMatchObject({ id, ...deleted });
  });

  it('says what an order would cost and how long it would take, before it is one', async () => {
    const quote = (body: object) => ada.call('/quotes', { body: { model: 'gpt-image-2', ...body } });
    const asked = { size: '16:9', resolution: '1k', quality: 'high' };
    const read = async () => (await (await quote(asked)).json()) as Record<string, unknown>;
    expect(await read()).toMatchObject({
      size: '1536x864',
      resolution: '1k',
      quality: 'high',
      within_budget: true,
      cost: { amount: '0.000000', exact: true },
    });
    const isForecast = async (): Promise<boolean> => Number((await read())['estimated_time']) >= 1;
    expect(await waitUntil(isForecast, { timeoutMs: 20_000 })).toBe(true);
    for (const [body, param] of [
      [{ n: 2 }, 'n'],
      [{ size: '5:1' }, 'size'],
      [{ quality: 'hd', action: 'edit' }, 'quality'],
      [{ model: 'none' }, 'model'],
    ] as const) {
      const answer = await quote(body);
      expect([answer.status, await answer.json()]).toMatchObject([400, { error: { param } }]);
    }
  });

  it('says who ordered a task, and keeps the links of favorites', async () => {
    const { id } = await ended(await draw({ prompt: 'A favorite fox' }));
    const { person } = await ada.ask<{ person: { id: string } }>('/session');
    expect(await find(id)).toMatchObject({
      ordered_by: { id: person.id, name: 'Ada' },
      favorite: false,
      sandbox: true,
    });
    // Nobody deletes what is past its retention before it is a favorite.
    platform.worker.kill('SIGSTOP');
    await platform.pool.query(`UPDATE tasks SET finished_at = now() - interval '108 hours' WHERE id = $1`, [id]);
    expect(await find(id)).toMatchObject({ images: [], thumbnail_url: null });
    expect(await ada.ask(`/tasks/${id}/favorite`, { method: 'POST' })).toMatchObject({ id, favorite: true });
    platform.worker.kill('SIGCONT');
    const link = (await find(id)).images[0]!.url;
    expect((await fetch(platform.url + link)).status).toBe(200);
    const listed = async (query: string) => (await ada.ask<Page>(`/tasks?${query}`)).data.map((task) => task.id);
    expect(await listed('favorites=true&text=FAVORITE')).toEqual([id]);
    expect(await listed('favorites=true&text=bear')).toEqual([]);
    expect(await ada.ask(`/tasks/${id}/favorite`, { method: 'DELETE' })).toMatchObject({ favorite: false, images: [] });
    expect(await listed('favorites=true')).toEqual([]);
    await platform.pool.query(`UPDATE tasks SET objects_deleted_at = now() WHERE id = $1`, [id]);
    expect((await ada.call(`/tasks/${id}/favorite`, { method: 'POST' })).status).toBe(400);
    expect(
      (await platform.call('/v1/images/generations', { body: { model: 'gpt-image-2', prompt: 'a key’s' } })).status,
    ).toBe(200);
    expect((await ada.ask<Page>('/tasks?limit=1')).data[0]).toMatchObject({ prompt: 'a key’s', ordered_by: null });
  });

  it('streams the task as it moves, with its partial images', async () => {
    // It draws nothing before somebody listens.
    platform.worker.kill('SIGSTOP');
    const id = await draw({ prompt: 'a slow sea [[latency=2s]]', partial_images: 2 });
    const stream = events(id);
    await untilPartialsAreHeard(platform, id);
    platform.worker.kill('SIGCONT');
    const told = await stream;
    const updates = told.filter(([name]) => name === 'task.updated').map(([, task]) => task);
    // The small copy may come after the last word of the stream.
    const found = await find(id);
    expect(unsigned({ ...updates.at(-1), thumbnail_url: found['thumbnail_url'] })).toEqual(unsigned(found));
    expect(updates.at(-1)).toMatchObject({ id, status: 'completed', images: [{ size: expect.any(String) }] });
    const partials = told.filter(([name]) => name === 'partial').map(([, partial]) => partial);
    expect(partials.map(({ index }) => index)).toEqual([0, 1]);
    expect(partials[0]).toMatchObject({ output_format: 'png', b64_json: expect.stringMatching(/^iVBOR/) });
  });

  it('edits an image with a mask, and draws that again from copies of its images', async () => {
    const form = new FormData();
    const image = await gradientImage(96, 80, 'png', 4);
    for (const name of ['image[]', 'mask'])
      form.set(name, new Blob([new Uint8Array(image)], { type: 'image/png' }), 'a.png');
    for (const [name, value] of Object.entries({ prompt: 'A hat', resolution: '1k' })) form.set(name, value);
    const { task_id: id } = await ada.ask<{ task_id: string }>('/edits', { body: form });
    const first = await ended(id);
    const shown = (name: string) => ({ host: null, url: `/console/api/tasks/${id}/inputs/${name}` });
    expect(first).toMatchObject({ action: 'edit', status: 'completed' });
    expect(first).toMatchObject({ reference_images: [shown('0')], mask: shown('mask') });
    const accountId = await platform.newAccount();
    const eve = await signInInvited(platform, { email: 'eve@example.org', role: 'admin', accountId });
    for (const name of ['0', 'mask']) {
      const sent = await ada.call(`/tasks/${id}/inputs/${name}`);
      expect([sent.status, sent.headers.get('content-type')]).toEqual([200, 'image/png']);
      expect(sent.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
      expect(Buffer.from(await sent.arrayBuffer()).equals(image)).toBe(true);
      expect((await eve.call(`/tasks/${id}/inputs/${name}`)).status).toBe(404);
    }
    for (const name of ['1', 'other']) expect((await ada.call(`/tasks/${id}/inputs/${name}`)).status).toBe(404);
    expect((await fetch(`${platform.url}/console/api/tasks/${id}/inputs/0`)).status).toBe(401);
    const { task_id: again } = await ada.ask<{ task_id: string }>(`/tasks/${id}/again`, { method: 'POST' });
    expect(again).not.toBe(id);
    expect(await ended(again)).toMatchObject({ action: 'edit', status: 'completed', prompt: 'A hat' });
    const { rows } = await platform.pool.query<{ inputs: { key: string }[]; mask: { key: string } }>(
      'SELECT inputs, mask FROM tasks WHERE id = $1',
      [again],
    );
    expect([rows[0]!.inputs[0]!.key, rows[0]!.mask.key]).toEqual([`inputs/${again}/0`, `inputs/${again}/mask`]);
    // Sent again with one key, it is one task, which the audit log has once.
    const keyed = () =>
      ada.ask<{ task_id: string }>(`/tasks/${id}/again`, { method: 'POST', headers: { 'idempotency-key': 'hat-1' } });
    const { task_id: once } = await keyed();
    expect([(await keyed()).task_id, once === again]).toEqual([once, false]);
    const { rows: audited } = await platform.pool.query<{ target: string }>(
      `SELECT target FROM audit_log WHERE action = 'task.made_again' AND details->>'from' = $1 ORDER BY id`,
      [id],
    );
    expect(audited.map(({ target }) => target)).toEqual([again, once]);
  });

  it('cancels a task', async () => {
    const id = await draw({ prompt: 'a slow one [[latency=60s]]' });
    expect(await ada.ask(`/tasks/${id}/cancel`, { method: 'POST' })).toMatchObject({ id, status: 'cancelled' });
  });

  it('shows what went wrong', async () => {
    const task = await ended(await draw({ prompt: '[[fault=moderation]]' }));
    expect(task).toMatchObject({
      status: 'failed',
      error: { code: 'moderation_blocked' },
      images: [],
      thumbnail_url: null,
    });
  });

  it('pages and filters its list', async () => {
    const key = await platform.newKey({ name: 'shop' });
    const ids: string[] = [];
    for (const prompt of ['100% Zebra_x', 'zebra two', 'another', 'ZEBRA three']) {
      const response = await platform.call('/v1/images/generations', {
        key,
        body: { model: 'gpt-image-2', prompt, resolution: '1k' },
      });
      ids.push(response.headers.get('x-task-id') ?? '');
      await response.body?.cancel();
    }
    const prompts = async (query: string): Promise<string[]> =>
      (await ada.ask<Page>(`/tasks?${query}`)).data.map(({ prompt }) => prompt);
    const first = await ada.ask<Page>('/tasks?limit=2');
    expect(first).toMatchObject({ has_more: true, next: ids[2], data: [{ id: ids[3] }, { id: ids[2] }] });
    const { rows } = await platform.pool.query<{ id: string }>(`SELECT id FROM api_keys WHERE name = 'shop'`);
    expect(first.data[0]).toMatchObject({
      key: { id: rows[0]!.id, name: 'shop' },
      thumbnail_url: `/console/api/tasks/${ids[3]}/thumbnail`,
    });
    expect((await ada.ask<Page>(`/tasks?limit=2&after=${first.next}`)).data.map(({ id }) => id)).toEqual([
      ids[1],
      ids[0],
    ]);
    expect(await prompts('text=zebra')).toEqual(['ZEBRA three', 'zebra two', '100% Zebra_x']);
    expect(await prompts('text=%25%20zebra_')).toEqual(['100% Zebra_x']);
    expect(await prompts(`text=${ids[2]}`)).toEqual(['another']);
    const { request_id: requestId } = await find(ids[3]!);
    expect(await prompts(`text=${String(requestId)}`)).toEqual(['ZEBRA three']);
    expect(await prompts(`text=${String(requestId)}&status=failed`)).toEqual([]);
    expect(await prompts(`key=${rows[0]!.id}&limit=50`)).toHaveLength(4);
    expect(await prompts('status=failed')).toEqual(['[[fault=moderation]]']);
    expect(await prompts('model=other')).toEqual([]);
    expect(await prompts('provider=sandbox&text=zebra')).toHaveLength(3);
    expect(await prompts('provider=other')).toEqual([]);
    const [oldest, ...others] = await prompts(`key=${rows[0]!.id}&order=oldest`);
    expect([oldest, others.at(-1)]).toEqual(['100% Zebra_x', 'ZEBRA three']);
    const page = await ada.ask<Page>(`/tasks?key=${rows[0]!.id}&order=oldest&limit=1`);
    expect(await prompts(`key=${rows[0]!.id}&order=oldest&limit=2&after=${page.next}`)).toEqual([
      'zebra two',
      'another',
    ]);
    const { created_at: third } = await find(ids[2]!);
    expect(await prompts(`key=${rows[0]!.id}&from=${String(third)}`)).toEqual(['ZEBRA three', 'another']);
    expect(await prompts(`key=${rows[0]!.id}&to=${String(third)}`)).toEqual(['zebra two', '100% Zebra_x']);
    // By figures that no index knows, page by page.
    const set = `UPDATE tasks SET finished_at = created_at + $2 * interval '1 s', cost = $3 WHERE id = $1`;
    for (const [index, [seconds, settled]] of [
      ...[
        [3, 2_000],
        [40, 1_000],
      ],
      ...[
        [1, 9_000],
        [20, null],
      ],
    ].entries()) {
      const cost = settled === null ? null : { reserved: settled, settled, currency: 'USD' };
      await platform.pool.query(set, [ids[index], seconds, JSON.stringify(cost)]);
    }
    const ordered = async (order: string) => await prompts(`key=${rows[0]!.id}&order=${order}`);
    expect(await ordered('longest')).toEqual(['zebra two', 'ZEBRA three', '100% Zebra_x', 'another']);
    expect(await ordered('shortest')).toEqual(['another', '100% Zebra_x', 'ZEBRA three', 'zebra two']);
    expect(await ordered('costliest')).toEqual(['another', '100% Zebra_x', 'zebra two', 'ZEBRA three']);
    const cheap = await ada.ask<Page>(`/tasks?key=${rows[0]!.id}&order=cheapest&limit=2`);
    expect(cheap).toMatchObject({ has_more: true, data: [{ prompt: 'zebra two' }, { prompt: '100% Zebra_x' }] });
    expect(await prompts(`key=${rows[0]!.id}&order=cheapest&after=${cheap.next}`)).toEqual(['another', 'ZEBRA three']);
    const count = async (query: string) => await ada.ask(`/tasks/count?${query}`);
    expect(await count(`key=${rows[0]!.id}`)).toEqual({ count: 4, has_more: false, sortable: true });
    expect(await count(`key=${rows[0]!.id}&status=failed`)).toEqual({ count: 0, has_more: false, sortable: true });
    expect(await count('status=failed')).toEqual({ count: 1, has_more: false, sortable: true });
    expect(await count('text=zebra')).toEqual({ count: null, has_more: true, sortable: false });
    const played = (await ada.ask<Page>('/tasks?key=playground&limit=100')).data;
    expect(new Set(played.map(({ key }) => (key as { name: string }).name))).toEqual(new Set(['Playground']));
  });

  it('does something to all tasks that match, of the account alone, and says before what that would be', async () => {
    const none = { count: 0, first: [], refused: [], has_more: false, next: null, cost: null, unpriced: 0 };
    const id = await draw({ prompt: 'slow, in bulk [[latency=60s]]' });
    const accountId = await platform.newAccount();
    const eve = await signInInvited(platform, { email: 'eva@example.org', role: 'admin', accountId });
    const member = await signInInvited(platform, { email: 'mia@example.org', role: 'member' });
    expect(await eve.ask('/tasks/cancel', { method: 'POST' })).toEqual(none);
    expect(await eve.ask('/tasks/retry', { method: 'POST' })).toEqual({ ...none, cost: expect.anything() as object });
    expect(await ada.ask('/tasks/cancel?dry_run=true&text=in%20bulk', { method: 'POST' })).toEqual({
      ...none,
      count: 1,
      first: [{ task_id: id, prompt: 'slow, in bulk [[latency=60s]]', cost: null }],
    });
    expect((await find(id)).status).toBe('pending');
    expect(await ada.ask('/tasks/cancel?text=in%20bulk', { method: 'POST' })).toEqual({ ...none, count: 1 });
    expect((await find(id)).status).toBe('cancelled');
    expect((await member.call('/tasks/retry', { method: 'POST' })).status).toBe(403);
    expect((await ada.call('/tasks/cancel?status=pending', { method: 'POST' })).status).toBe(400);
    // What was moderated would be again.
    expect(await ada.ask('/tasks/retry', { method: 'POST' })).toMatchObject({
      count: 0,
      has_more: false,
      refused: [
        { code: 'invalid_value', message: 'The provider rejected the prompt or an image, and would reject it again.' },
      ],
    });
    const table = await (await ada.call('/tasks.csv?status=failed')).text();
    expect(table.split('\r\n').filter((line) => line.startsWith('task_'))).toEqual([
      expect.stringMatching(/,failed,moderation_blocked,/),
    ]);
    expect(await (await eve.call('/tasks.csv')).text()).toMatch(/^id,[^\n]*\r\n$/);
  });

  it('shows members what they ordered and what their keys made, and answers for the rest as for none', async () => {
    const accountId = await platform.newAccount();
    const join = (name: string, role: 'admin' | 'member' | 'viewer') =>
      signInInvited(platform, { email: `${name}@scope.example`, role, accountId });
    const boss = await join('boss', 'admin');
    const mia = await join('mia', 'member');
    const kim = await join('kim', 'member');
    const viewer = await join('vic', 'viewer');
    const order = async (who: Browser, prompt: string) =>
      (await who.ask<{ task_id: string }>('/images', { body: { model: 'gpt-image-2', resolution: '1k', prompt } }))
        .task_id;
    const newKey = async (who: Browser, name: string) =>
      await who.ask<{ key: { id: string }; secret: string }>('/keys', { body: { name } });
    const make = async ({ secret }: { secret: string }, prompt: string) =>
      (
        await platform.call('/v1/images/generations', { key: secret, body: { model: 'gpt-image-2', prompt } })
      ).headers.get('x-task-id')!;
    const keys = [await newKey(boss, 'shop'), await newKey(mia, 'mia'), await newKey(kim, 'kim')] as const;
    // A key that was rotated stays hers.
    const again = await mia.ask<{ secret: string }>(`/keys/${keys[1].key.id}/rotate`, { body: { overlap_hours: 1 } });
    const foreign = [
      ...[await order(boss, 'a fox of the boss'), await order(kim, 'a fox of Kim')],
      ...[await make(keys[0], 'a fox of the shop'), await make(keys[2], 'a fox of Kim’s key')],
    ];
    const own = [
      await order(mia, 'a fox of Mia'),
      await make(keys[1], 'a fox, old key'),
      await make(again, 'a fox, new'),
    ];
    const all = [...foreign, ...own].sort();
    const count = async (who: Browser, query = '') => (await who.ask<{ count: number }>(`/tasks/count${query}`)).count;
    const areDone = async (): Promise<boolean> => (await count(boss, '?status=completed')) === all.length;
    expect(await waitUntil(areDone, { timeoutMs: 30_000 })).toBe(true);
    const ids = async (who: Browser, query = ''): Promise<string[]> =>
      (await who.ask<Page>(`/tasks${query}`)).data.map(({ id }) => id).sort();
    const exported = async (who: Browser): Promise<string[]> =>
      (await (await who.call('/tasks.csv')).text()).match(/^task_\w+/gm)!.sort();
    for (const who of [boss, viewer])
      expect([await ids(who), await exported(who), await count(who)]).toEqual([all, all, 7]);
    for (const query of [
      '',
      '?status=completed',
      '?order=oldest',
      '?order=longest',
      '?text=fox',
      '?provider=sandbox',
    ]) {
      expect([query, await ids(mia, query)]).toEqual([query, [...own].sort()]);
    }
    expect([await exported(mia), await count(mia), await count(mia, '?status=completed')]).toEqual([own.sort(), 3, 3]);
    expect(await ids(mia, `?key=${keys[1].key.id}`)).toHaveLength(1);
    expect(await ids(mia, '?key=playground')).toHaveLength(1);
    expect(await ids(mia, `?key=${keys[2].key.id}`)).toEqual([]);
    const names = async (who: Browser) => (await who.ask<{ data: { name: string }[] }>('/keys/names')).data.length;
    expect([await names(mia), await names(viewer)]).toEqual([2, 4]);
    for (const id of foreign) {
      expect(await ids(mia, `?text=${id}`)).toEqual([]);
      for (const query of [`?after=${id}`, `?after=${id}&text=fox`]) expect(await ids(mia, query)).toEqual([]);
      for (const [method, path] of OF_ONE_TASK) {
        const answers = [id, 'task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A'].map(async (name) => {
          const answer = await mia.call(`/tasks/${name}${path}`, { method });
          return [answer.status, ((await answer.json()) as { error: object }).error];
        });
        expect(await answers[0]).toEqual(await answers[1]);
        expect((await answers[0])?.[0]).toBe(404);
      }
    }
    for (const id of own) expect(await mia.ask(`/tasks/${id}`)).toMatchObject({ id, status: 'completed' });
    // Of favorites and of what waits, too.
    const slow = [await order(kim, 'slow [[latency=60s]]'), await order(mia, 'slow [[latency=60s]]')];
    expect(await ids(mia, '?status=pending')).toEqual([slow[1]]);
    await boss.ask(`/tasks/${foreign[0]}/favorite`, { method: 'POST' });
    await mia.ask(`/tasks/${own[0]}/favorite`, { method: 'POST' });
    expect(await ids(mia, '?favorites=true')).toEqual([own[0]]);
    expect(await mia.ask('/tasks/cancel?dry_run=true', { method: 'POST' })).toMatchObject({ count: 1 });
    expect(await mia.ask('/tasks/cancel', { method: 'POST' })).toMatchObject({ count: 1 });
    expect(await kim.ask(`/tasks/${slow[0]}`)).toMatchObject({ status: 'pending' });
    expect(await kim.ask('/tasks/cancel', { method: 'POST' })).toMatchObject({ count: 1 });
    // A failed task that an admin retries stays the member's.
    const failed = await order(mia, 'fails [[fault=http-500]]');
    const hasFailed = async (): Promise<boolean> => (await ids(mia, '?status=failed')).includes(failed);
    expect(await waitUntil(hasFailed, { timeoutMs: 30_000 })).toBe(true);
    await boss.ask('/tasks/retry', { method: 'POST' });
    const { retried_as: retry } = await mia.ask<{ retried_as: string }>(`/tasks/${failed}`);
    expect(await mia.ask(`/tasks/${retry}`)).toMatchObject({ ordered_by: { name: 'Somebody' } });
  });

  it.each(['limit=0', 'limit=101', 'status=odd', 'after=x', 'other=1', `text=${'x'.repeat(201)}`])(
    'refuses a list with %s',
    async (query) => {
      expect((await ada.call(`/tasks?${query}`)).status).toBe(400);
    },
  );

  it('needs a session before it reads anything', async () => {
    const nobody = new Browser(platform.url);
    for (const path of ['/images', '/edits']) {
      expect((await nobody.call(path, { body: { prompt: 'x' } })).status).toBe(401);
    }
    expect((await ada.call('/images', { body: { prompt: 7 } })).status).toBe(400);
    expect((await ada.call('/images', { body: { prompt: 'x', model: 'none' } })).status).toBe(400);
  });

  it("answers for another account's tasks as for none", async () => {
    const id = await draw({ prompt: 'mine alone' });
    const accountId = await platform.newAccount();
    const eve = await signInInvited(platform, { email: 'eve@example.org', role: 'admin', accountId });
    expect(await eve.ask('/tasks')).toEqual({ data: [], has_more: false, next: null, searched_until: null });
    for (const [method, path] of OF_ONE_TASK) {
      const answers = [
        await eve.call(`/tasks/${id}${path}`, { method }),
        await eve.call(`/tasks/task_01JD0Z8Q4M0W3E5V6T7R8Y9X0A${path}`, { method }),
      ];
      expect(answers.map(({ status }) => status)).toEqual([404, 404]);
      const [foreign, unknown] = (await Promise.all(answers.map((answer) => answer.json()))) as { error: object }[];
      expect(foreign!.error).toEqual(unknown!.error);
    }
    expect((await ended(id)).status).toBe('completed');
    const { rows } = await platform.pool.query(`SELECT 1 FROM api_keys WHERE hidden AND account_id = $1`, [accountId]);
    expect(rows).toEqual([]);
    expect((await ada.ask<{ data: { name: string }[] }>('/keys')).data.map(({ name }) => name)).not.toContain(
      'Playground',
    );
  });
});

/** Without what differs from second to second: the signatures of links, and when they expire. */
function unsigned(task: unknown): unknown {
  const text = JSON.stringify(task).replaceAll(/exp=\d+&sig=[\w-]+/g, '');
  return JSON.parse(text, (name, value: unknown) => (name === 'url_expires_at' ? undefined : value));
}
