import { once } from 'node:events';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type RequestListener,
  type Server,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { gradientImage, pngBomb } from '#images/sample-images.fixture.js';
import { startPlatform, type Platform } from '../support/platform.js';

const GENERATIONS = '/v1/images/generations';
const EDITS = '/v1/images/edits';

describe('images of others', () => {
  let platform: Platform;
  let server: Server;
  let base: string;
  let png: Buffer;
  const asked: Record<string, unknown>[] = [];

  beforeAll(async () => {
    png = await gradientImage(256, 192, 'png');
    const tiny = await gradientImage(63, 64, 'png');
    const answers: Record<string, RequestListener> = {
      '/a.png': (_request, response) => response.end(png),
      '/tiny': (_request, response) => response.end(tiny),
      '/bomb': (_request, response) => response.end(pngBomb(9_000)),
      '/html': (_request, response) => response.writeHead(200, { 'content-type': 'image/png' }).end('<html></html>'),
      '/missing': (_request, response) => response.writeHead(404).end(png),
      '/cut': (_request, response) => response.writeHead(200, { 'content-length': '9999' }).end(png.subarray(0, 100)),
      '/huge': (_request, response) => response.end(Buffer.concat([png, Buffer.alloc(20_000_000)])),
      '/large': (_request, response) => response.end(Buffer.concat([png, Buffer.alloc(4_000_000)])),
      '/away': (_request, response) => response.writeHead(302, { location: 'http://10.0.0.1/a.png' }).end(),
    };
    server = createServer((request, response) => {
      asked.push(request.headers);
      const hops = /^\/hops\/(\d)$/.exec(request.url ?? '')?.[1];
      const next = Number(hops) > 1 ? `/hops/${Number(hops) - 1}` : '/a.png';
      if (hops !== undefined) response.writeHead(302, { location: next }).end();
      else answers[request.url ?? '']?.(request, response);
    });
    await new Promise<void>((resolve) => {
      server.listen(0, '127.0.0.1', resolve);
    });
    const { port } = server.address() as AddressInfo;
    base = `http://127.0.0.1:${port}`;
    platform = await startPlatform({
      EGRESS_ALLOW_CIDRS: '127.0.0.1/32',
      EGRESS_PORTS: `80,443,${port}`,
    });
  });
  afterAll(async () => {
    server.close();
    await platform.close();
  });

  const generate = (urls: readonly unknown[]) =>
    platform.call(GENERATIONS, { body: { model: 'gpt-image-2', prompt: 'x', resolution: '1k', image_urls: urls } });
  const edit = (body: object) => platform.call(EDITS, { body: { prompt: 'x', response_format: 'url', ...body } });
  const problem = async (response: Response): Promise<string> => {
    const { error } = (await response.json()) as { error: { code: string; param: string | null; message: string } };
    expect(error.message).not.toMatch(/127\.0\.0\.1|10\.0\.0\.1|404|ECONN/);
    return `${response.status} ${error.code} ${error.param ?? ''}`.trim();
  };

  it('are downloaded, through three redirects at most, with nothing of the caller', async () => {
    expect((await generate([`${base}/a.png`, `${base}/hops/3`])).status).toBe(200);
    expect((await edit({ images: [{ image_url: `${base}/a.png` }] })).status).toBe(200);
    expect(asked.length).toBeGreaterThanOrEqual(6);
    for (const headers of asked) {
      expect(Object.keys(headers)).not.toEqual(expect.arrayContaining(['authorization']));
      expect(JSON.stringify(headers)).not.toMatch(/sk-|cookie/i);
    }
  });

  it.each([
    ['/hops/4', 'failed_to_download_image'],
    ['/missing', 'failed_to_download_image'],
    ['/cut', 'failed_to_download_image'],
    ['/huge', 'failed_to_download_image'],
    ['/away', 'failed_to_download_image'],
    ['/html', 'unsupported_image_media_type'],
    ['/tiny', 'image_too_small'],
    ['/bomb', 'image_too_large'],
  ])('that are %s are refused with %s, naming which one', async (path, code) => {
    const [generated, edited] = await Promise.all([
      generate([`${base}/a.png`, base + path]),
      edit({ images: [{ image_url: base + path }] }),
    ]);
    expect(await problem(generated)).toBe(`400 ${code} image_urls[1]`);
    expect(await problem(edited)).toBe(`400 ${code} images[0].image_url`);
  });

  it.each([
    'http://10.0.0.1/a.png',
    'http://[::1]/a.png',
    'http://169.254.169.254/latest/meta-data',
    'http://0x7f.2/a.png',
    'http://user:password@a.example/b.png',
    'http://a.example:22/b.png',
    'file:///etc/passwd',
    'not a url',
  ])('at %s are refused before there is a task', async (url) => {
    const response = await generate([url]);
    expect(response.headers.get('x-task-id')).toBeNull();
    expect(await problem(response)).toBe('400 invalid_image_url image_urls[0]');
  });

  it('in JSON may have 20,971,520 characters each, and 16 of them may come', async () => {
    const uri = `data:image/png;base64,${png.toString('base64')}`;
    expect(await problem(await generate([uri.padEnd(20_971_521, 'A')]))).toBe(
      '400 string_above_max_length image_urls[0]',
    );
    // As long as may be: what follows the image's end is ignored.
    const long = Buffer.concat([png, Buffer.alloc(Math.floor((20_971_520 - 22) / 4) * 3 - png.length)]);
    const longest = `data:image/png;base64,${long.toString('base64')}`;
    expect(longest.length).toBeGreaterThan(20_971_510);
    expect((await generate([longest])).status).toBe(200);
    expect((await generate(Array(16).fill(uri))).status).toBe(200);
  });

  it('make a body of JSON or a form too large when they are too many', async () => {
    const json = await platform.call(GENERATIONS, {
      body: JSON.stringify({ filler: 'x'.repeat(67_108_865) }),
      headers: { 'content-type': 'application/json' },
    });
    expect(await problem(json)).toBe('413 request_too_large');
    const announced = httpRequest(platform.url + EDITS, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${platform.key}`,
        'content-type': 'multipart/form-data; boundary=b',
        'content-length': 200_000_001,
      },
    });
    announced.on('error', () => undefined).flushHeaders();
    const [refusal] = (await once(announced, 'response')) as [IncomingMessage];
    expect([refusal.statusCode, JSON.parse(await text(refusal))]).toMatchObject([
      413,
      { error: { code: 'request_too_large' } },
    ]);
    announced.destroy();
    const megabyte = Buffer.alloc(1_000_000);
    const endless = (beginning: readonly Buffer[]) =>
      platform.call(EDITS, {
        body: new ReadableStream({
          start: (controller) => {
            for (const chunk of beginning) controller.enqueue(chunk);
          },
          pull: (controller) => {
            controller.enqueue(megabyte);
          },
        }),
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
      });
    const head = Buffer.from('--b\r\ncontent-disposition: form-data; name="image"; filename="a"\r\n\r\n');
    expect(await problem(await endless([head, png]))).toBe('413 request_too_large image');
    // Its files have limits of their own; what comes before the first of them has none.
    expect(await problem(await endless([]))).toBe('413 request_too_large');
  });

  it('can be masks, if they are PNG with alpha, as large as the first image, up to 4 MB', async () => {
    const uri = (bytes: Buffer, type = 'png'): string => `data:image/${type};base64,${bytes.toString('base64')}`;
    const masks: [Buffer, string, string][] = [
      [await gradientImage(256, 192, 'png', 4), 'png', '200'],
      [await gradientImage(256, 192, 'png'), 'png', '400 invalid_mask mask.image_url'],
      [await gradientImage(256, 192, 'webp', 4), 'webp', '400 invalid_mask mask.image_url'],
      [await gradientImage(192, 256, 'png', 4), 'png', '400 invalid_mask mask.image_url'],
      [Buffer.concat([png, Buffer.alloc(4_000_000)]), 'png', '400 image_file_too_large mask.image_url'],
    ];
    for (const [mask, type, expected] of masks) {
      const response = await edit({ images: [{ image_url: uri(png) }], mask: { image_url: uri(mask, type) } });
      expect(response.status === 200 ? '200' : await problem(response)).toBe(expected);
    }
    const remote = await edit({ images: [{ image_url: uri(png) }], mask: { image_url: `${base}/large` } });
    expect(await problem(remote)).toBe('400 image_file_too_large mask.image_url');
  });

  it('can be markup, if it is PNG with alpha, as large as the first image, up to 4 MB, without a mask', async () => {
    const uri = (bytes: Buffer): string => `data:image/png;base64,${bytes.toString('base64')}`;
    const drawn = await gradientImage(256, 192, 'png', 4);
    const images = [{ image_url: uri(png) }];
    const drawings: [Buffer, string][] = [
      [drawn, '200'],
      [await gradientImage(256, 192, 'png'), '400 invalid_image_file markup.image_url'],
      [await gradientImage(192, 256, 'png', 4), '400 invalid_image_file markup.image_url'],
      [Buffer.concat([png, Buffer.alloc(4_000_000)]), '400 image_file_too_large markup.image_url'],
    ];
    for (const [markup, expected] of drawings) {
      const response = await edit({ images, markup: { image_url: uri(markup) } });
      expect(response.status === 200 ? '200' : await problem(response)).toBe(expected);
    }
    const both = await edit({ images, mask: { image_url: uri(drawn) }, markup: { image_url: uri(drawn) } });
    expect(await problem(both)).toBe('400 unsupported_parameter markup');
    const form = (...names: string[]): FormData => {
      const parts = new FormData();
      for (const [name, bytes] of [['image', png], ...names.map((one) => [one, drawn])] as [string, Buffer][])
        parts.append(name, new Blob([new Uint8Array(bytes)], { type: 'image/png' }), 'a.png');
      parts.append('prompt', 'what is drawn');
      return parts;
    };
    const call = (...names: string[]) => platform.call(EDITS, { body: form(...names) });
    expect((await call('markup')).status).toBe(200);
    expect(await problem(await call('markup', 'mask'))).toBe('400 unsupported_parameter markup');
    expect(await problem(await call('markup', 'markup'))).toBe('400 invalid_value markup');
    // A worker of a version without markup fails on it, instead of taking it for a mask.
    const { rows } = await platform.pool.query(`SELECT mask FROM tasks WHERE prompt = 'what is drawn'`);
    expect(rows).toMatchObject([{ mask: { kind: 'markup', of: { kind: 'object' } } }]);
  });
});
