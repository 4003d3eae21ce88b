import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { loadConfig } from '#config/load-config.js';
import { EgressConfig } from '#egress/egress.config.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import { OpenAiConfig } from '#providers/openai/openai.config.js';
import { OpenAiProvider } from '#providers/openai/openai-provider.js';
import { bytesOf, contextOf } from '#providers/sandbox/sandbox-calls.fixture.js';
import { failureOf, orderOf, plainImage } from '../support/image-provider-suite.js';
import { json, startUpstream, text, type Script, type ScriptedUpstream } from '../support/scripted-upstream.js';

const KEY = 'sk-canary-5c1f0a77';

// What published servers, gateways and vendors answer, in their own wrapping: what was paid for must arrive with one
// order, and a refusal of a prompt must be known as one.
describe('answers of servers that speak OpenAI’s API in their own way', () => {
  let upstream: ScriptedUpstream;
  let png: Buffer;
  let base64: string;
  beforeAll(async () => {
    upstream = await startUpstream();
    png = await plainImage(64, 64);
    base64 = png.toString('base64');
  });
  afterAll(() => upstream.close());

  /** The provider, and how many orders it was sent since. */
  function open(): { provider: OpenAiProvider; orders: () => number } {
    const [config, egress] = loadConfig([OpenAiConfig, EgressConfig], {
      OPENAI_API_KEY: KEY,
      OPENAI_BASE_URL: upstream.url,
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      EGRESS_PORTS: new URL(upstream.url).port,
    });
    const before = upstream.calls.length;
    const orders = () => upstream.calls.slice(before).filter(({ method }) => method === 'POST').length;
    return { provider: new OpenAiProvider(config, new PublicFetcher(egress)), orders };
  }

  const raw = (body: Buffer | string, headers: Record<string, string>, status = 200): Script => {
    return (_call, response) => void response.writeHead(status, headers).end(body);
  };
  const encoded = (encoding: string, encode: (body: string) => Buffer): Script => {
    return (call, response) => {
      const body = encode(JSON.stringify({ data: [{ b64_json: base64 }] }));
      return raw(body, { 'content-type': 'application/json', 'content-encoding': encoding })(call, response);
    };
  };
  /** The order is answered with this JSON, and links with the image. */
  const linked = (value: (link: string) => unknown): Script => {
    return (call, response) => {
      if (call.method === 'GET') return text(png, 'image/png')(call, response);
      return json(value(upstream.url.replace('/v1', '/files/a b.png')))(call, response);
    };
  };
  const imageIn =
    (value: (b64: string) => unknown): Script =>
    (call, response) =>
      json(value(base64))(call, response);
  const body = (make: () => Buffer | string, contentType: string, status = 200): Script => {
    return (call, response) => text(make(), contentType, status)(call, response);
  };

  it.each<[string, Script]>([
    ['V5: gzip', encoded('gzip', gzipSync)],
    ['V5: gzip that does not say so', encoded('identity', gzipSync)],
    ['V5: gzip in name only', encoded('gzip', Buffer.from)],
    ['V5: brotli', encoded('br', brotliCompressSync)],
    ['V5: deflate', encoded('deflate', deflateSync)],
    ['V5: deflate without a header', encoded('deflate', deflateRawSync)],
    ['V5: two encodings', encoded('gzip, br', (value) => brotliCompressSync(gzipSync(value)))],
    [
      'V6: a byte order mark',
      body(() => `\uFEFF${JSON.stringify({ data: [{ b64_json: base64 }] })}`, 'application/json'),
    ],
    ['V6: status 201', body(() => JSON.stringify({ data: [{ b64_json: base64 }] }), 'application/json', 201)],
    ['V6: images, as base64', imageIn((b64) => ({ images: [b64] }))],
    ['V6: images, as objects', imageIn((b64) => ({ images: [{ base64: b64 }] }))],
    ['V6: data as an object', imageIn((b64) => ({ data: { b64_json: b64 } }))],
    ['V6: data as a text', imageIn((b64) => ({ data: b64 }))],
    ['V6: data as a list of texts', imageIn((b64) => ({ data: [b64] }))],
    ['V6: a list alone', imageIn((b64) => [{ b64_json: b64 }])],
    ['V6: b64', imageIn((b64) => ({ data: [{ b64 }] }))],
    ['V6: image', imageIn((b64) => ({ image: b64 }))],
    ['V6: artifacts', imageIn((b64) => ({ artifacts: [{ base64: b64, finishReason: 'SUCCESS' }] }))],
    ['V6: predictions', imageIn((b64) => ({ predictions: [{ bytesBase64Encoded: b64 }] }))],
    ['V6: a data URI as url', imageIn((b64) => ({ data: [{ url: `data:image/png;base64,${b64}` }] }))],
    ['V6: an output list', imageIn((b64) => ({ output: [`data:image/png;base64,${b64}`] }))],
    [
      'V6: a chat',
      imageIn((b64) => ({
        choices: [{ message: { images: [{ image_url: { url: `data:image/png;base64,${b64}` } }] } }],
      })),
    ],
    ['V6: the image itself', body(() => png, 'image/png')],
    ['V6: the image itself, as octets', body(() => png, 'application/octet-stream')],
    [
      'V6: lines of JSON',
      body(() => `{"type":"started"}\n${JSON.stringify({ b64_json: base64 })}\n`, 'application/x-ndjson'),
    ],
    [
      'V6: events that do not say so',
      body(() => `event: done\ndata: ${JSON.stringify({ b64_json: base64 })}\n\n`, 'application/json'),
    ],
    ['V6: links', linked((link) => ({ image_urls: [encodeURI(link)] }))],
    ['V6: links in a result', linked((link) => ({ output: { results: [{ url: encodeURI(link) }] } }))],
    ['V6: a link without a host', linked(() => ({ data: [{ url: '/files/a.png' }] }))],
    ['V7: white space around a link', linked((link) => ({ data: [{ url: ` ${encodeURI(link)}\n` }] }))],
    ['V7: a space in a link', linked((link) => ({ data: [{ url: link }] }))],
  ])('delivers what was bought once: %s', async (_shape, script) => {
    upstream.script(script);
    const { provider, orders } = open();
    const result = await provider.generate(orderOf(), contextOf());
    expect([bytesOf(result).equals(png), orders()]).toEqual([true, 1]);
  });

  it('V4: waits for a link that does not work yet, in whatever way', async () => {
    let links = 0;
    upstream.script((call, response) => {
      if (call.method === 'POST') {
        return json({ data: [{ url: upstream.url.replace('/v1', '/files/late.png') }] })(call, response);
      }
      links += 1;
      if (links === 3) return void response.destroy();
      return text(links > 5 ? png : 'no', 'image/png', [404, 403, 500, 503, 404][links - 1] ?? 200)(call, response);
    });
    const { provider, orders } = open();
    const result = await provider.generate(orderOf(), contextOf());
    expect([bytesOf(result).equals(png), orders(), links]).toEqual([true, 1, 6]);
  });

  it.each<[string, Script, object]>([
    [
      'V2: moderation with status 200',
      json({ error: { message: 'Blocked by our content filter.' } }),
      { code: 'moderation_blocked', charged: 'no' },
    ],
    [
      'V2: moderation of each image',
      json({ data: [{ error: { code: 'OutputImageSensitiveContentDetected', message: 'No.' } }] }),
      { code: 'moderation_blocked', charged: 'maybe' },
    ],
    [
      'V2: a blurred image',
      json({ artifacts: [{ base64: 'iVBORw0KGgo', finishReason: 'CONTENT_FILTERED' }] }),
      { code: 'moderation_blocked' },
    ],
    [
      'V2: moderation with status 403',
      json({ error: 'Content violates usage guidelines.' }, 403),
      {
        code: 'moderation_blocked',
        keyRefused: false,
      },
    ],
    [
      'V5: moderation in gzip',
      raw(gzipSync('{"error":{"code":"content_policy_violation"}}'), { 'content-encoding': 'gzip' }, 400),
      { code: 'moderation_blocked' },
    ],
    [
      'V1: a rejection that nobody knows',
      json({ error: { message: 'Nope.', code: 'E_1234' } }, 400),
      { code: 'upstream_error', retryable: false, isAboutRequest: true, reason: 'Nope.' },
    ],
    [
      'V8: FastAPI',
      json({ detail: [{ loc: ['body', 'steps'], msg: 'at most 50', type: 'less_than_equal' }] }, 422),
      { isAboutRequest: true, reason: 'at most 50', providerMessage: 'at most 50' },
    ],
    ['V8: a detail', json({ detail: 'LoRA not loaded' }, 400), { reason: 'LoRA not loaded' }],
    ['V8: plain text', text('out of range', 'text/plain', 400), { isAboutRequest: true, reason: 'out of range' }],
    ['V8: a page', text('<html><title>413 Too Large</title></html>', 'text/html', 413), { reason: '413 Too Large' }],
    [
      'V8: a long error',
      json({ error: { message: 'too many steps', code: 'x' }, trace: 'x'.repeat(300_000) }, 400),
      { isAboutRequest: true, reason: 'too many steps' },
    ],
    [
      'V8: a reason without addresses and keys',
      json({ message: `Key ${KEY} at http://10.0.0.7:8188/x, gpu-7:8000 or render.internal` }, 400),
      { reason: 'Key [redacted] at [address] [address] or [address]' },
    ],
    [
      'no credit with status 200',
      json({ error: { code: 'insufficient_quota', message: 'No.' } }),
      { code: 'upstream_error', retryable: false, keyRefused: true, charged: 'no' },
    ],
    ['V10: a wait with decimals', raw('', { 'retry-after': '2.5' }, 503), { retryable: true, retryAfter: 2.5 }],
    ['V6: what can’t be read', text('\u0001\u0002\u0003', 'application/json'), { charged: 'maybe' }],
    ['V6: a link in a place of its own', json({ where: 'https://cdn.example/a.png' }), { charged: 'maybe' }],
  ])('knows what an answer means: %s', async (_shape, script, expected) => {
    upstream.script(script);
    const { provider, orders } = open();
    expect(await failureOf(provider.generate(orderOf(), contextOf()))).toMatchObject(expected);
    expect(orders()).toBe(1);
  });

  it('V5: decodes no more than an answer may have', async () => {
    // 400 MB of spaces in 400 KB.
    const bomb = gzipSync(Buffer.alloc(400_000_000, ' '), { level: 1 });
    upstream.script(raw(bomb, { 'content-type': 'application/json', 'content-encoding': 'gzip' }));
    const error = await failureOf(open().provider.generate(orderOf(), contextOf()));
    expect(error).toMatchObject({ code: 'upstream_invalid_response', charged: 'yes' });
  });
});
