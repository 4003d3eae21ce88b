import type { Client } from '@modelcontextprotocol/client';
import { Ajv2020 } from 'ajv/dist/2020.js';
import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { newMarker } from '../support/fault-callers.js';
import { LedgerProvider, type Plan } from '../support/ledger-provider.js';
import { callTool, mcpClient, type ToolAnswer } from '../support/mcp-client.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';

const SMALL = { size: '1024x1024' };
const TOOLS = ['generate_image', 'edit_image', 'get_image', 'cancel_image', 'quote_image', 'list_models'];

/** An agent with the official client, and what its calls buy. */
describe('the MCP server', () => {
  let provider: LedgerProvider;
  let platform: Platform;
  /** An API whose calls wait less than an image takes that the provider holds back. */
  let hasty: TestProcess;
  const clients: Client[] = [];
  let agent: Client;
  let hastyAgent: Client;

  beforeAll(async () => {
    provider = await LedgerProvider.start();
    platform = await startPlatform({ OPENAI_API_KEY: 'sk-ledger-secret-key', OPENAI_BASE_URL: provider.url });
    hasty = await startApi({ ...platform.settings, SYNC_WAIT_MS: '1500' });
    agent = await connect(platform.url);
    hastyAgent = await connect(hasty.url);
  });
  afterAll(async () => {
    await Promise.all(clients.map((client) => client.close()));
    await hasty.stop();
    await platform.close();
    await provider.close();
  });

  async function connect(url: string, era?: 'legacy' | 'modern', key = platform.key): Promise<Client> {
    const client = await mcpClient({ url, key }, era);
    clients.push(client);
    return client;
  }

  const generate = (client: Client, prompt: string, more: object = {}): Promise<ToolAnswer> =>
    callTool(client, 'generate_image', { prompt, ...SMALL, ...more });

  /** An image that its provider keeps back until it is told to finish. */
  function heldBack(): { marker: string; finish: () => void } {
    const marker = newMarker();
    let finish = (): void => undefined;
    const until = new Promise<void>((resolve) => (finish = resolve));
    const plan: Plan = { until };
    provider.plan(marker, plan);
    return { marker, finish };
  }

  const startsOf = (marker: string): number => provider.startsOf(marker).length;

  async function rowOf(id: string): Promise<{ status: string; delivered: boolean } | undefined> {
    const text = 'SELECT status, delivered_at IS NOT NULL AS delivered FROM tasks WHERE id = $1';
    return (await platform.pool.query<{ status: string; delivered: boolean }>(text, [id])).rows[0];
  }

  const delivered = (id: string | undefined) =>
    waitUntil(async () => (await rowOf(id ?? ''))?.delivered === true, { timeoutMs: 30_000 });

  describe.each(['legacy', 'modern'] as const)('for a client of the %s protocol', (era) => {
    let client: Client;
    beforeAll(async () => {
      client = await connect(platform.url, era);
    });

    it('says how to use it, and lists tools with valid schemas of the models’ values', async () => {
      expect(client.getInstructions()).toContain('never repeat a call');
      const { tools } = await client.listTools();
      expect(tools.map(({ name }) => name)).toEqual(TOOLS);
      const ajv = new Ajv2020({ strict: true });
      for (const { inputSchema } of tools) expect(typeof ajv.compile(inputSchema)).toBe('function');
      expect(tools[0]?.inputSchema.properties?.['output_format']).toMatchObject({
        enum: expect.arrayContaining(['png', 'jpeg', 'webp']) as string[],
      });
    });

    it('answers with a link, a small preview, the price, and the id', async () => {
      let answer: ToolAnswer | undefined;
      // A preview is waited for three seconds. A busy machine may need longer, and then another image is generated.
      const hasPreview = async (): Promise<boolean> => {
        answer = await generate(client, `a house ${newMarker()}`);
        return (await sharp(answer.images[0]?.bytes).metadata()).format === 'webp';
      };
      expect(await waitUntil(hasPreview, { timeoutMs: 60_000 })).toBe(true);
      const { isError, text, facts, links, images } = answer!;
      expect(isError).toBe(false);
      expect(facts).toMatchObject({ status: 'completed', price: { amount: null, state: 'unpriced' } });
      expect(facts.images).toMatchObject([{ size: '1024x1024', content_type: 'image/png', url: links[0] }]);
      expect(text).toContain(facts.id);
      const whole = Buffer.from(await (await fetch(links[0] ?? '')).arrayBuffer());
      expect(await sharp(whole).metadata()).toMatchObject({ format: 'png', width: 1024 });
      const [preview] = images;
      expect(preview?.bytes.length).toBeLessThanOrEqual(262_144);
      expect(await sharp(preview?.bytes).metadata()).toMatchObject({ format: 'webp', width: 320 });
      const full = await callTool(client, 'get_image', { id: facts.id, full: true });
      expect(full.images.map(({ bytes }) => bytes.equals(whole))).toEqual([true]);
    });

    it('explains what is wrong with arguments, by their names', async () => {
      const wrong = await generate(client, 'a house', { quality: 'fabulous' });
      expect(wrong).toMatchObject({ isError: true, facts: { error: { code: 'invalid_value', param: 'quality' } } });
      expect(wrong.text).toContain('quality must be one of');
      const missing = await callTool(client, 'generate_image', {});
      expect(missing.facts.error).toMatchObject({ code: 'missing_required_parameter', param: 'prompt' });
      const image = await callTool(client, 'edit_image', { prompt: 'a', images: ['ftp://example.com/a.png'] });
      expect(image.facts.error).toMatchObject({ param: 'images[0]' });
      expect(image.text).not.toContain('.image_url');
      const many = await callTool(client, 'edit_image', { prompt: 'a', images: Array.from({ length: 17 }, () => 'x') });
      expect(many.facts.error).toMatchObject({ code: 'array_above_max_length', param: 'images' });
      const id = await callTool(client, 'get_image', { id: 5 });
      expect(id.facts.error).toMatchObject({ code: 'task_not_found', param: 'id' });
      const wait = await callTool(client, 'get_image', { id: 'task_1', wait_seconds: 41 });
      expect(wait.facts.error).toMatchObject({ param: 'wait_seconds' });
      await expect(callTool(client, 'paint', {})).rejects.toThrow(/Unknown tool/);
    });

    it('tells how far an image is', async () => {
      const { marker, finish } = heldBack();
      const seen: number[] = [];
      const onprogress = ({ progress }: { progress: number }): void => {
        seen.push(progress);
        finish();
      };
      const answer = await callTool(client, 'generate_image', { prompt: marker, ...SMALL }, { onprogress });
      expect(answer.facts.status).toBe('completed');
      expect(seen).toEqual([...new Set(seen)].sort((one, other) => one - other));
      expect(seen.length).toBeGreaterThan(0);
    });
  });

  it('needs a key, one message at a time, and has no sessions', async () => {
    const body = { jsonrpc: '2.0', id: 1, method: 'tools/list' };
    const stranger = await platform.call('/mcp', { body, key: null });
    const metadata = `${platform.url}/.well-known/oauth-protected-resource/mcp`;
    const challenge = `Bearer resource_metadata="${metadata}", scope="images"`;
    expect([stranger.status, stranger.headers.get('www-authenticate')]).toEqual([401, challenge]);
    expect(await stranger.json()).toMatchObject({ error: { code: 'invalid_api_key' } });
    const headers = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' };
    const several = await platform.call('/mcp', { body: JSON.stringify([body, body]), headers });
    expect([several.status, await several.json()]).toMatchObject([400, { error: { code: 'invalid_value' } }]);
    const azure = await platform.call('/mcp', { body, key: null, headers: { ...headers, 'api-key': platform.key } });
    expect(azure.status).toBe(200);
    const stream = await platform.call('/mcp', { headers });
    expect([stream.status, stream.headers.get('allow')]).toEqual([405, 'POST']);
  });

  it('edits the image of a task, of an upload, and of a data URI', async () => {
    const { facts } = await generate(agent, `a house ${newMarker()}`);
    const png = await gradientImage(128, 128, 'png');
    const form = new FormData();
    form.append('file', new Blob([new Uint8Array(png)]), 'a.png');
    const upload = (await (await platform.call('/v1/uploads/images', { body: form })).json()) as { id: string };
    const images = [facts.id, upload.id, `data:image/png;base64,${png.toString('base64')}`];
    const marker = newMarker();
    const edited = await callTool(agent, 'edit_image', { prompt: `bluer ${marker}`, images, ...SMALL });
    expect(edited).toMatchObject({ isError: false, facts: { status: 'completed' } });
    expect(provider.startsOf(marker).map(({ path }) => path)).toEqual([expect.stringMatching(/images\/edits$/)]);
    const foreign = await connect(platform.url, 'legacy', await platform.newKey({}, await platform.newAccount()));
    for (const image of [facts.id, upload.id]) {
      const refused = await callTool(foreign, 'edit_image', { prompt: 'bluer', images: [image] });
      expect(refused).toMatchObject({ isError: true });
    }
    expect(await callTool(foreign, 'get_image', { id: facts.id })).toMatchObject({
      facts: { error: { code: 'task_not_found' } },
    });
  });

  it('answers with the id in time, and an equal call gets the same image, bought once', async () => {
    const { marker, finish } = heldBack();
    const first = await generate(hastyAgent, marker);
    expect(first).toMatchObject({ isError: false, facts: { status: 'pending' } });
    expect(first.text).toContain(`Call get_image with the id ${first.facts.id}`);
    const again = await generate(hastyAgent, marker);
    expect(again.facts).toMatchObject({ id: first.facts.id, status: 'pending', attached: true });
    const polled = await callTool(hastyAgent, 'get_image', { id: first.facts.id, wait_seconds: 0 });
    expect(polled.facts).toMatchObject({ id: first.facts.id, status: 'pending' });
    finish();
    const repeated = await generate(agent, marker);
    expect(repeated.facts).toMatchObject({ id: first.facts.id, status: 'completed', attached: true });
    expect(repeated.text).toContain('nothing was bought');
    expect(startsOf(marker)).toBe(1);
    // It has its result now, so that the same arguments order another one.
    expect(await delivered(first.facts.id)).toBe(true);
    const other = await generate(agent, marker);
    expect(other.facts.id).not.toBe(first.facts.id);
    expect(startsOf(marker)).toBe(2);
  });

  it('buys once for equal calls at the same time, at any instance', async () => {
    const { marker, finish } = heldBack();
    const waiting = generate(agent, marker);
    expect(await waitUntil(() => startsOf(marker) === 1, { timeoutMs: 30_000 })).toBe(true);
    const answers = await Promise.all([generate(hastyAgent, marker), generate(hastyAgent, marker)]);
    finish();
    const { id, status } = (await waiting).facts;
    expect(status).toBe('completed');
    for (const { facts } of answers) expect(facts).toMatchObject({ id, attached: true });
    expect(startsOf(marker)).toBe(1);
  });

  it('gives calls with the same idempotency_key the same image, also once it was delivered', async () => {
    const marker = newMarker();
    const key = { idempotency_key: `agent-${marker}` };
    const first = await generate(agent, marker, key);
    expect((await generate(agent, marker, key)).facts).toMatchObject({ id: first.facts.id, attached: true });
    expect(startsOf(marker)).toBe(1);
    const other = await generate(agent, `${marker} at night`, key);
    expect(other.facts.error).toMatchObject({ code: 'idempotency_key_reused' });
    const wrong = await generate(agent, marker, { idempotency_key: 'ä' });
    expect(wrong.facts.error).toMatchObject({ code: 'invalid_value', param: 'idempotency_key' });
  });

  it('keeps the image of a caller that hangs up', async () => {
    const { marker, finish } = heldBack();
    const leaving = new AbortController();
    const params = { name: 'generate_image', arguments: { prompt: marker, ...SMALL } };
    // Not the client, which would leave the connection open.
    const call = platform.call('/mcp', {
      body: { jsonrpc: '2.0', id: 1, method: 'tools/call', params },
      headers: { accept: 'application/json, text/event-stream' },
      signal: leaving.signal,
    });
    const gone = call.then(
      () => 'answered',
      () => 'gone',
    );
    expect(await waitUntil(() => startsOf(marker) > 0, { timeoutMs: 30_000 })).toBe(true);
    leaving.abort();
    expect(await gone).toBe('gone');
    const noticed = async (): Promise<boolean> => {
      const text = `SELECT id FROM tasks WHERE prompt = $1 AND abandoned_at IS NOT NULL`;
      return (await platform.pool.query(text, [marker])).rowCount === 1;
    };
    expect(await waitUntil(noticed, { timeoutMs: 30_000 })).toBe(true);
    finish();
    expect((await generate(agent, marker)).facts).toMatchObject({ status: 'completed', attached: true });
    expect(startsOf(marker)).toBe(1);
  });

  it('cancels an image, after which an equal call orders a new one', async () => {
    const { marker, finish } = heldBack();
    const { facts } = await generate(hastyAgent, marker);
    const cancelled = await callTool(agent, 'cancel_image', { id: facts.id });
    expect(cancelled).toMatchObject({ isError: false, facts: { id: facts.id, status: 'cancelled' } });
    const read = await callTool(agent, 'get_image', { id: facts.id });
    expect(read).toMatchObject({ isError: true, facts: { error: { code: 'task_cancelled' } } });
    expect(await delivered(facts.id)).toBe(true);
    finish();
    const again = await generate(agent, marker);
    expect(again.facts.status).toBe('completed');
    expect(again.facts.id).not.toBe(facts.id);
  });

  it('explains a failure, which an equal call then tries again', async () => {
    const marker = newMarker();
    provider.plan(marker, { faults: ['moderation'] });
    const failed = await generate(agent, marker);
    expect(failed).toMatchObject({
      isError: true,
      facts: {
        status: 'failed',
        error: { code: 'moderation_blocked' },
        price: { amount: '0.000000', state: 'refunded' },
      },
    });
    expect(await delivered(failed.facts.id)).toBe(true);
    expect((await generate(agent, marker)).facts.status).toBe('completed');
  });

  it('obeys the permissions, the limits, and the models of the key', async () => {
    const chats = await connect(platform.url, 'legacy', await platform.newKey({ scopes: ['chat'] }));
    expect(await generate(chats, 'a house')).toMatchObject({
      isError: true,
      facts: { error: { code: 'endpoint_not_allowed' } },
    });
    const slow = await connect(platform.url, 'legacy', await platform.newKey({ submits_per_minute: 1 }));
    expect((await generate(slow, `a house ${newMarker()}`)).facts.status).toBe('completed');
    const second = await callTool(slow, 'quote_image', { prompt: 'a house' });
    expect(second).toMatchObject({
      isError: true,
      facts: { error: { code: 'rate_limit_exceeded' }, retry_after: expect.any(Number) as number },
    });
    const none = await connect(platform.url, 'legacy', await platform.newKey({ models: ['gpt-5.5'] }));
    expect((await callTool(none, 'list_models', {})).facts).toEqual({ models: [] });
    expect((await generate(none, 'a house')).facts.error).toMatchObject({ code: 'model_not_allowed' });
  });

  it('lists models, and quotes without buying', async () => {
    const models = await callTool(agent, 'list_models', {});
    expect(models.facts['models']).toContainEqual(
      expect.objectContaining({ id: 'gpt-image-2', edits: true, max_n: 1, output_formats: ['png', 'jpeg', 'webp'] }),
    );
    const marker = newMarker();
    const quote = await callTool(agent, 'quote_image', { prompt: marker, size: '16:9' });
    expect(quote.facts).toMatchObject({ object: 'quote', size: '2048x1152', within_budget: true });
    const wrong = await callTool(agent, 'quote_image', { prompt: marker, images: ['task_unknown'] });
    expect(wrong.facts.error).toMatchObject({ code: 'image_file_not_found', param: 'images[0]' });
    expect(startsOf(marker)).toBe(0);
  });

  it('tells an agent that an image needs an approval, buys it once after that, and nothing once it is deleted', async () => {
    const { key } = await platform.newKeyWithId({ approve_above_micros: 0 });
    const approver = await platform.newKey({ scopes: ['approve'] });
    const client = await connect(platform.url, 'modern', key);
    const marker = newMarker();
    const held = await generate(client, `a tower ${marker}`);
    expect(held).toMatchObject({ isError: false, facts: { status: 'pending', phase: 'held' } });
    expect(held.text).toContain('An owner or admin of the account has to approve it');
    const { id = '' } = held.facts;
    await platform.pool.query(`UPDATE tasks SET created_at = created_at - interval '1 hour' WHERE id = $1`, [id]);
    expect((await generate(client, `a tower ${marker}`)).facts.id).toBe(id);
    expect(startsOf(marker)).toBe(0);
    expect((await platform.call(`/v1/tasks/${id}/approve`, { method: 'POST', key: approver })).status).toBe(200);
    const isDone = async () =>
      (await callTool(client, 'get_image', { id, wait_seconds: 5 })).facts.status === 'completed';
    expect(await waitUntil(isDone, { timeoutMs: 60_000 })).toBe(true);
    expect(startsOf(marker)).toBe(1);
    // The second while its image is still being erased.
    expect([200, 202]).toContain((await platform.call(`/v1/tasks/${id}`, { method: 'DELETE', key })).status);
    const gone = await callTool(client, 'get_image', { id });
    expect(gone).toMatchObject({ isError: true, facts: { error: { code: 'task_deleted' } } });
  });
});
