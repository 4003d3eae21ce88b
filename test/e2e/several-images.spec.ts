import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { itWithExifTool, readMetadata } from '#images/exiftool.fixture.js';
import { animatedGif, gradientImage } from '#images/sample-images.fixture.js';
import { waitUntil } from '#embedded/wait-until.js';
import { signInFirstAdmin } from '../support/console.js';
import { readEvents } from '../support/event-source.js';
import { plainImage } from '../support/image-provider-suite.js';
import { listenedFor } from '../support/partial-listener.js';
import type { Platform } from '../support/platform.js';
import { json, startUpstream, type Script, type ScriptedUpstream } from '../support/scripted-upstream.js';
import { startWebhookPlatform, type WebhookPlatform } from '../support/webhook-platform.js';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';
const PRICES = 'prices: [{ from: 2026-01-01, per_image: { 1k: 0.02, 2k: 0.04, 4k: 0.16 } }]';

interface Item {
  readonly url?: string;
  readonly b64_json?: string;
}

interface TaskData {
  readonly status: string;
  readonly cost?: { readonly amount: string; readonly state: string };
  readonly warnings?: readonly string[];
  readonly error?: { readonly code: string };
  readonly result?: { readonly images: readonly { readonly url: readonly string[]; readonly content_type: string }[] };
}

