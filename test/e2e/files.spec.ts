import { LinkSigner } from '#storage/signed-link.js';
import { startPlatform, type Platform } from '../support/platform.js';

describe('signed links', () => {
  let platform: Platform;
  let url: URL;

  beforeAll(async () => {
    platform = await startPlatform();
    const body = { model: 'gpt-image-2', prompt: 'a fox', resolution: '1k' };
    const response = await platform.call('/v1/images/generations', { body });
    const { data } = (await response.json()) as { data: { url: string }[] };
    url = new URL(data[0]?.url ?? '');
  });
  afterAll(() => platform.close());

  it('serve the image with headers that make it harmless', async () => {
    const response = await fetch(url);
    const bytes = await response.arrayBuffer();
    expect(response.status).toBe(200);
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'image/png',
      'content-length': String(bytes.byteLength),
      'x-content-type-options': 'nosniff',
      'content-security-policy': "default-src 'none'; sandbox",
      'content-disposition': `inline; filename="${url.pathname.slice(3)}"`,
      'referrer-policy': 'no-referrer',
      'cache-control': expect.stringMatching(/^private, max-age=86\d{3}, immutable$/) as string,
      'access-control-allow-origin': '*',
    });
  });

  it('answer HEAD with the same length and If-None-Match with 304', async () => {
    const [get, head] = await Promise.all([fetch(url), fetch(url, { method: 'HEAD' })]);
    expect(head.status).toBe(200);
    expect(head.headers.get('content-length')).toBe(get.headers.get('content-length'));
    const etag = get.headers.get('etag') ?? '';
    await get.arrayBuffer();
    const unchanged = await fetch(url, { headers: { 'if-none-match': etag } });
    expect([unchanged.status, await unchanged.text()]).toEqual([304, '']);
    for (const known of [`W/${etag}`, `"other", W/${etag}`, '*']) {
      expect([known, (await fetch(url, { headers: { 'if-none-match': known } })).status]).toEqual([known, 304]);
    }
  });

  it('send the range that is asked for, or say what there is', async () => {
    const whole = Buffer.from(await (await fetch(url)).arrayBuffer());
    const size = whole.length;
    for (const [range, first, last] of [
      ['bytes=0-9', 0, 9],
      [`bytes=${size - 5}-${size + 100}`, size - 5, size - 1],
      ['bytes=100-', 100, size - 1],
      ['bytes=-20', size - 20, size - 1],
      [`bytes=-${size * 2}`, 0, size - 1],
    ] as const) {
      const response = await fetch(url, { headers: { range } });
      expect([range, response.status, response.headers.get('content-range')]).toEqual([
        ...[range, 206, `bytes ${first}-${last}/${size}`],
      ]);
      expect(Buffer.from(await response.arrayBuffer()).equals(whole.subarray(first, last + 1))).toBe(true);
    }
    for (const range of [`bytes=${size}-`, 'bytes=-0']) {
      const response = await fetch(url, { headers: { range } });
      expect([range, response.status, response.headers.get('content-range')]).toEqual([range, 416, `bytes */${size}`]);
      expect(await response.json()).toMatchObject({ error: { code: 'range_not_satisfiable' } });
    }
    const response = await fetch(url, { headers: { range: 'bytes=0-9', 'if-range': '"another"' } });
    expect([response.status, response.headers.get('accept-ranges')]).toEqual([200, 'bytes']);
    expect((await response.arrayBuffer()).byteLength).toBe(size);
  });

  it('tolerate any Authorization header', async () => {
    for (const authorization of [`Bearer ${platform.key}`, 'Bearer wrong', 'Basic eDp5', '']) {
      const response = await fetch(url, { headers: { authorization } });
      await response.arrayBuffer();
      expect(response.status).toBe(200);
    }
  });

  const status = async (address: URL | string): Promise<unknown> => {
    const response = await fetch(address);
    const { error } = (await response.json()) as { error: { code: string } };
    return [response.status, error.code];
  };
  const changed = (change: (changing: URL) => void): URL => {
    const changing = new URL(url);
    change(changing);
    return changing;
  };

  it('are worth nothing when anything about them is changed', async () => {
    const later = String(Number(url.searchParams.get('exp')) + 1);
    for (const address of [
      changed((link) => {
        link.search = '';
      }),
      changed((link) => {
        link.searchParams.set('exp', later);
      }),
      changed((link) => {
        link.searchParams.append('exp', later);
      }),
      changed((link) => {
        link.searchParams.set('sig', 'A'.repeat(22));
      }),
      changed((link) => {
        link.pathname = link.pathname.replace('-1.png', '-2.png');
      }),
    ]) {
      expect(await status(address)).toEqual([403, 'invalid_link']);
    }
  });

  it('expire, and say so when the image is gone', async () => {
    const signer = new LinkSigner({ secretKey: platform.secretKey }, platform.url);
    const now = Math.floor(Date.now() / 1000);
    const key = `results/${url.pathname.slice(3)}`;
    expect(await status(signer.sign(key, now - 1).url)).toEqual([403, 'invalid_link']);
    const gone = signer.sign(key.replace('-1.png', '-9.png'), now + 3_600).url;
    expect(await status(gone)).toEqual([404, 'file_not_found']);
  });
});
