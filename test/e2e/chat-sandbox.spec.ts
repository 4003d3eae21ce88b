import OpenAI from 'openai';
import { waitUntil } from '#embedded/wait-until.js';
import { patient } from '../support/patience.js';
import { startApiPlatform, startPlatform, type Platform } from '../support/platform.js';

const PNG =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAEAAAABACAMAAACdt4HsAAAAA1BMVEV6XP/FEC2JAAAACXBIWXMAAAPoAAAD6AG1e1JrAAAAG0lEQVRYw+3BgQAAAADDoPlT3+AEVQEAAAB8AxBAAAEZszF2AAAAAElFTkSuQmCC';
const TOOLS: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: 'get_weather',
      parameters: {
        type: 'object',
        properties: { city: { type: 'string' }, unit: { enum: ['c', 'f'] } },
        required: ['city', 'unit'],
      },
    },
  },
];

describe('a chat without any provider', () => {
  let platform: Platform;
  let client: OpenAI;
  beforeAll(async () => {
    platform = await startPlatform({ STREAM_PING_MS: '100' });
    client = new OpenAI({ baseURL: `${platform.url}/v1`, apiKey: platform.key, maxRetries: 0 });
  });
  afterAll(() => platform.close());

  const imageAt = (url: string): object => ({ type: 'image_url', image_url: { url }, index: 0 });

  const ask = (text: string, fields: object = {}): OpenAI.ChatCompletionCreateParamsNonStreaming => ({
    model: 'gpt-5.5',
    messages: [{ role: 'user', content: text }],
    ...fields,
  });

  it('answers the same to the same, says that it is a sample, and counts', async () => {
    const one = await client.chat.completions.create(ask('hello'));
    const other = await client.chat.completions.create(ask('hello'));
    expect(one.choices).toEqual(other.choices);
    expect(one.id).toBe(other.id);
    expect(one.choices[0]?.message.content).toContain('SANDBOX SAMPLE');
    expect(one.choices[0]?.message.content).toContain('hello');
    expect(one.usage?.total_tokens).toBe((one.usage?.prompt_tokens ?? 0) + (one.usage?.completion_tokens ?? 0));
  });

  it('streams what it would have answered at once, in several pieces', async () => {
    const whole = await client.chat.completions.create(ask('hello'));
    const contents: string[] = [];
    let finish: string | null = null;
    for await (const chunk of await client.chat.completions.create({ ...ask('hello'), stream: true })) {
      expect(chunk.choices).toHaveLength(1);
      contents.push(chunk.choices[0]?.delta.content ?? '');
      finish = chunk.choices[0]?.finish_reason ?? finish;
    }
    expect(contents.join('')).toBe(whole.choices[0]?.message.content);
    expect(contents.length).toBeGreaterThan(3);
    expect(finish).toBe('stop');
  });

  it('calls a tool that is demanded or named, and goes on from its result', async () => {
    const called = await client.chat.completions.create(ask('hi', { tools: TOOLS, tool_choice: 'required' }));
    expect(called.choices[0]?.finish_reason).toBe('tool_calls');
    const [call] = called.choices[0]?.message.tool_calls ?? [];
    expect(call).toMatchObject({ function: { name: 'get_weather', arguments: '{"city":"sample","unit":"c"}' } });
    expect((await client.chat.completions.create(ask('hi', { tools: TOOLS }))).choices[0]?.finish_reason).toBe('stop');
    const streamed = client.chat.completions.stream({ ...ask('use get_weather', { tools: TOOLS }), stream: true });
    expect((await streamed.finalChatCompletion()).choices[0]?.message.tool_calls).toHaveLength(1);
    const after = await client.chat.completions.create({
      ...ask('hi', { tools: TOOLS, tool_choice: 'required' }),
      messages: [
        { role: 'user', content: 'hi' },
        called.choices[0]!.message,
        { role: 'tool', tool_call_id: call!.id, content: 'rain' },
      ],
    });
    expect(after.choices[0]?.message.content).toContain('rain');
  });

  it('honors limits, stops, several answers and a schema', async () => {
    const short = await client.chat.completions.create(ask('hello', { max_tokens: 2, n: 2 }));
    expect(short.choices.map(({ finish_reason }) => finish_reason)).toEqual(['length', 'length']);
    expect(short.choices[0]?.message.content).toBe('SANDBOX SAMPLE:');
    const stopped = await client.chat.completions.create(ask('hello', { stop: ['model'] }));
    expect(stopped.choices[0]?.message.content).toBe('SANDBOX SAMPLE: no ');
    const schema = { type: 'object', properties: { n: { type: 'integer', minimum: 3 } }, required: ['n'] };
    const format = { type: 'json_schema', json_schema: { name: 'x', schema } };
    const answer = await client.chat.completions.create(ask('hello', { response_format: format }));
    expect(JSON.parse(answer.choices[0]?.message.content ?? '')).toEqual({ n: 3 });
  });

  it.each([
    ['http-429', 429],
    ['http-500', 500],
    ['moderation', 400],
  ])('fails as a provider would: %s', async (fault, status) => {
    const failure: unknown = await client.chat.completions
      .create(ask(`hello [[fault=${fault}]]`))
      .catch((error: unknown) => error);
    expect(failure).toMatchObject({ status });
  });

  it('counts chats against their own limit', async () => {
    const limited = await startApiPlatform({ RATE_CHATS_PER_MINUTE: '2', RATE_SUBMITS_PER_MINUTE: '1' });
    const send = (model: string): Promise<Response> =>
      limited.call('/v1/chat/completions', { body: { ...ask('a tree'), model } });
    expect([(await send('gpt-5.5')).status, (await send('gpt-5.5')).status]).toEqual([200, 200]);
    const refused = await send('gpt-5.5');
    expect([refused.status, refused.headers.get('ratelimit-policy')]).toEqual([429, '"chats";q=2;w=60']);
    await limited.close();
  });

  it('draws with an image model and answers with a link to the image', async () => {
    const { data, response } = await client.chat.completions
      .create({
        model: 'gpt-image-2',
        messages: [
          { role: 'user', content: 'an earlier wish' },
          { role: 'assistant', content: 'done' },
          {
            role: 'user',
            content: [
              { type: 'text', text: 'a red fox' },
              { type: 'image_url', image_url: { url: PNG } },
            ],
          },
        ],
      })
      .withResponse();
    const link = /^!\[image\]\((\S+)\)$/.exec(data.choices[0]?.message.content ?? '')?.[1] ?? '';
    // OpenAI's types know no images of a chat; OpenRouter's clients read them here.
    expect(data.choices[0]?.message).toMatchObject({ images: [imageAt(link)] });
    const image = await fetch(link);
    expect(image.headers.get('content-type')).toBe('image/png');
    expect((await image.arrayBuffer()).byteLength).toBeGreaterThan(10_000);
    const { rows } = await platform.pool.query('SELECT prompt, inputs, model FROM tasks WHERE id = $1', [
      response.headers.get('x-task-id'),
    ]);
    expect(rows).toEqual([
      { prompt: 'a red fox', model: 'gpt-image-2', inputs: [expect.objectContaining({ kind: 'object' })] },
    ]);
    expect(data.usage?.completion_tokens).toBeGreaterThan(0);
  });

  it('draws what the options of an image request ask for, or the image_config of OpenRouter', async () => {
    const draw = (fields: object): Promise<Response> =>
      platform.call('/v1/chat/completions', { body: { ...ask('a red fox'), model: 'gpt-image-2', ...fields } });
    const optionsOf = async (response: Response): Promise<unknown> => {
      expect(response.status).toBe(200);
      const id = response.headers.get('x-task-id');
      const { rows } = await platform.pool.query<{ options: object }>('SELECT options FROM tasks WHERE id = $1', [id]);
      return rows[0]?.options;
    };
    const sized = await draw({ size: '512x512', quality: 'low', output_format: 'webp', temperature: 1 });
    expect(sized.headers.get('x-ignored-params')).toBeNull();
    expect(await optionsOf(sized)).toMatchObject({ size: '512x512', quality: 'low', outputFormat: 'webp' });
    const configured = await draw({ image_config: { aspect_ratio: '16:9', image_size: '1K', seed: 7 } });
    expect(configured.headers.get('x-ignored-params')).toBe('image_config.seed');
    expect(await optionsOf(configured)).toMatchObject({ size: '16:9', resolution: '1k' });
    const both = await draw({
      size: '1:1',
      resolution: null,
      image_config: { aspect_ratio: '16:9', image_size: '1k' },
    });
    expect(await optionsOf(both)).toMatchObject({ size: '1:1', resolution: '1k' });
    for (const [fields, param] of [
      [{ size: '17:1' }, 'size'],
      [{ image_config: { image_size: '0.5K' } }, 'image_config.image_size'],
      [{ image_config: '16:9' }, 'image_config'],
      [{ strict: true, image_config: { seed: 7 } }, 'image_config.seed'],
    ] as const) {
      const refused = await draw(fields);
      expect([refused.status, await refused.json()]).toMatchObject([400, { error: { param } }]);
    }
  });

  it('sells nobody an image who asks what it would cost', async () => {
    for (const model of ['gpt-image-2', 'gpt-5.5']) {
      for (const [query, param] of [
        ['dry_run=true', 'dry_run'],
        ['dry_run[]=true', 'dry_run'],
        ['Async=true', 'async'],
        ['max_price=1', 'max_price'],
      ]) {
        const asked = await platform.call(`/v1/chat/completions?${query}`, { body: { ...ask('a red fox'), model } });
        expect([asked.status, await asked.json()]).toMatchObject([
          ...[400, { error: { code: 'unsupported_parameter', param } }],
        ]);
      }
    }
    const azure = await platform.call('/v1/chat/completions?api-version=2026-10-01', {
      body: { ...ask('a red fox'), model: 'gpt-5.5' },
    });
    expect(azure.status).toBe(200);
  });

  it('draws in a stream, with comments while it waits', async () => {
    // Nothing is drawn before a comment has come.
    platform.worker.kill('SIGSTOP');
    const response = await platform.call('/v1/chat/completions', {
      body: { ...ask('a fox that waits'), model: 'gpt-image-2', stream: true },
    });
    let text = '';
    for await (const part of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(part).toString();
      if (/"role".*: ping\n/s.test(text)) platform.worker.kill('SIGCONT');
    }
    const events = text.split('\n\n').filter((part) => part.startsWith('data: '));
    expect(events.at(-1)).toBe('data: [DONE]');
    const deltas = events.slice(0, -1).map((part) => (JSON.parse(part.slice(6)) as { choices: object[] }).choices[0]);
    const link = /!\[image\]\((http[^)]+)\)/.exec(text)?.[1] ?? '';
    expect(deltas).toEqual([
      expect.objectContaining({ delta: { role: 'assistant', content: '' } }),
      expect.objectContaining({ delta: { content: `![image](${link})`, images: [imageAt(link)] } }),
      expect.objectContaining({ delta: {}, finish_reason: 'stop' }),
    ]);
    expect(text.slice(text.indexOf('"role"'), text.indexOf('![image]'))).toContain(': ping\n\n');
  });

  it('tells what went wrong with an image, at once and in a stream', async () => {
    const draw = (messages: unknown, fields: object = {}): Promise<Response> =>
      platform.call('/v1/chat/completions', { body: { model: 'gpt-image-2', messages, ...fields } });
    const said = (content: unknown): unknown[] => [{ role: 'user', content }];
    const refused = await draw(said('a fox [[fault=moderation]]'));
    expect(refused.status).toBe(400);
    expect(await refused.json()).toMatchObject({ error: { code: 'moderation_blocked', param: 'messages' } });
    const streamed = await draw(said('a fox [[fault=moderation]]'), { stream: true });
    expect(await streamed.text()).toContain('"moderation_blocked"');
    const bad = await draw(
      said([
        { type: 'text', text: 'a' },
        { type: 'image_url', image_url: { url: 'ftp://a' } },
      ]),
    );
    expect(await bad.json()).toMatchObject({
      error: {
        code: 'invalid_image_url',
        param: 'messages',
        message: expect.stringMatching(/^Image 1 in messages must be an http\(s\) URL/),
      },
    });
    expect((await draw([{ role: 'system', content: 'x' }])).status).toBe(400);
    expect((await draw(said('a'), { n: 2 })).status).toBe(400);
  });

  it('draws once for an SDK that tries again', async () => {
    const send = (retry: number, signal: AbortSignal): Promise<Response> =>
      platform.call('/v1/chat/completions', {
        body: { ...ask('a lighthouse'), model: 'gpt-image-2' },
        headers: { 'x-stainless-retry-count': String(retry) },
        signal,
      });
    const tasks = async (): Promise<unknown[]> =>
      (await platform.pool.query<{ id: string }>(`SELECT id FROM tasks WHERE prompt LIKE 'a lighthouse%'`)).rows;
    const gone = new AbortController();
    // Nothing is drawn before the first caller has left.
    platform.worker.kill('SIGSTOP');
    const first = send(0, gone.signal).then(
      () => 'answered',
      () => 'left',
    );
    expect(await waitUntil(async () => (await tasks()).length === 1, { timeoutMs: 30_000 })).toBe(true);
    gone.abort();
    expect(await first).toBe('left');
    const second = send(1, AbortSignal.timeout(patient(60_000)));
    platform.worker.kill('SIGCONT');
    expect((await second).status).toBe(200);
    expect(await tasks()).toHaveLength(1);
  });
});
