import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin } from '../support/console.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';

const LIMIT = 4;

/** Nothing happens to the tasks, because no worker runs. */
describe('followers of one account', () => {
  let platform: ApiPlatform;
  let taskId: string;
  beforeAll(async () => {
    platform = await startApiPlatform({ ACCOUNT_FOLLOWERS: String(LIMIT) });
    taskId = await submit(platform.key);
  });
  afterAll(() => platform.close());

  async function submit(key: string): Promise<string> {
    const body = { model: 'gpt-image-2', prompt: 'followed', resolution: '1k' };
    const response = await platform.call('/v1/images/generations/async', { key, body });
    return ((await response.json()) as { task_id: string }).task_id;
  }

  /** A stream that is open until the signal; its first event has come. */
  async function open(signal: AbortSignal, key = platform.key, id = taskId): Promise<Response> {
    const headers = { authorization: `Bearer ${key}` };
    return await fetch(`${platform.url}/v1/tasks/${id}/events`, { headers, signal });
  }

  it('are limited in number, however slowly they come; others are not affected, and each that leaves makes room', async () => {
    const leave = new AbortController();
    const second = await platform.newKey();
    // Kept: the stream of a Response that is garbage collected is closed.
    const streams: Response[] = [];
    for (let opened = 0; opened < LIMIT; opened++) {
      const stream = await open(leave.signal, opened % 2 === 0 ? platform.key : second);
      expect(stream.status).toBe(200);
      streams.push(stream);
    }
    for (const path of [`${taskId}/events`, `${taskId}?wait=30`]) {
      const refused = await platform.call(`/v1/tasks/${path}`);
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, '2']);
      expect(await refused.json()).toMatchObject({
        error: {
          code: 'concurrency_limit_exceeded',
          message: `The account is limited to ${LIMIT} open long polls and event streams.`,
        },
      });
    }
    expect((await platform.call(`/v1/tasks/${taskId}`)).status).toBe(200);
    const stranger = await platform.newKey({}, await platform.newAccount());
    expect((await open(leave.signal, stranger, await submit(stranger))).status).toBe(200);
    const admin = await signInFirstAdmin(platform);
    const events = `${platform.url}/console/api/tasks/${taskId}/events`;
    // What the account's users open in the console counts, too.
    expect((await fetch(events, { headers: { cookie: admin.cookie ?? '' } })).status).toBe(429);
    expect(streams.map(({ bodyUsed }) => bodyUsed)).toEqual(streams.map(() => false));
    leave.abort();
    const again = new AbortController();
    const isOpen = async (): Promise<boolean> => (await open(again.signal)).status === 200;
    expect(await waitUntil(isOpen, { timeoutMs: 15_000 })).toBe(true);
    expect((await platform.call(`/v1/tasks/${taskId}?wait=1`)).status).toBe(200);
    expect((await platform.call(`/v1/tasks/${taskId}?wait=1`)).status).toBe(200);
    again.abort();
  });
});
