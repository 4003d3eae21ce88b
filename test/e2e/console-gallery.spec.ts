import { waitUntil } from '#embedded/wait-until.js';
import { newTaskId } from '#tasks/row/task-id.js';
import { signInFirstAdmin, signInInvited, type Browser } from '../support/console.js';
import { insertFailed } from '../support/failed-task.js';
import { startPlatform, type Platform } from '../support/platform.js';

interface Row {
  readonly id: string;
  readonly prompt: string;
  readonly image_count: number;
}
interface Page {
  readonly data: Row[];
  readonly next: string | null;
}
interface Task extends Row {
  readonly images: { url: string; file_name: string }[];
}

describe('the gallery of the console', () => {
  let platform: Platform;
  let ada: Browser;
  let grace: Browser;
  let graceId: string;
  let provider: string;
  const ids: Record<string, string> = {};
  const order = async (who: Browser, prompt: string): Promise<void> => {
    const body = { model: 'gpt-image-2', prompt, resolution: '1k' };
    ids[prompt] = (await who.ask<{ task_id: string }>('/images', { body })).task_id;
  };
  const listed = async (who: Browser, query = ''): Promise<string[]> =>
    (await who.ask<Page>(`/tasks?images=true${query}`)).data.map(({ prompt }) => prompt);
  const codeOf = async (answer: Response): Promise<string> =>
    ((await answer.json()) as { error: { code: string } }).error.code;
  const zip = (who: Browser, names: readonly string[]): Promise<Response> =>
    who.call(`/tasks/images.zip?ids=${names.join(',')}`);

  beforeAll(async () => {
    platform = await startPlatform();
    ada = await signInFirstAdmin(platform);
    grace = await signInInvited(platform, { email: 'grace@example.org', role: 'member' });
    graceId = (await grace.ask<{ person: { id: string } }>('/session')).person.id;
    for (const prompt of ['old', 'A red fox', 'deleted']) await order(ada, prompt);
    await order(grace, 'A boat of Grace');
    const isDone = async (): Promise<boolean> =>
      (await platform.pool.query(`SELECT 1 FROM tasks WHERE status <> 'completed'`)).rowCount === 0;
    expect(await waitUntil(isDone, { timeoutMs: 60_000 })).toBe(true);
    const { pool } = platform;
    provider = (await pool.query<{ provider: string }>('SELECT DISTINCT provider FROM tasks')).rows[0]!.provider;
    await pool.query(`UPDATE tasks SET objects_deleted_at = now() WHERE id = $1`, [ids['deleted']]);
    // Before it is past its retention, which may end it at any time.
    await ada.ask(`/tasks/${ids['old']}/favorite`, { method: 'POST' });
    const long = `created_at = created_at - interval '30 days', finished_at = finished_at - interval '30 days'`;
    await pool.query(`UPDATE tasks SET ${long} WHERE id = $1`, [ids['old']]);
    await insertFailed(platform, { prompt: 'failed' });
  });
  afterAll(() => platform.close());

  it('lists the images that are stored, newest first, to admins all, to members their own', async () => {
    expect(await listed(ada)).toEqual(['A boat of Grace', 'A red fox', 'old']);
    expect(await listed(grace)).toEqual(['A boat of Grace']);
    const { data, next } = await ada.ask<Page>('/tasks?images=true&limit=1');
    expect(data).toMatchObject([{ prompt: 'A boat of Grace', image_count: 1 }]);
    expect(await listed(ada, `&after=${next}`)).toEqual(['A red fox', 'old']);
  });

  it('lists a favorite however old it is, until it is none', async () => {
    expect(await listed(ada, '&favorites=true')).toEqual(['old']);
    expect(await listed(ada, `&after=${ids['A red fox']}`)).toEqual(['old']);
    expect(await listed(grace)).toEqual(['A boat of Grace']);
    expect(await listed(ada, `&favorites=true&provider=${provider}`)).toEqual(['old']);
    expect(await listed(ada, `&provider=${provider}`)).toEqual(['A boat of Grace', 'A red fox', 'old']);
    expect(await listed(ada, '&favorites=true&provider=other')).toEqual([]);
    await ada.ask(`/tasks/${ids['old']}/favorite`, { method: 'DELETE' });
    expect(await listed(ada)).toEqual(['A boat of Grace', 'A red fox']);
  });

  it('is narrowed to a user, a key, a model, a provider, or words', async () => {
    expect(await listed(ada, `&person=${graceId}`)).toEqual(['A boat of Grace']);
    expect(await listed(grace, `&person=${graceId}`)).toEqual(['A boat of Grace']);
    expect(await listed(ada, '&person=nobody')).toEqual([]);
    expect(await listed(ada, '&key=playground')).toEqual(['A boat of Grace', 'A red fox']);
    expect(await listed(ada, '&model=other')).toEqual([]);
    expect(await listed(ada, `&model=gpt-image-2&provider=${provider}`)).toEqual(['A boat of Grace', 'A red fox']);
    expect(await listed(ada, '&provider=other')).toEqual([]);
    expect(await listed(ada, '&text=FOX')).toEqual(['A red fox']);
    expect(await listed(ada, `&text=fox&person=${graceId}`)).toEqual([]);
    const refused = await ada.call('/tasks?images=true&status=failed');
    expect([refused.status, await codeOf(refused)]).toEqual([400, 'invalid_value']);
  });

  it('names files after their prompts, and packs several as they are', async () => {
    const { images } = await ada.ask<Task>(`/tasks/${ids['A red fox']}`);
    const end = ids['A red fox']!.slice(-6).toLowerCase();
    expect(images[0]!.file_name).toBe(`a-red-fox-${end}.png`);
    const image = Buffer.from(await (await fetch(platform.url + images[0]!.url)).arrayBuffer());
    const answer = await zip(ada, [ids['A red fox']!, ids['A boat of Grace']!]);
    expect([answer.status, answer.headers.get('content-type')]).toEqual([200, 'application/zip']);
    expect(answer.headers.get('content-disposition')).toBe('attachment; filename="darkroom-images.zip"');
    const packed = Buffer.from(await answer.arrayBuffer());
    expect(packed.subarray(0, 4).toString('latin1')).toBe('PK\u0003\u0004');
    // Not compressed again, so it is in there as it is.
    expect(packed.includes(image)).toBe(true);
    for (const name of [`a-red-fox-${end}.png`, `a-boat-of-grace-`]) expect(packed.includes(name)).toBe(true);
    const asked = await ada.call(`/tasks/images.zip?ids=${ids['A red fox']}`, { method: 'HEAD' });
    expect([asked.status, (await asked.arrayBuffer()).byteLength]).toEqual([200, 0]);
  });

  it('packs nothing that one may not see, that is gone, or that is too much', async () => {
    const refusal = async (who: Browser, names: readonly string[]) => {
      const answer = await zip(who, names);
      return [answer.status, await codeOf(answer)];
    };
    expect(await refusal(grace, [ids['A red fox']!])).toEqual([404, 'task_not_found']);
    expect(await refusal(ada, [newTaskId()])).toEqual([404, 'task_not_found']);
    expect(await refusal(ada, [ids['deleted']!])).toEqual([404, 'file_not_found']);
    expect(await refusal(ada, ['task_1'])).toEqual([400, 'invalid_value']);
    expect(await refusal(ada, [])).toEqual([400, 'missing_required_parameter']);
    expect(await refusal(ada, Array.from({ length: 101 }, newTaskId))).toEqual([400, 'invalid_value']);
    const { rows } = await platform.pool.query<{ images: object[] }>('SELECT images FROM tasks WHERE id = $1', [
      ids['A red fox'],
    ]);
    const large = JSON.stringify(rows[0]!.images.map((image) => ({ ...image, bytes: 2_000_000_001 })));
    await platform.pool.query('UPDATE tasks SET images = $2 WHERE id = $1', [ids['A red fox'], large]);
    expect(await refusal(ada, [ids['A red fox']!])).toEqual([400, 'invalid_value']);
    await platform.pool.query('UPDATE tasks SET images = $2 WHERE id = $1', [
      ids['A red fox'],
      JSON.stringify(rows[0]!.images),
    ]);
    // A part never passes for the whole.
    await platform.pool.query(`UPDATE tasks SET images = jsonb_set(images, '{0,bytes}', '1') WHERE id = $1`, [
      ids['A red fox'],
    ]);
    await expect(zip(ada, [ids['A red fox']!]).then((answer) => answer.arrayBuffer())).rejects.toThrow();
  });
});
