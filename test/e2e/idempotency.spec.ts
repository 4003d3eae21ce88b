import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';

const GENERATIONS = '/v1/images/generations';
const REQUEST = { model: 'gpt-image-2', prompt: 'a kept key', resolution: '1k' };

describe('Idempotency-Key', () => {
  let platform: Platform;
  let otherApi: TestProcess;
  let count = 0;

  beforeAll(async () => {
    platform = await startPlatform();
    otherApi = await startApi(platform.settings);
  });
  afterAll(async () => {
    await otherApi.stop();
    await platform.close();
  });

  const newKey = (): string => `e2e-key-${++count}`;
  const generate = (key: string, changes: object = {}, path = GENERATIONS, api = platform.url) =>
    fetch(api + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${platform.key}`,
        'content-type': 'application/json',
        'idempotency-key': key,
      },
      body: JSON.stringify({ ...REQUEST, ...changes }),
    });
  const taskOf = (response: Response): string => response.headers.get('x-task-id') ?? '';
  const codeOf = async (response: Response): Promise<string> =>
    ((await response.json()) as { error: { code: string } }).error.code;
  async function tasksOf(prompt: string): Promise<{ id: string; provider_starts: number }[]> {
    return (
      await platform.pool.query<{ id: string; provider_starts: number }>(
        'SELECT id, provider_starts FROM tasks WHERE prompt = $1',
        [prompt],
      )
    ).rows;
  }

  it('makes one task of fifty parallel calls at two processes, and answers all of them with its image', async () => {
    const key = newKey();
    const prompt = 'fifty at once [[latency=1s]]';
    const calls = Array.from({ length: 50 }, (_, n) =>
      generate(key, { prompt }, n % 3 === 0 ? '/images/generations' : GENERATIONS, n % 2 ? otherApi.url : platform.url),
    );
    const answers = await Promise.all(calls);
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200));
    const tasks = await tasksOf(prompt);
    expect(tasks).toEqual([{ id: tasks[0]?.id, provider_starts: 1 }]);
    expect(new Set(answers.map(taskOf))).toEqual(new Set([tasks[0]?.id]));
    // A response that is not read to its end may count as aborted.
    await Promise.all(answers.map((answer) => answer.arrayBuffer()));
    const attached = () => [...platform.api.logs(), ...otherApi.logs()].filter((line) => line['attached'] === true);
    await waitUntil(() => attached().length >= 49, { timeoutMs: 30_000 });
    expect(attached()).toHaveLength(49);
  });

  it('replays the outcome, bare or quoted, at every process, with a link that works', async () => {
    const key = newKey();
    const prompt = 'played twice';
    const first = await generate(key, { prompt });
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    const again = await generate(`"${key}"`, { prompt }, GENERATIONS, otherApi.url);
    expect(again.status).toBe(200);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(taskOf(again)).toBe(taskOf(first));
    type Body = { created: number; size: string; data: { url: string }[] };
    const one = (await first.json()) as Body;
    const other = (await again.json()) as Body;
    expect({ ...other, data: [] }).toEqual({ ...one, data: [] });
    expect((await fetch(other.data[0]?.url ?? '')).status).toBe(200);
    expect(await tasksOf(prompt)).toMatchObject([{ provider_starts: 1 }]);
  });

  it('replays the error of a task that failed', async () => {
    const key = newKey();
    const prompt = 'refused [[fault=moderation]]';
    const first = await generate(key, { prompt });
    const again = await generate(key, { prompt });
    expect([first.status, again.status]).toEqual([400, 400]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(taskOf(again)).toBe(taskOf(first));
    expect([await codeOf(first), await codeOf(again)]).toEqual(['moderation_blocked', 'moderation_blocked']);
    expect(await tasksOf(prompt)).toHaveLength(1);
  });

  it('answers an asynchronous repeat with the same task, and lets a sync caller wait for it', async () => {
    const key = newKey();
    const prompt = 'sent and fetched [[latency=1s]]';
    const submits = [`${GENERATIONS}/async`, `${GENERATIONS}?async=true`, `${GENERATIONS}/async`];
    const answers = await Promise.all(submits.map((path) => generate(key, { prompt }, path)));
    expect(answers.map(({ status }) => status)).toEqual([202, 202, 202]);
    expect(new Set(answers.map(taskOf)).size).toBe(1);
    const waited = await generate(key, { prompt });
    expect([waited.status, taskOf(waited)]).toEqual([200, taskOf(answers[0] as Response)]);
    const late = await generate(key, { prompt }, `${GENERATIONS}/async`);
    expect([late.status, late.headers.get('idempotency-replayed')]).toEqual([202, 'true']);
  });

  it.each([
    ['prompt', { prompt: 'something else' }],
    ['field', { size: '16:9' }],
    ['unknown field', { extra: 1 }],
  ])('answers 422 to another %s', async (_name, change) => {
    const key = newKey();
    const first = await generate(key);
    const other = await generate(key, change);
    expect([first.status, other.status]).toEqual([200, 422]);
    expect(await codeOf(other)).toBe('idempotency_key_reused');
  });

  it('does not mind the order of fields, and minds the address', async () => {
    const key = newKey();
    const body = (text: string) => ({
      body: text,
      headers: { 'content-type': 'application/json', 'idempotency-key': key },
    });
    const first = await platform.call(GENERATIONS, body('{"model":"gpt-image-2","prompt":"o","resolution":"1k"}'));
    const again = await platform.call(GENERATIONS, body('{"resolution": "1k", "prompt":"o", "model":"gpt-image-2"}'));
    expect([again.status, taskOf(again)]).toEqual([200, taskOf(first)]);
    const images = '"images":[{"image_url":"https://example.com/a.png"}]';
    const elsewhere = await platform.call('/v1/images/edits', body(`{"model":"gpt-image-2","prompt":"o",${images}}`));
    expect(elsewhere.status).toBe(422);
  });

  it('knows a form by its fields and the bytes of its files, and keeps no upload of the repeat', async () => {
    const [png, other] = await Promise.all([gradientImage(64, 64, 'png'), gradientImage(96, 64, 'png')]);
    const key = newKey();
    const send = (files: readonly Buffer[], filesFirst: boolean) => {
      const form = new FormData();
      const texts = () => {
        form.append('prompt', 'a form');
        form.append('size', '1024x1024');
        form.append('response_format', 'url');
      };
      if (!filesFirst) texts();
      for (const file of files) form.append('image[]', new Blob([new Uint8Array(file)]), `${Math.random()}.png`);
      if (filesFirst) texts();
      return platform.call('/v1/images/edits', { body: form, headers: { 'idempotency-key': key } });
    };
    const first = await send([png, other], true);
    const again = await send([png, other], false);
    expect([first.status, again.status, taskOf(again)]).toEqual([200, 200, taskOf(first)]);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    for (const files of [[other, png], [png], [png, png]]) expect((await send(files, true)).status).toBe(422);
    expect(await storedInputs()).toEqual([taskOf(first)]);
  });

  it('keeps no key of what was not accepted', async () => {
    const key = newKey();
    const refused = await generate(key, { n: 2 });
    expect(refused.status).toBe(400);
    expect((await generate(key)).status).toBe(200);
  });

  it.each(['', '""', 'a b', 'clé', 'x'.repeat(256), `"${'x'.repeat(256)}"`])('refuses the key %p', async (key) => {
    const response = await platform.call(GENERATIONS, { body: REQUEST, headers: { 'idempotency-key': key } });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { code: 'invalid_value', param: 'Idempotency-Key' } });
  });

  it('takes a key of 255 characters, and the same key of another account for another', async () => {
    const headers = { 'idempotency-key': `~!${'x'.repeat(253)}` };
    const stranger = await platform.newKey({}, await platform.newAccount());
    const [mine, theirs] = await Promise.all([
      platform.call(`${GENERATIONS}/async`, { body: REQUEST, headers }),
      platform.call(`${GENERATIONS}/async`, { body: REQUEST, headers, key: stranger }),
    ]);
    expect([mine.status, theirs.status]).toEqual([202, 202]);
    expect(taskOf(mine)).not.toBe(taskOf(theirs));
    const sibling = await platform.newKey();
    const same = await platform.call(`${GENERATIONS}/async`, { body: REQUEST, headers, key: sibling });
    expect(taskOf(same)).toBe(taskOf(mine));
  });

  /** Ids of the tasks whose uploads are stored. */
  async function storedInputs(): Promise<string[]> {
    const { readdir } = await import('node:fs/promises');
    const folder = `${platform.settings['DATA_DIR'] ?? ''}/objects/inputs`;
    const names = async (): Promise<string[]> => (await readdir(folder)).filter((name) => name.startsWith('task_'));
    await waitUntil(async () => (await names()).length === 1, { timeoutMs: 15_000 });
    return (await names()).sort();
  }
});
