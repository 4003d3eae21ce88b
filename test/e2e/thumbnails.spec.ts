import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { waitUntil } from '#embedded/wait-until.js';
import { Browser, signInFirstAdmin } from '../support/console.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, startWorker, type TestProcess } from '../support/processes.js';

const PATH = /^\/console\/api\/tasks\/(task_[0-9A-Z]{26})\/thumbnail$/;

interface Row {
  readonly id: string;
  readonly thumbnail_url: string | null;
}

/** What a page gets for the image of a list. */
interface Look {
  readonly status: number;
  readonly type: string | null;
  readonly isThumbnail: boolean;
}

const SMALL: Look = { status: 200, type: 'image/webp', isThumbnail: true };
const WHOLE: Look = { status: 200, type: 'image/png', isThumbnail: false };

// Real: two APIs, a worker, Postgres, Redis behind a proxy for one of the APIs, and a store on disk.
describe('thumbnails, which are created when the console first shows an image', () => {
  let platform: Platform;
  let second: TestProcess;
  let redis: FaultProxy;
  let worker: TestProcess;
  let ada: Browser;
  /** Ada at the second API. */
  let there: Browser;
  beforeAll(async () => {
    // A page of 200 images takes this process some time to ask for.
    platform = await startPlatform({ REQUEST_TIMEOUT_MS: '3600000' });
    ({ worker } = platform);
    redis = await FaultProxy.start(platform.settings['REDIS_URL']!);
    second = await startApi({ ...platform.settings, REDIS_URL: redis.url });
    ada = await signInFirstAdmin(platform);
    there = new Browser(second.url);
    there.cookie = ada.cookie;
    await platform.pool.query(`
      CREATE TABLE recorded (id text);
      CREATE FUNCTION note_thumbnail() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN INSERT INTO recorded VALUES (NEW.id); RETURN NULL; END $$;
      CREATE TRIGGER thumbnail_noted AFTER UPDATE OF has_thumbnail ON tasks FOR EACH ROW
        EXECUTE FUNCTION note_thumbnail();`);
  });
  afterAll(async () => {
    await second.stop();
    await worker.stop();
    await platform.close();
    await redis.close();
  });

  const results = (): string => join(platform.settings['DATA_DIR']!, 'objects', 'results');
  const rows = async (): Promise<Row[]> => (await ada.ask<{ data: Row[] }>('/tasks?limit=50')).data;
  const urlOf = async (id: string): Promise<string> =>
    String((await rows()).find((row) => row.id === id)?.thumbnail_url);

  async function generate(): Promise<string> {
    const answer = await platform.call('/v1/images/generations', {
      body: { model: 'gpt-image-2', prompt: 'a fox', resolution: '1k', response_format: 'url' },
    });
    expect(answer.status).toBe(200);
    return answer.headers.get('x-task-id') ?? '';
  }

  async function look(id: string, browser: Browser = ada): Promise<Look> {
    const { status, headers, url, body } = await browser.call(`/tasks/${id}/thumbnail`);
    await body?.cancel();
    return { status, type: headers.get('content-type'), isThumbnail: new URL(url).pathname.endsWith('.thumb.webp') };
  }

  /** Whether a page gets its thumbnail, at the latest when it looks again. */
  const becomesSmall = (id: string): Promise<boolean> =>
    waitUntil(async () => isDeepStrictEqual(await look(id), SMALL), { timeoutMs: 60_000 });

  it('leave nothing of themselves while tasks run: no object, no write, no job', async () => {
    const ids = await Promise.all(Array.from({ length: 4 }, generate));
    expect((await readdir(results())).sort()).toEqual(ids.map((id) => `${id}-1.png`).sort());
    // A list alone has none created either.
    for (const { thumbnail_url: url } of await rows()) expect(url).toMatch(PATH);
    expect(await readdir(results())).toHaveLength(4);
    const { rows: recorded } = await platform.pool.query('SELECT id FROM recorded');
    expect(recorded).toEqual([]);
  });

  it('are created once, although several pages of two APIs look at the same moment', async () => {
    // A page waits for three seconds. A busy machine may need longer, and then another image is looked at.
    const areShown = async (): Promise<boolean> => {
      const id = await generate();
      const looks = await Promise.all([ada, there, ada, there, there, ada].map((browser) => look(id, browser)));
      expect(await becomesSmall(id)).toBe(true);
      const { rows: recorded } = await platform.pool.query('SELECT id FROM recorded WHERE id = $1', [id]);
      expect(recorded).toHaveLength(1);
      expect(await urlOf(id)).toMatch(/^\/i\/\S+\.thumb\.webp\?exp=/);
      return looks.every(({ isThumbnail }) => isThumbnail);
    };
    expect(await waitUntil(areShown, { timeoutMs: 60_000 })).toBe(true);
  });

  it('are shown by a redirect to a signed link, which is not kept, and only to users', async () => {
    const id = await generate();
    const url = `${platform.url}/console/api/tasks/${id}/thumbnail`;
    expect((await fetch(url)).status).toBe(401);
    expect(await becomesSmall(id)).toBe(true);
    const { status, headers } = await fetch(url, { headers: { cookie: ada.cookie ?? '' }, redirect: 'manual' });
    expect([status, headers.get('cache-control')]).toEqual([302, 'no-store']);
    expect(headers.get('location')).toMatch(new RegExp(`^/i/${id}-1\\.thumb\\.webp\\?exp=\\d+&sig=[\\w-]+$`));
  });

  it('give way to the image itself while there is no worker, and are there when it is back', async () => {
    const ids = await Promise.all(Array.from({ length: 8 }, generate));
    await worker.stop();
    // A page of 200 tasks at once.
    const all = Array.from({ length: 25 }, () => ids).flat();
    for (const browser of [ada, there]) {
      expect(await Promise.all(all.map((id) => look(id, browser)))).toEqual(Array(200).fill(WHOLE));
    }
    worker = await startWorker(platform.settings);
    const isThere = async (): Promise<boolean> => (await Promise.all(ids.map(urlOf))).every((url) => !PATH.test(url));
    expect(await waitUntil(isThere, { timeoutMs: 60_000 })).toBe(true);
    expect(await Promise.all(ids.map((id) => look(id, there)))).toEqual(Array(8).fill(SMALL));
  });

  it('give way to the image itself while Redis is away or silent', async () => {
    const id = await generate();
    const api = await startApi({ ...platform.settings, REDIS_URL: redis.url, REDIS_COMMAND_TIMEOUT_MS: '500' });
    const browser = new Browser(api.url);
    browser.cookie = ada.cookie;
    for (const fault of ['reset', 'black-hole'] as const) {
      redis.fault = fault;
      expect(await look(id, browser)).toEqual(WHOLE);
      redis.fault = 'pass';
    }
    await api.stop();
    expect(await becomesSmall(id)).toBe(true);
  });

  it('are not tried again and again of a damaged image', async () => {
    const id = await generate();
    const file = join(results(), `${id}-1.png`);
    const whole = await readFile(file);
    await writeFile(file, Buffer.concat([whole.subarray(0, whole.length / 2), Buffer.alloc(whole.length / 2)]));
    const tries = (): number =>
      worker.logs().filter(({ event, taskId }) => event === 'thumbnail.not_created' && taskId === id).length;
    expect(await look(id)).toEqual(WHOLE);
    expect(await waitUntil(() => tries() > 0, { timeoutMs: 30_000 })).toBe(true);
    for (const browser of [ada, there, ada]) expect(await look(id, browser)).toEqual(WHOLE);
    expect(tries()).toBe(1);
  });

  it('are never created where they are disabled, and those that exist are still shown', async () => {
    const [before, after] = [await generate(), await generate()];
    expect(await becomesSmall(before)).toBe(true);
    const api = await startApi({ ...platform.settings, THUMBNAILS: 'false' });
    try {
      const browser = new Browser(api.url);
      browser.cookie = ada.cookie;
      const { data } = await browser.ask<{ data: Row[] }>('/tasks?limit=2');
      expect(data.map(({ id, thumbnail_url: url }) => [id, url?.split('?')[0]])).toEqual([
        [after, `/i/${after}-1.png`],
        [before, `/i/${before}-1.thumb.webp`],
      ]);
      expect([await look(after, browser), await look(before, browser)]).toEqual([WHOLE, SMALL]);
    } finally {
      await api.stop();
    }
    expect(await readdir(results())).not.toContain(`${after}-1.thumb.webp`);
  });
});
