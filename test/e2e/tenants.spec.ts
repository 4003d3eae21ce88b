import { loadConfig } from '#config/load-config.js';
import { newTaskId } from '#tasks/row/task-id.js';
import { StorageConfig } from '#storage/storage.config.js';
import { createObjectStore } from '#storage/create-object-store.js';
import { answerOf } from '../support/contract-answer.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { storedInputs } from '../support/no-data-loss.js';
import { gradientImage } from '#images/sample-images.fixture.js';

describe('what belongs to another caller', () => {
  let platform: Platform;
  let stranger: string;
  let taskId: string;
  let link: URL;

  beforeAll(async () => {
    platform = await startPlatform();
    stranger = await platform.newKey({}, await platform.newAccount());
    const image = `data:image/png;base64,${(await gradientImage(96, 80, 'png')).toString('base64')}`;
    const response = await platform.call('/v1/images/generations', {
      body: { model: 'gpt-image-2', prompt: 'mine alone', resolution: '1k', image_urls: [image] },
      headers: { 'idempotency-key': 'shared-word' },
    });
    taskId = response.headers.get('x-task-id') ?? '';
    const { data } = (await response.json()) as { data: { url: string }[] };
    link = new URL(data[0]?.url ?? '');
  });
  afterAll(() => platform.close());

  /** All of an answer but what is new in every one: its date, and its own request id. */
  async function whole(response: Response): Promise<unknown> {
    const { status, headers, text } = await answerOf(response);
    const { date: _date, 'x-request-id': id = '', ...rest } = headers;
    return { status, headers: rest, text: text.replaceAll(id, 'ID') };
  }

  it.each<[string, string, string]>([
    ['read', 'GET', ''],
    ['looked at', 'HEAD', ''],
    ['waited for', 'GET', '?wait=1'],
    ['followed', 'GET', '/events'],
    ['cancelled', 'POST', '/cancel'],
  ])('a task %s by a stranger is, byte by byte, one that does not exist', async (_verb, method, rest) => {
    const ask = (id: string, key: string) => platform.call(`/v1/tasks/${id}${rest}`, { method, key });
    const foreign = await whole(await ask(taskId, stranger));
    expect(foreign).toEqual(await whole(await ask(newTaskId(), stranger)));
    expect(foreign).toEqual(await whole(await ask('no-id-at-all', stranger)));
    expect(foreign).toMatchObject({ status: 404 });
    const own = await ask(taskId, platform.key);
    expect(own.status).toBe(200);
    await own.body?.cancel();
  });

  it('is in no list and no batch, and is no place in one', async () => {
    const list = await platform.call('/v1/tasks', { key: stranger });
    expect(await list.json()).toMatchObject({ data: [], has_more: false });
    const after = (id: string) => platform.call(`/v1/tasks?after=${id}`, { key: stranger });
    expect(await whole(await after(taskId))).toEqual(await whole(await after(newTaskId())));
    const batch = await platform.call('/v1/tasks/batch', { key: stranger, body: { task_ids: [taskId] } });
    expect(await batch.json()).toEqual({ code: 200, data: [], missing: [taskId] });
  });

  it('is not found by its Idempotency-Key', async () => {
    const response = await platform.call('/v1/images/generations/async', {
      key: stranger,
      body: { model: 'gpt-image-2', prompt: '[[fault=moderation]]' },
      headers: { 'idempotency-key': 'shared-word' },
    });
    expect(response.status).toBe(202);
    expect(response.headers.get('x-task-id')).not.toBe(taskId);
    expect(response.headers.get('idempotency-replayed')).toBeNull();
  });

  it('is served to whoever has the link and to nobody without its signature of 128 bits', async () => {
    expect((await fetch(link, { headers: { authorization: `Bearer ${stranger}` } })).status).toBe(200);
    const signature = link.searchParams.get('sig') ?? '';
    expect(Buffer.from(signature, 'base64url')).toHaveLength(16);
    for (let at = 0; at < signature.length; at++) {
      const other = signature[at] === 'A' ? 'B' : 'A';
      const forged = new URL(link);
      forged.searchParams.set('sig', signature.slice(0, at) + other + signature.slice(at + 1));
      expect((await fetch(forged)).status).toBe(403);
    }
  });

  it('an upload is served by no address, signed or not', async () => {
    const [upload = ''] = await storedInputs(platform);
    expect(upload).toContain(taskId);
    for (const path of [
      `/i/${upload}`,
      `/i/${encodeURIComponent(upload)}`,
      `/i/..%2f${encodeURIComponent(upload)}`,
      `/${upload}`,
    ]) {
      const response = await platform.call(`${path}${link.search}`);
      expect([403, 404]).toContain(response.status);
      expect((await response.text()).length).toBeLessThan(600);
    }
    const store = await createObjectStore(loadConfig([StorageConfig], platform.settings)[0]);
    for await (const key of store.list('results/')) expect(key).not.toContain('..');
  });

  it('serves bytes made anew, which carry nothing of the input, only our own mark', async () => {
    const response = await fetch(link);
    const bytes = Buffer.from(await response.arrayBuffer());
    expect(response.headers.get('content-type')).toBe('image/png');
    expect(response.headers.get('x-content-type-options')).toBe('nosniff');
    expect(response.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    const text = bytes.toString('latin1');
    expect(text).not.toMatch(/tEXt|zTXt|eXIf|mine alone/);
    expect(text.split('iTXt')).toEqual([expect.anything(), expect.stringMatching(/^XML:com\.adobe\.xmp\0/)]);
  });
});
