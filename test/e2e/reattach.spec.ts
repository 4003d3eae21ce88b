import OpenAI, { toFile } from 'openai';
import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { FaultProxy, type Fault } from '../support/fault-proxy.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';

interface Row {
  id: string;
  status: string;
  provider_starts: number;
  delivered_at: Date | null;
}

/** The official SDK as it is, through connections that fail: it gets its image, and one is made. */
describe('an OpenAI SDK that tries again', () => {
  let platform: Platform;
  let png: Buffer;
  const proxies: FaultProxy[] = [];
  let count = 0;

  beforeAll(async () => {
    // Shorter than the images of some tests take, and long enough for the others' on a busy machine.
    [platform, png] = [await startPlatform({ SYNC_WAIT_MS: '3000' }), await gradientImage(128, 128, 'png')];
  });
  afterAll(async () => {
    await Promise.all(proxies.map((proxy) => proxy.close()));
    await platform.close();
  });

  async function client(fates: readonly Fault[], options: { timeout?: number; maxRetries?: number } = {}) {
    const proxy = await FaultProxy.start(platform.url, fates);
    proxies.push(proxy);
    return {
      proxy,
      openai: new OpenAI({ apiKey: platform.key, baseURL: `${proxy.url}/v1`, maxRetries: 8, ...options }),
    };
  }

  const ways: [string, (openai: OpenAI, prompt: string) => Promise<OpenAI.ImagesResponse>][] = [
    ['a generation', (openai, prompt) => openai.images.generate({ model: 'gpt-image-2', prompt, size: '1:1' })],
    [
      'an edit with files',
      async (openai, prompt) =>
        openai.images.edit({
          model: 'gpt-image-2',
          prompt,
          size: '1024x1024',
          image: [await toFile(png, 'a.png', { type: 'image/png' }), await toFile(png, 'b.png', { type: 'image/png' })],
        }),
    ],
  ];
  const newPrompt = (latency: string): string => `try ${++count} [[latency=${latency}]]`;

  async function rowsOf(prompt: string): Promise<Row[]> {
    const { rows } = await platform.pool.query<Row>(
      'SELECT id, status, provider_starts, delivered_at FROM tasks WHERE prompt = $1',
      [prompt],
    );
    return rows;
  }
  const hasImage = ({ data }: OpenAI.ImagesResponse): boolean =>
    data?.[0]?.url !== undefined || (data?.[0]?.b64_json?.length ?? 0) > 1_000;
  async function expectOne(prompt: string): Promise<void> {
    expect(await rowsOf(prompt)).toMatchObject([{ status: 'completed', provider_starts: 1 }]);
    await waitUntil(async () => (await rowsOf(prompt))[0]?.delivered_at !== null, { timeoutMs: 30_000 });
    expect((await rowsOf(prompt))[0]?.delivered_at).toBeInstanceOf(Date);
  }

  describe.each(ways)('for %s', (_name, ask) => {
    it('gets its image although the first connection is cut while it waits', async () => {
      const prompt = newPrompt('2s');
      const { proxy, openai } = await client(['mute']);
      // What is written to a mute connection before it is cut counts as delivered.
      platform.worker.kill('SIGSTOP');
      const answer = ask(openai, prompt);
      const isHeld = await waitUntil(async () => (await rowsOf(prompt)).length > 0, { timeoutMs: 20_000 });
      proxy.cut();
      platform.worker.kill('SIGCONT');
      expect(isHeld).toBe(true);
      expect(hasImage(await answer)).toBe(true);
      expect(proxy.count).toBeGreaterThan(1);
      await expectOne(prompt);
    });

    it('gets its image although the first connection says nothing for ever', async () => {
      // A client that gives up soon may be late to read what has come, and its image counts as delivered then.
      const prompt = newPrompt(`${patient(2_500)}ms`);
      const { proxy, openai } = await client(['mute'], { timeout: patient(2_000), maxRetries: 30 });
      expect(hasImage(await ask(openai, prompt))).toBe(true);
      expect(proxy.count).toBeGreaterThan(1);
      await expectOne(prompt);
    });

    it('gets its image although the window of each call is shorter than the work', async () => {
      const prompt = newPrompt('14s');
      const { openai } = await client([], { maxRetries: 30 });
      expect(hasImage(await ask(openai, prompt))).toBe(true);
      await expectOne(prompt);
      const [{ id } = { id: '' }] = await rowsOf(prompt);
      const isAttached = (): boolean =>
        platform.api
          .logs()
          .some(
            ({ event, attached, status, taskId }) => event === 'request' && attached && status === 200 && taskId === id,
          );
      expect(await waitUntil(isAttached, { timeoutMs: 30_000 })).toBe(true);
    });

    it('gets its image although the answer was lost on the way', async () => {
      let prompt = '';
      // What is cut later than a second after it was written counts as delivered. The proxy may be that late: then again.
      const isHeard = async (): Promise<boolean> => {
        prompt = newPrompt('200ms');
        const { proxy, openai } = await client([{ cutAfter: 0 }]);
        expect(hasImage(await ask(openai, prompt))).toBe(true);
        expect(proxy.count).toBeGreaterThan(1);
        return (await rowsOf(prompt)).length === 1;
      };
      expect(await waitUntil(isHeard, { timeoutMs: 60_000 })).toBe(true);
      await expectOne(prompt);
    });

    it('gets two images for two separate identical calls', async () => {
      const prompt = newPrompt('200ms');
      const { openai } = await client([]);
      const answers = await Promise.all([ask(openai, prompt), ask(openai, prompt)]);
      expect(answers.map(hasImage)).toEqual([true, true]);
      expect((await rowsOf(prompt)).map((row) => row.provider_starts)).toEqual([1, 1]);
    });
  });

  const headers = (retry: string) => ({ 'x-stainless-retry-count': retry });
  const submit = async (prompt: string, retry: string, path = '/v1/images/generations/async'): Promise<string> => {
    const body = { model: 'gpt-image-2', prompt, resolution: '1k' };
    const response = await platform.call(path, { body, headers: headers(retry) });
    return response.headers.get('x-task-id') ?? '';
  };

  it('starts anew once the first answer has arrived', async () => {
    const prompt = newPrompt('100ms');
    const first = await submit(prompt, '0');
    const isDelivered = async (): Promise<boolean> => (await rowsOf(prompt))[0]?.delivered_at instanceof Date;
    expect(await waitUntil(isDelivered, { timeoutMs: 30_000 })).toBe(true);
    expect(await submit(prompt, '1')).not.toBe(first);
  });

  it.each(['', 'x', '-1', '1.5'])('is not believed when it says it is try %p', async (retry) => {
    const prompt = newPrompt('60s');
    const body = { model: 'gpt-image-2', prompt, resolution: '1k' };
    const call = { body, headers: { ...headers(retry), prefer: 'wait=1' } };
    const answers = [
      await platform.call('/v1/images/generations', call),
      await platform.call('/v1/images/generations', call),
    ];
    expect(answers.map((answer) => [answer.status, answer.headers.get('x-should-retry')])).toEqual([
      [504, 'false'],
      [504, 'false'],
    ]);
    // The first had been sent away without its image, so the second has got its task.
    expect(new Set(answers.map((answer) => answer.headers.get('x-task-id'))).size).toBe(1);
    const rows = await rowsOf(prompt);
    expect(rows).toHaveLength(1);
    await platform.call(`/v1/tasks/${rows[0]?.id ?? ''}/cancel`, { method: 'POST' });
  });

  it('costs callers who count nothing no mark of the delivery', async () => {
    const counted = newPrompt('100ms');
    let prompt = '';
    // On a busy machine an image may take longer than the window, whose end is marked.
    const isAnswered = async (): Promise<boolean> => {
      prompt = newPrompt('100ms');
      const body = { model: 'gpt-image-2', prompt, resolution: '1k' };
      const answer = await platform.call('/v1/images/generations', { body });
      await answer.arrayBuffer();
      return answer.status === 200;
    };
    expect(await waitUntil(isAnswered, { timeoutMs: 60_000 })).toBe(true);
    // Deliveries are marked in their order.
    await submit(counted, '0');
    const isMarked = async (): Promise<boolean> => (await rowsOf(counted))[0]?.delivered_at instanceof Date;
    expect(await waitUntil(isMarked, { timeoutMs: 30_000 })).toBe(true);
    const { rows } = await platform.pool.query('SELECT delivered_at, abandoned_at FROM tasks WHERE prompt = $1', [
      prompt,
    ]);
    expect(rows).toEqual([{ delivered_at: null, abandoned_at: null }]);
  });
});
