import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import {
  animatedAvif,
  animatedGif,
  avifThatClaims,
  exactAvif,
  gradientImage,
  heicStart,
  pixelsOf,
} from '#images/sample-images.fixture.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { image, startUpstream, type ScriptedUpstream } from '../support/scripted-upstream.js';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';

interface Failure {
  readonly code: string;
  readonly param: string | null;
  readonly message: string;
}

describe('images in formats that no provider accepts', () => {
  let platform: Platform;
  let upstream: ScriptedUpstream;
  let elsewhere: Server;
  let folder: string;
  let base: string;
  /** What is sent, and what the provider must see of it. */
  let files: Readonly<Record<'avif' | 'gif', { readonly sent: Buffer; readonly seen: Buffer }>>;
  const served = new Map<string, Buffer>();

  beforeAll(async () => {
    upstream = await startUpstream();
    upstream.script(image(await gradientImage(1024, 1024, 'png')));
    const gif = await gradientImage(96, 80, 'gif', 4);
    files = {
      avif: { sent: await exactAvif(96, 80, 4), seen: await gradientImage(96, 80, 'png', 4) },
      gif: { sent: gif, seen: gif },
    };
    elsewhere = createServer((request, response) => void response.end(served.get(request.url ?? '')));
    elsewhere.listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    const { port } = elsewhere.address() as AddressInfo;
    base = `http://127.0.0.1:${port}`;
    folder = await mkdtemp(join(tmpdir(), 'darkroom-converted-'));
    const catalog = `providers:
  vendor: { type: openai, base_url: "${upstream.url}", keys: [{ env: VENDOR_KEY }] }
models:
  gpt-image-2: { kind: image, routes: [{ provider: vendor }] }
`;
    await writeFile(join(folder, 'models.yaml'), catalog);
    platform = await startPlatform({
      MODELS_FILE: join(folder, 'models.yaml'),
      VENDOR_KEY: 'k',
      EGRESS_ALLOW_CIDRS: '127.0.0.1/32',
      EGRESS_PORTS: `80,443,${port}`,
    });
  });
  afterAll(async () => {
    await platform.close();
    elsewhere.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
  });

  const uriOf = (bytes: Buffer, type: string): string => `data:image/${type};base64,${bytes.toString('base64')}`;
  const fields = { model: 'gpt-image-2', prompt: 'a fox', size: '1:1', resolution: '1k' };
  const generate = (urls: readonly string[], more: object = {}): Promise<Response> =>
    platform.call(GENERATIONS, { body: { ...fields, image_urls: urls, ...more } });
  function form(images: readonly Buffer[], more: Readonly<Record<string, string>> = {}): Promise<Response> {
    const parts = new FormData();
    for (const bytes of images) parts.append('image[]', new Blob([new Uint8Array(bytes)]), 'a.png');
    for (const [name, value] of Object.entries({ ...fields, ...more })) parts.append(name, value);
    return platform.call(EDITS, { body: parts });
  }
  async function upload(bytes: Buffer): Promise<Response> {
    const parts = new FormData();
    parts.append('file', new Blob([new Uint8Array(bytes)]), 'a');
    return platform.call('/v1/uploads/images', { body: parts });
  }
  function address(bytes: Buffer): string {
    const path = `/${served.size}`;
    served.set(path, bytes);
    return base + path;
  }
  async function failure(response: Response): Promise<Failure & { readonly status: number }> {
    const { error } = (await response.json()) as { error: Failure };
    return { status: response.status, ...error };
  }
  async function warningsOf(response: Response): Promise<unknown> {
    const text = await response.text();
    expect([response.status, text]).toEqual([200, expect.any(String)]);
    const task = await platform.call(`/v1/tasks/${response.headers.get('x-task-id')}`);
    const { warnings } = ((await task.json()) as { data: { warnings?: unknown } }).data;
    // The answer tells of the same.
    expect((JSON.parse(text) as { warnings?: unknown }).warnings).toEqual(warnings);
    return warnings;
  }
  /** The images of the provider's last call. */
  async function seen(): Promise<Buffer[]> {
    const { body, headers } = upstream.calls.at(-1) ?? { body: Buffer.alloc(0), headers: {} };
    const type = { 'content-type': headers['content-type'] ?? '' };
    const parts = await new Response(new Uint8Array(body), { headers: type }).formData();
    const sent = [...parts.values()].filter((part) => part instanceof Blob);
    for (const part of sent) expect(part.type).toBe('image/png');
    return Promise.all(sent.map(async (part) => Buffer.from(await part.arrayBuffer())));
  }
  /** The provider got these images, as PNG, with every visible pixel. */
  async function expectSeen(images: readonly Buffer[]): Promise<void> {
    const received = await seen();
    expect(received).toHaveLength(images.length);
    const visible = async (bytes: Buffer): Promise<Buffer> => pixelsOf(await sharp(bytes).flatten().png().toBuffer());
    for (const [index, bytes] of received.entries()) {
      const { format, hasAlpha, width, height } = await sharp(bytes).metadata();
      expect([format, hasAlpha, width, height]).toEqual(['png', true, 96, 80]);
      expect((await visible(bytes)).equals(await visible(images[index] ?? bytes))).toBe(true);
    }
  }

  const bothSeen = (): Buffer[] => [files.avif.seen, files.gif.seen];
  const bothSent = (): Buffer[] => [files.avif.sent, files.gif.sent];

  it('in a form reach the provider as PNG with the same pixels, and the task says so', async () => {
    expect(await warningsOf(await form(bothSent()))).toEqual([
      'image[0] was converted from AVIF to PNG.',
      'image[1] was converted from GIF to PNG.',
    ]);
    await expectSeen(bothSeen());
  });

  it('in data URIs do too, whatever type they claim', async () => {
    const avif = uriOf(files.avif.sent, 'png');
    const gif = uriOf(files.gif.sent, 'gif');
    const words = ['was converted from AVIF to PNG.', 'was converted from GIF to PNG.'];
    expect(await warningsOf(await generate([avif, gif]))).toEqual(words.map((text, n) => `image_urls[${n}] ${text}`));
    await expectSeen(bothSeen());
    const edit = { ...fields, images: [{ image_url: avif }, { image_url: gif }] };
    expect(await warningsOf(await platform.call(EDITS, { body: edit }))).toEqual(
      words.map((text, n) => `images[${n}].image_url ${text}`),
    );
    await expectSeen(bothSeen());
  });

  it('at addresses, and as uploads, do too', async () => {
    const words = ['image_urls[0] was converted from AVIF to PNG.', 'image_urls[1] was converted from GIF to PNG.'];
    expect(await warningsOf(await generate([address(files.avif.sent), address(files.gif.sent)]))).toEqual(words);
    await expectSeen(bothSeen());
    const links: string[] = [];
    for (const [type, { sent }] of Object.entries(files)) {
      const answer = (await (await upload(sent)).json()) as { url: string; content_type: string };
      expect(answer.content_type).toBe(`image/${type}`);
      links.push(answer.url);
    }
    expect(await warningsOf(await generate(links))).toEqual(words);
    await expectSeen(bothSeen());
    expect(await failure(await generate(links, { strict: true }))).toMatchObject({
      status: 400,
      code: 'unsupported_image_media_type',
      param: 'image_urls[0]',
    });
  });

  it('in a chat with an image model do too', async () => {
    const content = [
      { type: 'text', text: 'a fox' },
      ...bothSent().map((bytes) => ({ type: 'image_url', image_url: { url: uriOf(bytes, 'png') } })),
    ];
    const body = { model: 'gpt-image-2', messages: [{ role: 'user', content }] };
    const answer = await platform.call('/v1/chat/completions', { body });
    expect([answer.status, await answer.text()]).toEqual([200, expect.any(String)]);
    await expectSeen(bothSeen());
  });

  it.each(['avif', 'gif'] as const)('of %s are refused by name if the request is strict', async (type) => {
    const { sent } = files[type];
    const before = upstream.calls.length;
    const png = await gradientImage(96, 80, 'png');
    const words = expect.stringContaining(`${type.toUpperCase()}, which would be converted to PNG`) as string;
    const refused = { status: 400, code: 'unsupported_image_media_type', message: words };
    const inForm = await form([png, sent], { strict: 'true' });
    expect([inForm.headers.get('x-task-id'), await failure(inForm)]).toMatchObject([
      null,
      { ...refused, param: 'image[1]' },
    ]);
    const inUri = await generate([uriOf(png, 'png'), uriOf(sent, 'png')], { strict: true });
    expect([inUri.headers.get('x-task-id'), await failure(inUri)]).toMatchObject([
      null,
      { ...refused, param: 'image_urls[1]' },
    ]);
    // Of an address, the worker finds out.
    const atAddress = await generate([address(png), address(sent)], { strict: true });
    expect(atAddress.headers.get('x-task-id')).not.toBeNull();
    expect(await failure(atAddress)).toMatchObject({ ...refused, param: 'image_urls[1]' });
    expect(upstream.calls).toHaveLength(before);
    expect(await warningsOf(await form([png], { strict: 'true' }))).toBeUndefined();
  });

  it('are refused if they are animated, damaged, cut, too large, of another codec, or a mask', async () => {
    const { avif, gif } = files;
    const hostile: [string, Buffer, string][] = [
      ['an animated GIF', await animatedGif(96, 80, 3), 'invalid_image_file'],
      ['an animated AVIF', await animatedAvif(), 'invalid_image_file'],
      ['a cut GIF', gif.sent.subarray(0, -40), 'invalid_image_file'],
      ['a cut AVIF', avif.sent.subarray(0, -1), 'invalid_image_file'],
      ['an AVIF without pixels', avif.sent.subarray(0, avif.sent.indexOf('mdat') - 4), 'invalid_image_file'],
      ['an AVIF of 64 megapixels', await avifThatClaims(8_000, 8_000), 'image_too_large'],
      ['a few bytes of 24 megapixels', await avifThatClaims(6_000, 4_000), 'image_too_large'],
      ['HEIC', heicStart(), 'unsupported_image_media_type'],
    ];
    const before = upstream.calls.length;
    for (const [name, bytes, code] of hostile) {
      const answers = [form([bytes]), generate([uriOf(bytes, 'avif')]), generate([address(bytes)])];
      const found = await Promise.all((await Promise.all(answers)).map(failure));
      // The only file of a form gets its short name once the whole form is there.
      const inForm = expect.stringMatching(/^image(\[0\])?$/) as string;
      const params = [inForm, 'image_urls[0]', 'image_urls[0]'];
      expect([name, ...found]).toMatchObject([name, ...params.map((param) => ({ status: 400, code, param }))]);
      if (name === 'HEIC') for (const { message } of found) expect(message).toContain('HEIC');
    }
    const image_url = uriOf(await gradientImage(96, 80, 'png'), 'png');
    for (const { sent } of Object.values(files)) {
      const body = { ...fields, images: [{ image_url }], mask: { image_url: uriOf(sent, 'png') } };
      expect(await failure(await platform.call(EDITS, { body }))).toMatchObject({ status: 400, code: 'invalid_mask' });
    }
    expect(upstream.calls).toHaveLength(before);
  });
});
