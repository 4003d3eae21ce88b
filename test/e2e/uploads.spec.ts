import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { randomUUID } from 'node:crypto';
import { readdir, stat } from 'node:fs/promises';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { avifThatClaims, gradientImage, heicStart, pngBomb } from '#images/sample-images.fixture.js';
import { loadConfig } from '#config/load-config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { createObjectStore } from '#storage/create-object-store.js';
import { LinkSigner } from '#storage/signed-link.js';
import { StorageConfig } from '#storage/storage.config.js';
import { startPlatform, type CallOptions, type Platform } from '../support/platform.js';
import { startS3, type TestS3 } from '../support/s3.js';

const UPLOADS = '/v1/uploads/images';
const PART = 'content-disposition: form-data; name="file"; filename="a.png"';

interface Answer {
  id: string;
  url: string;
  filename: string;
  content_type: string;
  bytes: number;
  created_at: number;
}

/** One of this test's own: what others upload meanwhile would be in the lists of the common one. */
async function newBucket({ endpoint, region, accessKeyId, secretAccessKey }: TestS3): Promise<string> {
  const credentials = { accessKeyId, secretAccessKey };
  const admin = new S3Client({ endpoint, region, credentials, forcePathStyle: true });
  const bucket = `darkroom-${randomUUID()}`;
  await admin.send(new CreateBucketCommand({ Bucket: bucket }));
  admin.destroy();
  return bucket;
}

