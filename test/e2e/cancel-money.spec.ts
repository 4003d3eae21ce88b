import { Redis } from 'ioredis';
import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { openHangUpRoom, type HangUpRoom, type Payer } from '../support/hang-ups.js';
import { startUpstream, type Script, type ScriptedUpstream } from '../support/scripted-upstream.js';

const ORDER = { model: 'gpt-image-2', prompt: 'a harbour', resolution: '1k' };
const PRICE = 4_000_000;

interface TaskBody {
  data: { status: string; charged?: string; cost: { amount: string; state: string } };
}

/** A provider that charges and sends partial images, and callers who cancel when they have seen enough. */
describe('cancelling what costs money', () => {
  let room: HangUpRoom;
  let upstream: ScriptedUpstream;
  let partial: string;
  let redis: Redis;
  beforeAll(async () => {
    upstream = await startUpstream();
    partial = (await gradientImage(64, 64, 'png')).toString('base64');
    room = await openHangUpRoom(`providers:
  up: { type: openai, base_url: "${upstream.url}", keys: [{ env: UP_KEY }] }
models:
  gpt-image-2:
    kind: image
    routes: [{ provider: up }]
    prices: [{ from: 2026-01-01, per_image: { 1k: 4, 2k: 4, 4k: 4 } }]
  half-forgiven:
    kind: image
    routes: [{ provider: up }]
    prices: [{ from: 2026-01-01, cancelled: 0.5, per_image: { 1k: 4, 2k: 4, 4k: 4 } }]
`);
    redis = new Redis(room.platform.settings['REDIS_URL'] ?? '');
  });
  afterAll(async () => {
    redis.disconnect();
    await room.close();
    await upstream.close();
  });

  /** Whether an API listens to the partial images of a task; it gets none from before. */
  const isHeard = async (): Promise<boolean> =>
    (await redis.pubsub('CHANNELS', `${room.platform.settings['REDIS_PREFIX'] ?? ''}:tasks:partial:*`)).length > 0;

  /** All partial images, and then nothing more for as long as the caller is there. */
  const partialsThenSilence: Script = async (call, response) => {
    if (!(await waitUntil(isHeard, { timeoutMs: 30_000 }))) throw new Error('nobody listens to the partial images');
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (const index of [0, 1, 2]) {
      const type = 'image_generation.partial_image';
      const event = { type, b64_json: partial, partial_image_index: index };
      response.write(`event: ${type}\ndata: ${JSON.stringify(event)}\n\n`);
    }
    await call.closed;
  };

  /** Answers with the task's id and the partial images that the payer saw before it cancelled; -1: was refused. */
  async function lookAndCancel(
    { key }: Payer,
    changes: object = {},
  ): Promise<{ seen: number; task: TaskBody['data'] }> {
    const stream = await room.platform.call('/v1/images/generations', {
      key,
      body: { ...ORDER, ...changes, stream: true, partial_images: 3 },
    });
    let text = '';
    const decoder = new TextDecoder();
    for await (const chunk of stream.body as unknown as AsyncIterable<Uint8Array>) {
      text += decoder.decode(chunk, { stream: true });
      if (text.includes('"partial_image_index":2')) break;
    }
    const cancelled = await room.platform.call(`/v1/tasks/${stream.headers.get('x-task-id') ?? ''}/cancel`, {
      key,
      method: 'POST',
    });
    const { data } = (await cancelled.json()) as TaskBody;
    return { seen: text.split('"partial_image_index"').length - 1, task: data };
  }

  it('H5: three partial images of $4 that are cancelled on the last cost $4, and a budget of $5 has no more', async () => {
    upstream.script(partialsThenSilence);
    const payer = await room.newPayer(5_000_000);
    const { seen, task } = await lookAndCancel(payer);
    expect(seen).toBe(3);
    expect(task).toMatchObject({
      status: 'cancelled',
      charged: 'unknown',
      cost: { amount: '4.000000', currency: 'USD', state: 'settled' },
    });
    expect(await payer.spent()).toBe(PRICE);
    const next = await room.platform.call('/v1/images/generations', { key: payer.key, body: ORDER });
    expect([next.status, await next.json()]).toMatchObject([402, { error: { code: 'insufficient_quota' } }]);
    expect(upstream.calls).toHaveLength(1);
  });

  it('H5: a price may forgive a share of what is cancelled', async () => {
    upstream.script(partialsThenSilence);
    const payer = await room.newPayer(5_000_000);
    // Not those of the test before.
    expect(await waitUntil(async () => !(await isHeard()), { timeoutMs: 30_000 })).toBe(true);
    expect((await lookAndCancel(payer, { model: 'half-forgiven' })).task.cost).toMatchObject({ amount: '2.000000' });
    expect(await payer.spent()).toBe(PRICE / 2);
  });

  it('H5: what was cancelled before a provider was called costs nothing', async () => {
    const payer = await room.newPayer(5_000_000);
    room.platform.worker.kill('SIGSTOP');
    const taken = await room.platform.call('/v1/images/generations/async', { key: payer.key, body: ORDER });
    const cancelled = await room.platform.call(`/v1/tasks/${taken.headers.get('x-task-id') ?? ''}/cancel`, {
      key: payer.key,
      method: 'POST',
    });
    room.platform.worker.kill('SIGCONT');
    expect(((await cancelled.json()) as TaskBody).data).toMatchObject({
      charged: 'none',
      cost: { amount: '0.000000', state: 'refunded' },
    });
    expect(await payer.spent()).toBe(0);
  });

  it('a flood of cancels is held to the polls of its key', async () => {
    const key = await room.platform.newKey({ polls_per_minute: 3 });
    const cancel = () => room.platform.call('/v1/tasks/task_unknown/cancel', { key, method: 'POST' });
    const statuses = (await Promise.all([1, 2, 3, 4, 5].map(cancel))).map(({ status }) => status);
    expect(statuses.sort()).toEqual([404, 404, 404, 429, 429]);
  });
});
