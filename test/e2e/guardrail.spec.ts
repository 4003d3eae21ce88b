import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { waitUntil } from '#embedded/wait-until.js';
import { endedBatch, lineOf, resultsIn, startBatch } from '../support/batches.js';
import { callTool, mcpClient } from '../support/mcp-client.js';
import { startPlatform, type CallOptions, type Platform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';
import {
  hang,
  image,
  json,
  startUpstream,
  text,
  type Script,
  type ScriptedUpstream,
  type UpstreamCall,
} from '../support/scripted-upstream.js';

const CANARY = 'canary-71bd0e';
const GENERATIONS = '/v1/images/generations';
const CHATS = '/v1/chat/completions';
const PATH = '/policy/beta/litellm_basic_guardrail_api';

/** What the guardrail is asked. */
interface Question {
  readonly texts: readonly string[];
  readonly images?: readonly string[];
  readonly input_type: string;
  readonly litellm_call_id: string;
  readonly request_data: Readonly<Record<string, string>>;
}

/** What the guardrail answers depends on a word in the texts, so tests can't disturb each other. */
const ANSWERS: Readonly<Record<string, Script>> = {
  forbidden: json({ action: 'BLOCKED', blocked_reason: 'No pears\u0000\n here.' }),
  soften: json({ action: 'GUARDRAIL_INTERVENED', texts: [`a mild ${CANARY}`] }),
  empty: json({ action: 'GUARDRAIL_INTERVENED', texts: [' '] }),
  repaint: json({ action: 'GUARDRAIL_INTERVENED', images: ['AAAA'] }),
  broken: text(`{"action": "NO ${CANARY}`, 'application/json'),
  strange: json({ action: 'ALLOW' }),
  failing: json({ action: 'NONE' }, 500),
  moved: json({ action: 'NONE' }, 307, { location: '/elsewhere' }),
  huge: text(`{"action":"NONE","blocked_reason":"${'x'.repeat(5_000_000)}"}`, 'application/json'),
  hanging: hang(),
};

describe('the guardrail', () => {
  let upstream: ScriptedUpstream;
  let guard: ScriptedUpstream;
  let platform: Platform;
  let folder: string;
  let png: Buffer;
  const held = new Map<string, Promise<void>>();

  beforeAll(async () => {
    [upstream, guard] = [await startUpstream(), await startUpstream()];
    png = await sharp({ create: { width: 1024, height: 1024, channels: 3, background: '#406080' } })
      .png()
      .toBuffer();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-guardrail-'));
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  up: { type: openai, base_url: "${upstream.url}", keys: [{ env: UP_KEY, name: main }] }
models:
  gpt-image-2: { kind: image, routes: [{ provider: up }] }
  talk: { kind: chat, routes: [{ provider: up }] }
`,
    );
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      UP_KEY: 'upstream-secret',
      LOG_LEVEL: 'debug',
      GUARDRAIL_URL: guard.url.replace(/v1$/, 'policy/'),
      GUARDRAIL_KEY: 'guard-secret',
      GUARDRAIL_TIMEOUT_MS: '60000',
    });
    const generated = image(png);
    const talked = json({ id: 'chat_1', object: 'chat.completion', choices: [] });
    upstream.script((call, response) => (call.path.includes('/images/') ? generated : talked)(call, response));
    guard.script(async (call, response) => {
      const said = question(call).texts.join(' ');
      for (const [word, until] of held) if (said.includes(word)) await until;
      const found = Object.keys(ANSWERS).find((word) => said.includes(word)) ?? '';
      await (ANSWERS[found] ?? json({ action: 'NONE' }))(call, response);
    });
  });
  afterAll(async () => {
    await platform.close();
    await Promise.all([upstream.close(), guard.close()]);
    await rm(folder, { recursive: true, force: true });
  });

  let count = 0;
  const unique = (word: string): string => `${CANARY} ${word} number ${++count}.`;
  const question = ({ body }: UpstreamCall): Question => JSON.parse(String(body)) as Question;
  const asked = (said: string): UpstreamCall[] => guard.calls.filter((call) => question(call).texts.includes(said));
  const generate = (prompt: string, fields: object = {}, options: CallOptions = {}, path = GENERATIONS) =>
    platform.call(path, { body: { model: 'gpt-image-2', prompt, resolution: '1k', ...fields }, ...options });
  const errorOf = async (response: Response) => {
    const { error } = (await response.json()) as { error: Record<string, unknown> };
    return { status: response.status, ...error };
  };
  const bought = (said: string): number => upstream.calls.filter(({ body }) => String(body).includes(said)).length;
  async function tasksOf(prompt: string): Promise<object[]> {
    const { rows } = await platform.pool.query<object>('SELECT options FROM tasks WHERE prompt = $1', [prompt]);
    return rows;
  }

  it('is asked about the prompt and images of an order, which is bought as it is', async () => {
    const { id, key } = await platform.newKeyWithId({ end_users: 'forward', tags: ['shop'] });
    const said = unique('apple');
    const form = new FormData();
    for (const [name, value] of Object.entries({ prompt: said, user: 'ann-1', model: 'gpt-image-2' }))
      form.append(name, value);
    form.append('image', new Blob([new Uint8Array(png)], { type: 'image/png' }), 'a.png');
    const answer = await platform.call('/v1/images/edits', { key, body: form });
    expect(answer.status).toBe(200);
    expect(await answer.json()).not.toHaveProperty('warnings');
    const [call, ...others] = asked(said);
    expect(others).toEqual([]);
    expect([call?.path, call?.headers['x-api-key']]).toEqual([PATH, 'guard-secret']);
    expect(question(call as UpstreamCall)).toEqual({
      input_type: 'request',
      litellm_call_id: answer.headers.get('x-task-id'),
      texts: [said],
      images: [png.toString('base64')],
      request_data: {
        user_api_key_hash: id,
        user_api_key_team_id: expect.any(String) as string,
        user_api_key_end_user_id: 'ann-1',
      },
      additional_provider_specific_params: { model: 'gpt-image-2', tags: ['shop'] },
    });
    expect(bought(said)).toBe(1);
  });

  it('blocks an order before anything is bought, stored, or reserved', async () => {
    const said = unique('forbidden');
    const error = await errorOf(
      await generate(said, { image_urls: [`data:image/png;base64,${png.toString('base64')}`] }),
    );
    expect(error).toEqual({
      status: 400,
      type: 'image_generation_user_error',
      code: 'moderation_blocked',
      param: 'prompt',
      message: 'The request was blocked by the guardrail of this service. No pears  here.',
      moderation_details: { categories: [], moderation_stage: 'input' },
    });
    expect([await tasksOf(said), bought(said)]).toEqual([[], 0]);
  });

  it('changes a prompt: the changed one is bought, and the answer says so', async () => {
    const said = unique('soften');
    const answer = await generate(said, {}, { headers: { 'idempotency-key': said.replaceAll(' ', '-') } });
    expect(answer.status).toBe(200);
    const warnings = ['The prompt was changed by the guardrail of this service.'];
    expect(await answer.json()).toMatchObject({ warnings });
    const changed = `a mild ${CANARY}`;
    expect(JSON.parse(String(upstream.calls.at(-1)?.body))).toMatchObject({ prompt: changed });
    expect(await tasksOf(changed)).toMatchObject([{ options: { promptChanged: true } }]);
    expect(await tasksOf(said)).toEqual([]);
    const again = await generate(said, {}, { headers: { 'idempotency-key': said.replaceAll(' ', '-') } });
    expect([again.headers.get('x-task-id'), asked(said).length]).toEqual([answer.headers.get('x-task-id'), 1]);
    for (const [word, fields] of [
      ['soften', { strict: true }],
      ['empty', {}],
      ['repaint', { image_urls: [`data:image/png;base64,${png.toString('base64')}`] }],
    ] as const)
      expect(await errorOf(await generate(unique(word), fields))).toMatchObject({ code: 'moderation_blocked' });
  });

  it('is not asked again about a request that repeats a purchase', async () => {
    const said = unique('plum');
    const once = () => generate(said, {}, { headers: { 'idempotency-key': said.replaceAll(' ', '-') } });
    const [first, second] = [await once(), await once()];
    expect([first.status, second.status, asked(said).length, bought(said)]).toEqual([200, 200, 1, 1]);
    expect(second.headers.get('x-task-id')).toBe(first.headers.get('x-task-id'));
  });

  it('holds up nothing else while it is slow, and buys nothing for a caller who leaves meanwhile', async () => {
    const [slow, left] = [unique('slow'), unique('left')];
    let release = (): void => undefined;
    held.set(slow, new Promise((resolve) => (release = resolve)));
    held.set(left, new Promise(() => undefined));
    const caller = new AbortController();
    const [waiting, leaving] = [generate(slow), generate(left, {}, { signal: caller.signal }).catch(() => 'left')];
    const areAsked = (): boolean => asked(slow).length === 1 && asked(left).length === 1;
    expect(await waitUntil(areAsked, { timeoutMs: 30_000 })).toBe(true);
    expect((await generate(unique('quick'))).status).toBe(200);
    caller.abort();
    await asked(left)[0]?.closed;
    release();
    expect([(await waiting).status, await leaving]).toEqual([200, 'left']);
    expect([await tasksOf(left), bought(left), bought(slow)]).toEqual([[], 0, 1]);
  });

  it('checks batches and agents like any other order', async () => {
    const [fine, forbidden] = [unique('pear'), unique('forbidden')];
    const lines = [fine, forbidden].map((prompt, at) =>
      lineOf(`line-${at}`, { model: 'gpt-image-2', prompt, resolution: '1k' }),
    );
    const batch = await endedBatch(platform, (await startBatch(platform, lines)).id);
    expect(batch.request_counts).toEqual({ total: 2, completed: 1, failed: 1 });
    const [failed] = await resultsIn(platform, batch.error_file_id);
    expect(failed).toMatchObject({
      custom_id: 'line-1',
      response: { status_code: 400, body: { error: { code: 'moderation_blocked' } } },
    });
    const client = await mcpClient({ url: platform.url, key: platform.key });
    const answer = await callTool(client, 'generate_image', { prompt: unique('forbidden'), size: '1024x1024' });
    await client.close();
    expect(answer).toMatchObject({ isError: true, facts: { error: { code: 'moderation_blocked' } } });
  });

  it('is asked about all that a chat says, which is passed on byte for byte or not at all', async () => {
    const said = unique('melon');
    const picture = `data:image/png;base64,${png.toString('base64')}`;
    const messages = [
      { role: 'system', content: 'be kind' },
      {
        role: 'user',
        content: [
          { type: 'text', text: said },
          { type: 'image_url', image_url: { url: picture } },
        ],
      },
    ];
    const body = ` {"model":"talk","messages":${JSON.stringify(messages)}}`;
    const headers = { 'content-type': 'application/json' };
    expect((await platform.call(CHATS, { headers, body })).status).toBe(200);
    expect(String(upstream.calls.at(-1)?.body)).toBe(body);
    const [call] = asked(said);
    expect(question(call as UpstreamCall)).toMatchObject({ texts: ['be kind', said], images: [picture] });
    for (const [path, input] of [
      [CHATS, { messages: [{ role: 'user', content: unique('forbidden') }] }],
      [CHATS, { messages: [{ role: 'user', content: unique('soften') }] }],
      ['/v1/responses', { input: unique('forbidden') }],
      ['/v1/responses', { input: 'hi', instructions: unique('forbidden') }],
    ] as const)
      expect(await errorOf(await platform.call(path, { body: { model: 'talk', ...input } }))).toMatchObject({
        status: 400,
        code: 'moderation_blocked',
      });
  });

  it.each<[string, (said: string) => object]>([
    [
      'a schema for the answer',
      (said) => ({ response_format: { type: 'json_schema', json_schema: { description: said } } }),
    ],
    [
      'a name in a schema',
      (said) => ({ response_format: { json_schema: { schema: { properties: { [said]: {} } } } } }),
    ],
    ['a member that has links', (said) => ({ messages: [{ role: 'user', content: [{ type: 'text', url: said }] }] })],
    [
      'a member that has kinds',
      (said) => ({ tools: [{ type: 'function', function: { name: 'f', parameters: { id: said } } }] }),
    ],
    ['a member that nobody knows', (said) => ({ Instructions: said })],
    [
      'a long text that begins like an image',
      (said) => ({ messages: [{ role: 'user', content: `data:image, ${said} `.padEnd(20_000, 'x') }] }),
    ],
  ])('is asked about what a chat says in %s', async (_where, fields) => {
    const said = unique('forbidden');
    const messages = [{ role: 'user', content: 'hi' }];
    const answer = await platform.call(CHATS, { body: { model: 'talk', messages, ...fields(said) } });
    expect(await errorOf(answer)).toMatchObject({ status: 400, code: 'moderation_blocked' });
    expect(bought(said)).toBe(0);
  });

  it('is asked about nothing that no model reads, and lets no member stand twice', async () => {
    const said = unique('melon');
    const options = { response_format: { type: 'text' }, metadata: { note: 'a secret note' }, user: 'ann b' };
    const body = { model: 'talk', messages: [{ role: 'user', content: said }], ...options };
    expect((await platform.call(CHATS, { body })).status).toBe(200);
    expect(question(asked(said)[0] as UpstreamCall).texts).toEqual([said]);
    const hidden = unique('forbidden');
    const message = `{"role":"user","content":${JSON.stringify(hidden)},"content":"hi"}`;
    const twice = { headers: { 'content-type': 'application/json' }, body: `{"model":"talk","messages":[${message}]}` };
    expect(await errorOf(await platform.call(CHATS, twice))).toMatchObject({ status: 400, code: 'invalid_json' });
    expect(bought(hidden)).toBe(0);
  });

  /** Last: they run lines of batches, too. */
  describe('of processes that give up soon', () => {
    let refusing: TestProcess;
    let accepting: TestProcess;
    beforeAll(async () => {
      const impatient = { ...platform.settings, GUARDRAIL_TIMEOUT_MS: '500' };
      [refusing, accepting] = await Promise.all([
        startApi(impatient),
        startApi({ ...impatient, GUARDRAIL_FAILURE: 'accept' }),
      ]);
    });
    afterAll(() => Promise.all([refusing.stop(), accepting.stop()]));

    it.each(['broken', 'strange', 'failing', 'moved', 'huge', 'hanging'])(
      'when it is %s, the setting decides whether the order is refused or accepted',
      async (word) => {
        const said = unique(word);
        const refused = await generate(said, {}, { at: refusing });
        expect(refused.headers.get('x-should-retry')).toBe('true');
        expect(await errorOf(refused)).toMatchObject({ status: 503, code: 'server_is_overloaded', param: null });
        expect([await tasksOf(said), bought(said)]).toEqual([[], 0]);
        expect((await generate(said, {}, { at: accepting })).status).toBe(200);
        expect(bought(said)).toBe(1);
        if (word !== 'hanging') expect((await generate(unique(word))).status).toBe(503);
      },
    );

    it('decides the same about chats', async () => {
      const late = { body: { model: 'talk', messages: [{ role: 'user', content: unique('hanging') }] } };
      expect((await platform.call(CHATS, { ...late, at: refusing })).status).toBe(503);
      expect((await platform.call(CHATS, { ...late, at: accepting })).status).toBe(200);
    });

    it('leaves nothing of what it was asked in a log', () => {
      const written = [platform.api, platform.worker, refusing, accepting].map((one) => one.output()).join('\n');
      expect(written).toContain('guardrail.failed');
      expect(written).toContain('task.completed');
      for (const secret of [CANARY, 'guard-secret', png.toString('base64').slice(100, 140)])
        expect(written).not.toContain(secret);
    });
  });
});
