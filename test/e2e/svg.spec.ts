import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gradientImage } from '#images/sample-images.fixture.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { image, startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';

const GENERATIONS = '/v1/images/generations';
const UNSAFE = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 20 10"><script>alert(1)</script>
  <style>rect { fill: teal }</style><rect width="20" height="10" onload="alert(1)"/>
  <image href="https://evil.example/a.png"/></svg>`;

interface Answer {
  readonly output_format: string;
  readonly size: string;
  readonly warnings?: string[];
  readonly data: [{ readonly url: string; readonly b64_json: string }];
}

/** Off unless an entry lists it: a document can do more than pixels can. */
describe('SVG', () => {
  let upstream: ScriptedUpstream;
  let platform: Platform;
  let folder: string;

  beforeAll(async () => {
    upstream = await startUpstream();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-svg-'));
    const file = `providers:
  vendor: { type: openai, base_url: "${upstream.url}", keys: [{ env: VENDOR_KEY }] }
  sandbox: { type: sandbox }
models:
  gpt-image-2: { kind: image, routes: [{ provider: sandbox }] }
  draws: { kind: image, accepts: { output_formats: [png, svg], max_n: 4 }, routes: [{ provider: vendor }] }
  sandboxed: { kind: image, accepts: { output_formats: [svg] }, routes: [{ provider: sandbox }] }
`;
    await writeFile(join(folder, 'models.yaml'), file);
    platform = await startPlatform({ MODELS_FILE: join(folder, 'models.yaml'), VENDOR_KEY: 'k' });
  });
  afterAll(async () => {
    await platform.close();
    await upstream.close();
    await rm(folder, { recursive: true });
  });

  const ordered = (fields: object): Promise<Response> =>
    platform.call(GENERATIONS, {
      body: { model: 'draws', prompt: 'a pear', size: '1024x1024', output_format: 'svg', ...fields },
    });

  async function problem(response: Response): Promise<string> {
    const { error } = (await response.json()) as { error: { code: string; param: string } };
    return `${response.status} ${error.code} ${error.param}`;
  }

  it('is stored, served and answered without what runs or loads something, at the size that was ordered', async () => {
    upstream.script(image(Buffer.from(UNSAFE)));
    const response = await ordered({});
    expect(response.status).toBe(200);
    const { data, output_format: format, size, warnings } = (await response.json()) as Answer;
    expect([format, size]).toEqual(['svg', '1024x1024']);
    expect(warnings).toEqual(['Parts of the SVG document that could run scripts or load other files were removed.']);
    const served = await fetch(data[0].url);
    const text = await served.text();
    expect(Buffer.from(data[0].b64_json, 'base64').toString()).toBe(text);
    expect(text).not.toMatch(/script|onload|evil/);
    expect(text).toContain('width="1024" height="1024"');
    expect(text).toContain('rect { fill: teal }');
    expect(Object.fromEntries(served.headers)).toMatchObject({
      'content-type': 'image/svg+xml',
      'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox",
      'x-content-type-options': 'nosniff',
    });
    const { rows } = await platform.pool.query(`SELECT images FROM tasks WHERE model = 'draws'`);
    expect(rows).toMatchObject([{ images: [{ contentType: 'image/svg+xml', width: 1024, height: 1024 }] }]);
  });

  it('fails when the provider sends pixels, or a document that is none, and a strict request when it is reduced', async () => {
    for (const bytes of [await gradientImage(64, 64, 'png'), Buffer.from('<svg><g></svg>')]) {
      upstream.script(image(bytes));
      expect(await problem(await ordered({ prompt: `not ${bytes.length}` }))).toBe(
        '502 upstream_invalid_response null',
      );
    }
    upstream.script(image(Buffer.from(UNSAFE)));
    expect(await problem(await ordered({ strict: true }))).toBe('502 upstream_invalid_response null');
  });

  it('is one document, which is not streamed, and its author means nothing without it', async () => {
    expect(await problem(await ordered({ n: 2 }))).toBe('400 unsupported_parameter n');
    expect(await problem(await ordered({ stream: true }))).toBe('400 unsupported_parameter stream');
    expect(await problem(await ordered({ partial_images: 1 }))).toBe('400 unsupported_parameter partial_images');
    const author = { svg: { model: 'gpt-5.5' } };
    expect(await problem(await ordered({ ...author, output_format: 'png' }))).toBe('400 unsupported_parameter svg');
    expect(await problem(await ordered({ svg: 'gpt-5.5' }))).toBe('400 invalid_type svg');
    expect(await problem(await ordered({ svg: { reasoning: { effort: 1 } } }))).toBe('400 invalid_type svg');
    expect(await problem(await ordered({ svg: { effort: 'low' } }))).toBe('400 unsupported_parameter svg');
    expect(await problem(await ordered({ model: 'gpt-image-2' }))).toBe('400 invalid_value output_format');
  });

  it('can be drawn in the sandbox, also for an edit', async () => {
    const drawn = await ordered({ model: 'sandboxed', response_format: 'b64_json' });
    const { data } = (await drawn.json()) as Answer;
    expect(Buffer.from(data[0].b64_json, 'base64').toString()).toMatch(/^<svg /);
    const form = new FormData();
    form.append(
      'image',
      new Blob([new Uint8Array(await gradientImage(96, 64, 'png'))], { type: 'image/png' }),
      'a.png',
    );
    const author = { 'svg[model]': 'gpt-5.5', 'svg[reasoning][effort]': 'low' };
    for (const [name, value] of Object.entries({ model: 'sandboxed', prompt: 'an edit', ...author }))
      form.append(name, value);
    const edited = await platform.call('/v1/images/edits', { body: form });
    expect(((await edited.json()) as Answer).size).toBe('96x64');
    const { rows } = await platform.pool.query(`SELECT options -> 'svg' AS svg FROM tasks WHERE prompt = 'an edit'`);
    expect(rows).toEqual([{ svg: { model: 'gpt-5.5', reasoning: { effort: 'low' } } }]);
  });
});