/** Several images of a request, and gifs, with real processes: of models that no code knows. */
describe('a model that makes several images at once', () => {
  let room: WebhookPlatform;
  let platform: Platform;
  let upstream: ScriptedUpstream;
  let folder: string;
  let png: Buffer;

  beforeAll(async () => {
    upstream = await startUpstream();
    png = await gradientImage(128, 96, 'png');
    folder = await mkdtemp(join(tmpdir(), 'darkroom-several-'));
    const file = `providers:
  vendor: { type: openai, base_url: "${upstream.url}", keys: [{ env: VENDOR_KEY }] }
  drawn: { type: sandbox }
models:
  gpt-image-2: { kind: image, routes: [{ provider: drawn }] }
  four:
    kind: image
    accepts: { max_n: 4, output_formats: [webp, gif] }
    routes: [{ provider: drawn }]
    ${PRICES}
  bought:
    kind: image
    accepts: { max_n: 3, output_formats: [png, gif] }
    routes: [{ provider: vendor }]
    ${PRICES}
  mixed:
    kind: image
    accepts: { max_n: 2 }
    routes: [{ provider: vendor, capabilities: { max_n: 1 } }, { provider: drawn }]
`;
    await writeFile(join(folder, 'models.yaml'), file);
    room = await startWebhookPlatform({ MODELS_FILE: join(folder, 'models.yaml'), VENDOR_KEY: 'k' });
    ({ platform } = room);
  });
  afterAll(async () => {
    await room.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });

  const post = (path: string, body: object, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
    platform.call(path, { body: { model: 'four', prompt: 'a fox', resolution: '1k', ...body }, headers });
  const itemsOf = async (response: Response): Promise<readonly Item[]> => {
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(Number(response.headers.get('content-length'))).toBe(Buffer.byteLength(text));
    return (JSON.parse(text) as { data: readonly Item[] }).data;
  };
  const fetched = async (url = ''): Promise<Buffer> => Buffer.from(await (await fetch(url)).arrayBuffer());
  const taskOf = async (id: string | null): Promise<TaskData> => {
    const read = async () => ((await (await platform.call(`/v1/tasks/${id}`)).json()) as { data: TaskData }).data;
    await waitUntil(async () => (await read()).status !== 'pending', { timeoutMs: 30_000 });
    return await read();
  };
  const endOf = async (response: Response): Promise<TaskData> => {
    await response.arrayBuffer();
    return await taskOf(response.headers.get('x-task-id'));
  };
  const refusal = async (response: Response): Promise<string> => {
    const { error } = (await response.json()) as { error: { code: string; param: string; message: string } };
    return `${response.status} ${error.code}: ${error.param}: ${error.message}`;
  };
  const editForm = (fields: Readonly<Record<string, string>>): Promise<Response> => {
    const form = new FormData();
    for (const [name, value] of Object.entries({ model: 'four', prompt: 'a fox', ...fields })) form.append(name, value);
    form.append('image', new Blob([png]), 'fox.png');
    return platform.call(EDITS, { body: form });
  };
  const edit = (body: object): Promise<Response> =>
    post(EDITS, { images: [{ image_url: `data:image/png;base64,${png.toString('base64')}` }], ...body });
  const vendorSends = (...files: readonly Buffer[]): Script =>
    json({ created: 1, data: files.map((file) => ({ b64_json: file.toString('base64') })) });

  it('says so, and gpt-image-2 stays at one', async () => {
    const model = async (name: string): Promise<object> =>
      (await (await platform.call(`/v1/models/${name}`)).json()) as object;
    expect(await model('four')).toMatchObject({
      limits: { n: 4 },
      capabilities: { output_formats: ['webp', 'gif'] },
    });
    expect(await model('gpt-image-2')).toMatchObject({
      limits: { n: 1 },
      capabilities: { output_formats: ['png', 'jpeg', 'webp'] },
    });
  });

  it('answers with each of them, as links and as base64', async () => {
    const both = await itemsOf(await post(GENERATIONS, { n: 4 }));
    expect(both).toHaveLength(4);
    const files = await Promise.all(both.map(({ url }) => fetched(url)));
    expect(files.map((file) => file.toString('base64'))).toEqual(both.map(({ b64_json }) => b64_json));
    expect(new Set(files.map(String)).size).toBe(4);
    for (const file of files) expect(await sharp(file).metadata()).toMatchObject({ width: 1024, format: 'webp' });
    for (const format of ['url', 'b64_json']) {
      const items = await itemsOf(await post('/images/generations', { n: 2, response_format: format }));
      expect(items.map((item) => Object.keys(item))).toEqual([[format], [format]]);
    }
    expect(await itemsOf(await post(GENERATIONS, {}))).toHaveLength(1);
  });

  it('shows them in the task and tells of them by webhook, one entry each', async () => {
    const callback = room.receiver.url('/several');
    const accepted = await post(`${GENERATIONS}/async`, { n: 3, callback_url: callback });
    expect(accepted.status).toBe(202);
    const { result } = await endOf(accepted);
    expect(result?.images.map(({ url, content_type: type }) => [url.length, type])).toEqual(
      Array.from({ length: 3 }, () => [1, 'image/webp']),
    );
    const files = await Promise.all((result?.images ?? []).map(({ url }) => fetched(url[0])));
    expect(new Set(files.map(String)).size).toBe(3);
    const [told] = await room.receiver.arrived('/several');
    const linked = (told?.event.data.result?.images ?? []).map(({ url }) => fetched(url[0]));
    expect((await Promise.all(linked)).map(String)).toEqual(files.map(String));
  });

  it('streams an event for each, the last with what all of them used', async () => {
    const wanted = { n: 3, stream: true, partial_images: 1, prompt: 'a fox [[latency=1s]]' };
    const response = await listenedFor(room.platform, () => post(GENERATIONS, wanted));
    const types: unknown[] = [];
    const completed: { b64_json: string; usage?: { output_tokens: number } }[] = [];
    for await (const { event, data } of readEvents(response)) {
      if (event === undefined) continue;
      types.push(event);
      if (event.endsWith('.completed')) completed.push(data as (typeof completed)[number]);
    }
    expect(types).toEqual(
      ['partial_image', 'completed', 'completed', 'completed'].map((it) => `image_generation.${it}`),
    );
    expect(new Set(completed.map(({ b64_json: base64 }) => base64)).size).toBe(3);
    for (const { b64_json: base64 } of completed)
      expect((await sharp(Buffer.from(base64, 'base64')).metadata()).width).toBe(1024);
    expect(completed.map(({ usage }) => usage !== undefined)).toEqual([false, false, true]);
    const { usage } = (await (await post(GENERATIONS, {})).json()) as { usage: { output_tokens: number } };
    expect(completed[2]?.usage?.output_tokens).toBe(3 * usage.output_tokens);
  });

  it('makes several of an edit, whatever its form', async () => {
    expect(await itemsOf(await edit({ n: 2 }))).toHaveLength(2);
    expect(await itemsOf(await editForm({ n: '2', resolution: '1k' }))).toHaveLength(2);
    expect((await endOf(await editForm({ n: '2', size: '64x64' }))).result?.images).toHaveLength(2);
  });

  it('refuses more, and says how many it makes', async () => {
    const above = (most: number): string => `400 integer_above_max_value: n: n must be at most ${most}`;
    for (const path of [GENERATIONS, '/images/generations', `${GENERATIONS}/async`, `${GENERATIONS}?dry_run=true`]) {
      expect(await refusal(await post(path, { n: 5 }))).toBe(above(4));
      expect(await refusal(await post(path, { n: 2, model: 'gpt-image-2' }))).toBe(above(1));
      expect(await refusal(await post(path, { n: 0 }))).toBe('400 integer_below_min_value: n: n must be at least 1');
      expect(await refusal(await post(path, { n: '2' }))).toBe('400 invalid_type: n: n must be an integer');
    }
    expect(await refusal(await edit({ n: 5 }))).toBe(above(4));
    expect(await refusal(await editForm({ n: '5' }))).toBe(above(4));
    const chat = { messages: [{ role: 'user', content: 'a fox' }], prompt: undefined };
    for (const several of [{ n: 2 }, { image_config: { n: 2 } }])
      expect(await refusal(await post('/v1/chat/completions', { ...chat, ...several }))).toBe(
        `${above(1)}: a chat generates one image; use /v1/images/generations for several`,
      );
    expect((await post('/v1/chat/completions', { ...chat, n: 1 })).status).toBe(200);
  });

  it('costs the price of each, in quotes and in the end', async () => {
    const quote = await post(`${GENERATIONS}?dry_run=true`, { n: 3 });
    expect(await quote.json()).toMatchObject({ cost: { amount: '0.060000', exact: true } });
    const task = await endOf(await post(GENERATIONS, { n: 3 }));
    expect(task.cost).toMatchObject({ amount: '0.060000', state: 'settled' });
  });

  it('is told apart by n when a request is repeated', async () => {
    const headers = { 'idempotency-key': 'several' };
    const first = await itemsOf(await post(GENERATIONS, { n: 2, response_format: 'b64_json' }, headers));
    const again = await post(GENERATIONS, { n: 2, response_format: 'b64_json' }, headers);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(await itemsOf(again)).toEqual(first);
    expect((await post(GENERATIONS, { n: 3, response_format: 'b64_json' }, headers)).status).toBe(422);
  });

  describe('of a provider', () => {
    const order = { model: 'bought', n: 3, size: '1:1' };
    let colors: Buffer[];
    beforeAll(async () => {
      const named = ['#800000', '#008000', '#000080', '#808000'];
      colors = await Promise.all(named.map((color) => plainImage(1024, 1024, color)));
    });

    it('is asked for all of them by one call, and what is too much is left out', async () => {
      upstream.script(vendorSends(...colors));
      const calls = upstream.calls.length;
      expect(await itemsOf(await post(GENERATIONS, order))).toHaveLength(3);
      expect(upstream.calls).toHaveLength(calls + 1);
      expect(JSON.parse(String(upstream.calls.at(-1)?.body))).toMatchObject({ model: 'bought', n: 3 });
    });

    it('that returns fewer is paid for those, and so is its caller', async () => {
      upstream.script(vendorSends(...colors.slice(0, 2)));
      const answer = await post(GENERATIONS, { ...order, prompt: 'two foxes' });
      const id = answer.headers.get('x-task-id');
      const told = (await answer.clone().json()) as { warnings?: string[] };
      expect(told.warnings).toEqual(['The provider returned only 2 of 3 images.']);
      expect(await itemsOf(answer)).toHaveLength(2);
      const task = await taskOf(id);
      expect(task.cost).toMatchObject({ amount: '0.040000', state: 'settled' });
      expect(task.warnings).toEqual(['The provider returned only 2 of 3 images.']);
      const { rows } = await platform.pool.query(
        'SELECT kind, amount_micros::int AS amount FROM charges WHERE task_id = $1 ORDER BY 2 DESC',
        [id],
      );
      expect(rows).toEqual([
        { kind: 'reserve', amount: 60_000 },
        { kind: 'settle', amount: 40_000 },
        { kind: 'refund', amount: 20_000 },
      ]);
      const strict = await endOf(await post(GENERATIONS, { ...order, strict: true }));
      expect(strict).toMatchObject({ status: 'failed', error: { code: 'upstream_invalid_response' } });
    });

    it('that returns one that can’t be used is paid for the others; without any the task fails', async () => {
      const [red = png, green = png] = colors;
      upstream.script(vendorSends(red, Buffer.from('<svg/>'.repeat(20)), green));
      const task = await endOf(await post(GENERATIONS, { ...order, prompt: 'a broken fox' }));
      expect(task).toMatchObject({ status: 'completed', cost: { amount: '0.040000' } });
      expect(task.result?.images).toHaveLength(2);
      upstream.script(vendorSends(Buffer.from('<svg/>'.repeat(20)), Buffer.from('<html>')));
      const failed = await endOf(await post(GENERATIONS, { ...order, prompt: 'no fox' }));
      expect(failed).toMatchObject({ status: 'failed', cost: { amount: '0.000000', state: 'refunded' } });
      upstream.script(vendorSends());
      const none = await endOf(await post(GENERATIONS, { ...order, prompt: 'nothing' }));
      expect(none).toMatchObject({ status: 'failed', error: { code: 'upstream_invalid_response' } });
    });

    it('that makes one at a time is passed over by a request for two', async () => {
      upstream.script(vendorSends(...colors));
      const calls = upstream.calls.length;
      expect(await itemsOf(await post(GENERATIONS, { model: 'mixed', n: 2 }))).toHaveLength(2);
      expect(upstream.calls).toHaveLength(calls);
      expect(await itemsOf(await post(GENERATIONS, { model: 'mixed', n: 1 }))).toHaveLength(1);
      expect(upstream.calls).toHaveLength(calls + 1);
    });

    itWithExifTool('that sends an animation has it delivered as it came, with a mark', async () => {
      const animation = await animatedGif(1024, 1024, 3);
      upstream.script(vendorSends(animation));
      const answer = await post(GENERATIONS, { ...order, n: 1, output_format: 'gif' });
      expect(JSON.parse(String(upstream.calls.at(-1)?.body))).toMatchObject({ output_format: 'gif' });
      const [{ url = '', b64_json: base64 = '' } = {}] = await itemsOf(answer);
      expect(url).toMatch(/\.gif\?/);
      const file = await fetch(url);
      expect(file.headers.get('content-type')).toBe('image/gif');
      const bytes = Buffer.from(await file.arrayBuffer());
      expect(bytes.toString('base64')).toBe(base64);
      const frames = async (gif: Buffer) => await sharp(gif, { animated: true }).raw().toBuffer();
      expect((await frames(bytes)).equals(await frames(animation))).toBe(true);
      expect(await readMetadata(bytes)).toMatchObject({
        'XMP-dc:Identifier': answer.headers.get('x-task-id'),
        'GIF:FrameCount': 3,
      });
    });
  });

  it('may make gifs of its own', async () => {
    const answer = await post(GENERATIONS, { n: 2, output_format: 'gif', size: '256x128' });
    const body = (await answer.json()) as { output_format: string; size: string; data: readonly Item[] };
    expect(body).toMatchObject({ output_format: 'gif', size: '256x128' });
    for (const { url } of body.data)
      expect(await sharp(await fetched(url)).metadata()).toMatchObject({ format: 'gif', width: 256, height: 128 });
    expect(await refusal(await post(GENERATIONS, { model: 'gpt-image-2', output_format: 'gif' }))).toBe(
      '400 invalid_value: output_format: output_format must be one of png, jpeg, webp',
    );
  });

  it('is counted by its images in the figures of usage', async () => {
    const { rows } = await platform.pool.query<{ images: number }>(
      `SELECT sum(jsonb_array_length(images))::int AS images FROM tasks WHERE status = 'completed' AND model = 'four'`,
    );
    const admin = await signInFirstAdmin(platform);
    const usage = await admin.ask<{ data: { group: string; images: number }[] }>('/usage');
    expect(usage.data.find(({ group }) => group === 'four')?.images).toBe(rows[0]?.images);
  });
});
