import OpenAI from 'openai';
import { gradientImage } from '#images/sample-images.fixture.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { startApi, type TestProcess } from '../support/processes.js';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';
const ORDER = { model: 'gpt-image-2', prompt: 'x', resolution: '1k', output_format: 'webp' };
const FORMATS = ['both', 'url', 'b64_json'] as const;
const FIELDS = { both: ['url', 'b64_json'], url: ['url'], b64_json: ['b64_json'] };

interface Item {
  readonly url?: string;
  readonly b64_json?: string;
}

describe('the format of an answer', () => {
  let platform: Platform;
  let image: string;
  beforeAll(async () => {
    platform = await startPlatform();
    image = `data:image/png;base64,${(await gradientImage(128, 128, 'png')).toString('base64')}`;
  });
  afterAll(() => platform.close());

  const generate = (changes: object = {}, options = {}, path = GENERATIONS) =>
    platform.call(path, { body: { ...ORDER, ...changes }, ...options });
  const edit = (changes: object = {}, options = {}) =>
    platform.call(EDITS, { body: { ...ORDER, images: [{ image_url: image }], ...changes }, ...options });
  const editForm = async (changes: Record<string, string> = {}, options = {}) => {
    const form = new FormData();
    form.append('image[]', await (await fetch(image)).blob(), 'a.png');
    for (const [name, value] of Object.entries({ ...ORDER, ...changes })) form.append(name, value);
    return platform.call(EDITS, { body: form, ...options });
  };

  async function itemOf(response: Response | Promise<Response>): Promise<Item> {
    const answer = await response;
    expect(answer.status).toBe(200);
    const text = await answer.text();
    expect(Number(answer.headers.get('content-length'))).toBe(Buffer.byteLength(text));
    return (JSON.parse(text) as { data: [Item] }).data[0];
  }
  const fieldsOf = async (response: Response | Promise<Response>) => Object.keys(await itemOf(response));

  it('is a link and the same bytes as base64 where nothing is asked for, in every form of a call', async () => {
    const calls = [generate(), generate({ response_format: null }), generate({}, {}, '/images/generations')];
    for (const call of [...calls, edit(), editForm(), editForm({ response_format: '' })]) {
      const { url = '', b64_json: base64 = '' } = await itemOf(call);
      const linked = Buffer.from(await (await fetch(url)).arrayBuffer());
      expect(linked.toString('base64')).toBe(base64);
    }
  });

  it.each(['url', 'b64_json'] as const)('is %s alone where that is asked for', async (format) => {
    const asked = { response_format: format };
    for (const call of [generate(asked), generate(asked, {}, '/images/generations'), edit(asked), editForm(asked)])
      expect(await fieldsOf(call)).toEqual([format]);
  });

  it('is what the key says where nothing is asked for, and never what the key says where something is', async () => {
    for (const format of FORMATS) {
      const key = await platform.newKey({ default_response_format: format });
      expect(await fieldsOf(generate({}, { key }))).toEqual(FIELDS[format]);
      expect(await fieldsOf(edit({}, { key }))).toEqual(FIELDS[format]);
      expect(await fieldsOf(editForm({}, { key }))).toEqual(FIELDS[format]);
      expect(await fieldsOf(generate({ response_format: 'url' }, { key }))).toEqual(['url']);
      expect(await fieldsOf(edit({ response_format: 'b64_json' }, { key }))).toEqual(['b64_json']);
    }
    expect((await generate({ response_format: 'both' })).status).toBe(400);
  });

  it('is what the account says where neither the call nor the key does', async () => {
    const account = await platform.newAccount();
    await platform.pool.query(`UPDATE accounts SET default_response_format = 'url' WHERE id = $1`, [account]);
    const key = await platform.newKey({}, account);
    expect(await fieldsOf(generate({}, { key }))).toEqual(['url']);
    expect(await fieldsOf(generate({ response_format: 'b64_json' }, { key }))).toEqual(['b64_json']);
    const both = await platform.newKey({ default_response_format: 'both' }, account);
    expect(await fieldsOf(editForm({}, { key: both }))).toEqual(FIELDS.both);
  });

  it.each(['url', 'b64_json'] as const)(
    'is %s where the deployment says so and the key says nothing',
    async (format) => {
      const api: TestProcess = await startApi({ ...platform.settings, DEFAULT_RESPONSE_FORMAT: format });
      const ask = (key: string, body: object = {}) =>
        fetch(api.url + GENERATIONS, {
          method: 'POST',
          headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
          body: JSON.stringify({ ...ORDER, ...body }),
        });
      expect(await fieldsOf(ask(platform.key))).toEqual(FIELDS[format]);
      const both = await platform.newKey({ default_response_format: 'both' });
      expect(await fieldsOf(ask(both))).toEqual(FIELDS.both);
      await api.stop();
    },
  );

  it('of a repeat is that of its own call, finds its task whatever the default is, and buys nothing', async () => {
    const headers = { 'idempotency-key': 'formats' };
    const first = await generate({}, { headers });
    const api = await startApi({ ...platform.settings, DEFAULT_RESPONSE_FORMAT: 'url' });
    const again = await generate({}, { headers });
    const elsewhere = await fetch(api.url + GENERATIONS, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify(ORDER),
    });
    await api.stop();
    const tasks = [first, again, elsewhere].map((answer) => answer.headers.get('x-task-id'));
    expect(new Set(tasks).size).toBe(1);
    const one = await itemOf(first);
    const two = await itemOf(again);
    expect(two.b64_json).toBe(one.b64_json);
    expect(two.url).toContain('/i/task_');
    // The request is the same one, so it is no 422; what absent means is for the process that answers to say.
    expect(await fieldsOf(elsewhere)).toEqual(['url']);
  });

  it('serves clients that read only one of the two through the official SDK', async () => {
    const openai = new OpenAI({ apiKey: platform.key, baseURL: `${platform.url}/v1`, maxRetries: 0 });
    const { data } = await openai.images.generate({ model: 'gpt-image-2', prompt: 'x', size: '1024x1024' });
    expect(data?.[0]?.url).toContain('/i/task_');
    expect(Buffer.from(data?.[0]?.b64_json ?? '', 'base64').length).toBeGreaterThan(1_000);
  });

  it('leaves no warning of Node in the log, such as one about too many listeners', () => {
    expect(platform.api.output()).toContain('"event":"request"');
    expect(platform.api.output()).not.toContain('Warning');
  });
});