describe.each(['disk', 's3'])('POST /v1/uploads/images, on %s', (storage) => {
  let s3: TestS3 | undefined;
  let platform: Platform;
  let png: Buffer;
  let jpeg: Buffer;

  beforeAll(async () => {
    [png, jpeg] = await Promise.all([gradientImage(256, 192, 'png'), gradientImage(256, 192, 'jpeg')]);
    s3 = storage === 's3' ? await startS3() : undefined;
    const bucket: Record<string, string> =
      s3 === undefined
        ? {}
        : {
            STORAGE: 's3',
            S3_ENDPOINT: s3.endpoint,
            S3_REGION: s3.region,
            S3_BUCKET: await newBucket(s3),
            S3_ACCESS_KEY_ID: s3.accessKeyId,
            S3_SECRET_ACCESS_KEY: s3.secretAccessKey,
          };
    platform = await startPlatform({ ...bucket, RATE_SUBMITS_PER_MINUTE: '500' });
  });
  afterAll(async () => {
    await platform.close();
    await s3?.stop();
  });

  type Part = readonly [name: string, value: string | Buffer, fileName?: string, type?: string];
  function send(parts: readonly Part[], options: CallOptions = {}): Promise<Response> {
    const form = new FormData();
    for (const [name, value, fileName = 'a.png', type = ''] of parts) {
      if (typeof value === 'string') form.append(name, value);
      else form.append(name, new Blob([new Uint8Array(value)], { type }), fileName);
    }
    return platform.call(UPLOADS, { body: form, ...options });
  }
  async function upload(bytes: Buffer, options: CallOptions = {}): Promise<Answer> {
    const response = await send([['file', bytes]], options);
    expect(response.status).toBe(200);
    return (await response.json()) as Answer;
  }
  const generate = (urls: readonly string[], options: CallOptions = {}) =>
    platform.call('/v1/images/generations', {
      body: { model: 'gpt-image-2', prompt: 'like this', resolution: '1k', image_urls: urls },
      ...options,
    });
  const idOf = ({ url }: Answer): string => new URL(url).pathname.slice('/u/'.length);
  async function stored(): Promise<string[]> {
    const store = await createObjectStore(loadConfig([StorageConfig], platform.settings)[0]);
    const keys: string[] = [];
    for await (const key of store.list('uploads/')) keys.push(key);
    return keys.sort();
  }

  it('answers in the shape of that dialect, with the type that the bytes have', async () => {
    const before = Math.floor(Date.now() / 1_000) - 1;
    const response = await send([
      ['file', jpeg, 'C:\\photos\\ré "1".png', 'text/html'],
      ['purpose', 'x'],
    ]);
    expect(response.status).toBe(200);
    const answer = (await response.json()) as Answer;
    expect(answer).toEqual({
      id: idOf(answer),
      url: expect.stringMatching(/\/u\/upload_[0-9A-Z]{26}\?exp=\d+&sig=[\w-]{22}$/) as string,
      filename: expect.stringMatching(/^ré .*1.*\.png$/) as string,
      content_type: 'image/jpeg',
      bytes: jpeg.length,
      created_at: expect.any(Number) as number,
    });
    expect(answer.url.startsWith(platform.url)).toBe(true);
    expect(answer.created_at).toBeGreaterThanOrEqual(before);
    expect(Number(new URL(answer.url).searchParams.get('exp')) - answer.created_at).toBe(72 * 3_600);
    expect(response.headers.get('x-ignored-params')).toBe('purpose');
    expect(response.headers.get('ratelimit-policy')).toBe('"submits";q=500;w=60');
    const { rows } = await platform.pool.query('SELECT account_id, bytes, content_type FROM uploads WHERE id = $1', [
      idOf(answer),
    ]);
    expect(rows).toEqual([{ account_id: 'acct_default', bytes: jpeg.length, content_type: 'image/jpeg' }]);
  });

  it('is named by its id in edits of its account, and of no other', async () => {
    const image = await upload(png);
    const mask = await upload(await gradientImage(256, 192, 'png', 4));
    const edit = (body: object, options: CallOptions = {}) =>
      platform.call('/v1/images/edits', { body: { prompt: 'x', ...body }, ...options });
    const response = await edit({
      images: [{ file_id: image.id }, { image_url: image.url }],
      mask: { file_id: mask.id },
    });
    expect(response.status).toBe(200);
    const { rows } = await platform.pool.query<{ inputs: unknown; mask: unknown }>(
      'SELECT inputs, mask FROM tasks WHERE id = $1',
      [response.headers.get('x-task-id')],
    );
    const key = `uploads/${image.id}`;
    const input = { kind: 'object', key, bytes: png.length, pixels: 256 * 192 };
    expect(rows).toEqual([
      {
        inputs: [
          { ...input, param: 'images[0].file_id' },
          { ...input, param: 'images[1].image_url' },
        ],
        mask: expect.objectContaining({ key: `uploads/${mask.id}`, param: 'mask.file_id' }) as unknown,
      },
    ]);
    const refusal = async (answer: Response): Promise<string> => {
      const { error } = (await answer.json()) as { error: { code: string; param: string } };
      return `${answer.status} ${error.code} ${error.param}`;
    };
    const stranger = await platform.newKey({}, await platform.newAccount());
    const notFound = '400 image_file_not_found images[0].file_id';
    expect(await refusal(await edit({ images: [{ file_id: image.id }] }, { key: stranger }))).toBe(notFound);
    expect(await refusal(await edit({ images: [{ file_id: `upload_${'0'.repeat(26)}` }] }))).toBe(notFound);
    const both = { file_id: image.id, image_url: image.url };
    expect(await refusal(await edit({ images: [both] }))).toBe('400 unsupported_parameter images[0].file_id');
  });

  it('is taken from the store by any number of requests, though its address is one that may not be fetched', async () => {
    const image = await upload(png);
    const mask = await upload(await gradientImage(256, 192, 'png', 4));
    const edit = platform.call('/v1/images/edits', {
      body: {
        prompt: 'x',
        response_format: 'url',
        images: [{ image_url: image.url }],
        mask: { image_url: mask.url },
      },
    });
    const sibling = await platform.newKey();
    const calls = [generate([image.url, image.url]), generate([image.url], { key: sibling }), edit];
    const answers = await Promise.all(calls);
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200]);
    const { rows } = await platform.pool.query<{ inputs: unknown; mask: unknown }>(
      'SELECT inputs, mask FROM tasks WHERE id = ANY($1) ORDER BY action, jsonb_array_length(inputs) DESC',
      [answers.map(({ headers }) => headers.get('x-task-id'))],
    );
    const key = `uploads/${idOf(image)}`;
    const pixels = 256 * 192;
    const input = (param: string) => ({ kind: 'object', key, bytes: png.length, param, pixels });
    expect(rows).toEqual([
      {
        inputs: [input('images[0].image_url')],
        mask: { kind: 'object', key: `uploads/${idOf(mask)}`, bytes: mask.bytes, param: 'mask.image_url', pixels },
      },
      { inputs: [input('image_urls[0]'), input('image_urls[1]')], mask: null },
      { inputs: [input('image_urls[0]')], mask: null },
    ]);
    expect(await stored()).toEqual(expect.arrayContaining([key, `uploads/${idOf(mask)}`]));
  });

  it('means nothing to other accounts, when it is over, or when anything about its link is changed', async () => {
    const { url, ...rest } = await upload(png);
    const id = idOf({ url, ...rest });
    const now = Math.floor(Date.now() / 1_000);
    const signer = new LinkSigner({ secretKey: platform.secretKey }, platform.url);
    const over = await upload(png);
    await platform.pool.query(`UPDATE uploads SET expires_at = now() - interval '1 s' WHERE id = $1`, [idOf(over)]);
    const stranger = await platform.newKey({}, await platform.newAccount());
    const refusal = async (address: string, key = platform.key): Promise<unknown> => {
      const response = await generate([address], { key });
      return [
        response.status,
        ((await response.json()) as { error: unknown }).error,
        response.headers.get('x-task-id'),
      ];
    };
    const foreign = await refusal(url, stranger);
    expect(foreign).toEqual([
      400,
      {
        type: 'invalid_request_error',
        code: 'failed_to_download_image',
        param: 'image_urls[0]',
        message: expect.any(String) as string,
      },
      null,
    ]);
    for (const address of [
      over.url,
      signer.signUpload(id, now - 1),
      signer.signUpload('upload_01JD0Z8Q4M0W3E5V6T7R8Y9X0A', now + 60),
      url.replace(/sig=./, 'sig=!'),
      url.replace(/exp=\d/, 'exp=2'),
      `${url}&exp=1`,
      url.replace(/\?.*/, ''),
      `${platform.url}/u/`,
      `${platform.url}/u/..%2fi/x`,
    ]) {
      expect([address, await refusal(address)]).toEqual([address, foreign]);
    }
  });

  it('is never served', async () => {
    const { url } = await upload(png);
    for (const address of [url, url.replace(/\?.*/, ''), `${platform.url}/u/nothing`]) {
      const response = await fetch(address);
      expect(response.status).toBe(404);
      expect(await response.json()).toMatchObject({ error: { code: 'file_not_found', param: null } });
    }
  });

  const text = Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>');
  it.each<[string, () => Promise<readonly Part[]> | readonly Part[], number, string, string | null]>([
    ['no part at all', () => [['note', 'x']], 400, 'missing_required_parameter', 'file'],
    ['a part of another name', () => [['image', png]], 400, 'missing_required_parameter', 'file'],
    [
      'two files',
      () => [
        ['file', png],
        ['file', png],
      ],
      400,
      'invalid_value',
      'file',
    ],
    ['a file as text', () => [['file', 'https://a.example/b.png']], 400, 'invalid_type', 'file'],
    ['an empty file', () => [['file', Buffer.alloc(0)]], 400, 'invalid_image_file', 'file'],
    ['no image', () => [['file', text, 'a.png', 'image/png']], 400, 'unsupported_image_media_type', 'file'],
    ['HEIC', () => [['file', heicStart()]], 400, 'unsupported_image_media_type', 'file'],
    ['a PNG that was cut', () => [['file', png.subarray(0, png.length / 2)]], 400, 'invalid_image_file', 'file'],
    [
      'a JPEG that was cut',
      async () => [['file', (await gradientImage(96, 80, 'jpeg')).subarray(0, -2)]],
      400,
      'invalid_image_file',
      'file',
    ],
    ['a damaged GIF', () => [['file', Buffer.from('GIF89a'.padEnd(64))]], 400, 'invalid_image_file', 'file'],
    ['a large AVIF', async () => [['file', await avifThatClaims(8_000, 8_000)]], 400, 'image_too_large', 'file'],
    ['too few pixels', async () => [['file', await gradientImage(63, 64, 'webp')]], 400, 'image_too_small', 'file'],
    [
      'too few pixels behind much else',
      async () => {
        const tiny = await gradientImage(63, 64, 'jpeg');
        const comment = Buffer.concat([Buffer.from([0xff, 0xfe, 0xea, 0x60]), Buffer.alloc(0xea60 - 2)]);
        const large = Buffer.concat([tiny.subarray(0, 2), comment, comment, comment, tiny.subarray(2)]);
        return [['file', large]];
      },
      400,
      'image_too_small',
      'file',
    ],
    ['too many pixels', () => [['file', pngBomb(9_000)]], 400, 'image_too_large', 'file'],
    [
      'more than 20 MB',
      () => [['file', Buffer.concat([png, Buffer.alloc(20_000_000)])]],
      413,
      'request_too_large',
      'file',
    ],
    ['far more', () => [['file', Buffer.concat([png, Buffer.alloc(30_000_000)])]], 413, 'request_too_large', 'file'],
  ])('refuses %s and keeps nothing', async (_name, parts, status, code, param) => {
    const before = await stored();
    const response = await send(await parts());
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ type: 'error', error: { code, param } });
    expect(await stored()).toEqual(before);
  });

  it.each<[string, CallOptions, number, string]>([
    ['no key', { key: null, body: new FormData() }, 401, 'invalid_api_key'],
    ['JSON', { body: { file: 'x' } }, 415, 'unsupported_media_type'],
    ['broken JSON', { body: '{', headers: { 'content-type': 'application/json' } }, 415, 'unsupported_media_type'],
    ['an image as the body', { body: 'x', headers: { 'content-type': 'image/png' } }, 415, 'unsupported_media_type'],
    ['nothing', { method: 'POST' }, 415, 'unsupported_media_type'],
    ['no boundary', { body: 'x', headers: { 'content-type': 'multipart/form-data' } }, 400, 'invalid_multipart'],
    [
      'a file cut short',
      { body: `--b\r\n${PART}\r\n\r\nx`, headers: { 'content-type': 'multipart/form-data; boundary=b' } },
      400,
      'invalid_multipart',
    ],
    ['a wrong method', { method: 'GET' }, 405, 'method_not_allowed'],
  ])('answers %s in the contract’s body', async (_name, options, status, code) => {
    const response = await platform.call(UPLOADS, options);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({ type: 'error', error: { code } });
  });

  it('refuses a file that grows beyond 20 MB without having said so, while it arrives', async () => {
    let sent = 0;
    const body = new ReadableStream({
      start: (controller) => {
        controller.enqueue(Buffer.concat([Buffer.from(`--b\r\n${PART}\r\n\r\n`), png]));
      },
      pull: (controller) => {
        sent += 1_048_576;
        controller.enqueue(Buffer.alloc(1_048_576));
        if (sent > 60_000_000) controller.close();
      },
    });
    const response = await platform.call(UPLOADS, {
      body,
      headers: { 'content-type': 'multipart/form-data; boundary=b' },
    });
    expect(response.status).toBe(413);
    expect(await response.json()).toMatchObject({ error: { code: 'request_too_large', param: 'file' } });
  });

  it('forgets a file that was stored when the form turns out to be wrong', async () => {
    const before = await stored();
    const part = (bytes: Buffer): Buffer =>
      Buffer.concat([Buffer.from(`--b\r\n${PART}\r\n\r\n`), bytes, Buffer.from('\r\n')]);
    const call = httpRequest(platform.url + UPLOADS, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'multipart/form-data; boundary=b' },
    });
    const status = new Promise((resolve, reject) => {
      call.on('response', (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      call.on('error', reject);
    });
    call.write(Buffer.concat([part(png), Buffer.from('--b\r\n')]));
    expect(await waitUntil(async () => (await stored()).length > before.length, { timeoutMs: 30_000 })).toBe(true);
    call.end(Buffer.concat([part(png).subarray('--b\r\n'.length), Buffer.from('--b--\r\n')]));
    expect(await status).toBe(400);
    expect(await stored()).toEqual(before);
  });

  it('leaves nothing of an upload whose sender hangs up', async () => {
    const before = await stored();
    const rows = async (): Promise<unknown> => (await platform.pool.query('SELECT count(*) FROM uploads')).rows;
    const count = await rows();
    const call = httpRequest(platform.url + UPLOADS, {
      method: 'POST',
      headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'multipart/form-data; boundary=b' },
    });
    call.on('error', () => undefined);
    const aborts = (): number => platform.api.logs().filter(({ event }) => event === 'request.aborted').length;
    const earlier = aborts();
    await new Promise((resolve) => {
      // More than the store gathers before it writes.
      call.write(Buffer.concat([Buffer.from(`--b\r\n${PART}\r\n\r\n`), png, Buffer.alloc(1_000_000)]), resolve);
    });
    // What is on its way lies here until it is whole; S3 shows nothing of it.
    const folder = join(platform.settings['DATA_DIR'] ?? '', 'objects', '.unfinished');
    // What the health checks write is there for a moment, too, and small.
    const underway = async (): Promise<number> => {
      const names = await readdir(folder);
      const sizes = names.map((name) =>
        stat(join(folder, name)).then(
          ({ size }) => size,
          () => 0,
        ),
      );
      return (await Promise.all(sizes)).filter((size) => size > png.length / 2).length;
    };
    if (storage === 'disk') {
      expect(await waitUntil(async () => (await underway()) === 1, { timeoutMs: 30_000 })).toBe(true);
    }
    call.destroy();
    expect(await waitUntil(() => aborts() > earlier, { timeoutMs: 30_000 })).toBe(true);
    if (storage === 'disk') {
      expect(await waitUntil(async () => (await underway()) === 0, { timeoutMs: 30_000 })).toBe(true);
    }
    expect(await stored()).toEqual(before);
    expect(await rows()).toEqual(count);
  });
});
