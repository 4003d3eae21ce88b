import type { ProviderEntry } from '#providers/provider-entry.js';
import { loadConfig } from '#config/load-config.js';
import { EgressConfig } from '#egress/egress.config.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import { freePort } from '../support/free-port.js';
import { waitUntil } from '#embedded/wait-until.js';
import type { ProviderImageRequest } from '#providers/image-provider.js';
import { ProviderOptionsError } from '#providers/provider-options.js';
import { bytesOf, contextOf, resultOf } from '#providers/sandbox/sandbox-calls.fixture.js';
import { submitPollProvider } from '#providers/submit-poll/from-entry.js';
import type { SubmitPollProvider } from '#providers/submit-poll/submit-poll-provider.js';
import { describeImageProvider, drive, failureOf, orderOf, plainImage } from '../support/image-provider-suite.js';
import { patient } from '../support/patience.js';
import { cut, hang, json, text, type Script } from '../support/scripted-upstream.js';
import { startJobVendor, VENDORS, type JobVendor } from '../support/submit-poll-vendor.js';

const KEY = 'sk-canary-3f61b0aa';
const PROMPT = 'a canary named 77e1';
const JOB = 'task_01KA040M0HP1GJWBJYZMKX1XS1';
/** The model of each vendor that knows the most options. */
const FULL = { apimart: 'gpt-image-2-official', evolink: 'gpt-image-2', toapis: 'gpt-image-1.5-official' } as const;

describe.each(VENDORS)('the adapter for %s', (type) => {
  let vendor: JobVendor;
  let png: Buffer;
  beforeAll(async () => {
    png = await plainImage(1536, 864);
    vendor = await startJobVendor(type, KEY, JOB, png);
  });
  afterAll(() => vendor.close());
  beforeEach(() => vendor.plan());

  function provider(
    options: Readonly<Record<string, unknown>> = {},
    secret = KEY,
    baseUrl = vendor.url,
  ): SubmitPollProvider {
    const [egress] = loadConfig([EgressConfig], {
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      EGRESS_PORTS: new URL(vendor.url).port,
    });
    const entry: ProviderEntry = {
      name: 'jobs',
      type,
      baseUrl,
      keys: [{ name: 'k', secret }],
      limits: { concurrency: undefined, startsPerMinute: undefined },
      interrupted: 'fail',
      free: false,
      options: JSON.parse(
        JSON.stringify({ upload_url: `${vendor.url}${vendor.shapes.uploadPath}`, ...options }),
      ) as ProviderEntry['options'],
    };
    return submitPollProvider(entry, { name: 'k', secret }, new PublicFetcher(egress));
  }

  const order = (changes: Partial<ProviderImageRequest> = {}): ProviderImageRequest =>
    orderOf({ prompt: PROMPT, ...changes });
  const generate = (changes: Partial<ProviderImageRequest> = {}, context = contextOf()) =>
    drive(provider(), order(changes), context);
  /** A look at the job, so long after it was named. */
  const look = (waitedMs = 0, one = provider()) => one.generate(order(), contextOf({ resumeJobId: JOB, waitedMs }));
  const submits = () => vendor.calls.filter(({ path }) => path === '/v1/images/generations');
  const sent = (): unknown => JSON.parse(String(submits().at(-1)?.body));
  const lastCall = () => vendor.calls.at(-1)!;

  let callsBefore = 0;
  describeImageProvider({
    provider: () => provider({ accepts: ['quality', 'moderation', 'mask'] }),
    behave: (behavior, wanted) => {
      callsBefore = vendor.calls.length;
      const { refused, failed, completed } = vendor.shapes;
      const plans: Record<typeof behavior, Parameters<JobVendor['plan']>[0]> = {
        image: {},
        moderation: { looks: [failed(JOB, 'content_policy_violation')] },
        'rate-limit': { submit: refused(429, 'rate_limit_error', 'Slow down.', { 'retry-after': '1' }) },
        failure: { looks: [failed(JOB, 'service_error')] },
        'no-image': { looks: [completed(JOB, undefined)] },
        hang: { submit: hang() },
      };
      vendor.plan(plans[behavior]);
      return Promise.resolve(wanted);
    },
    begun: async () => {
      await waitUntil(() => vendor.calls.length > callsBefore, { timeoutMs: 30_000 });
    },
    lacks: ['usage', 'partials'],
  });

  it('names its job before anything else, and answers that it works on', async () => {
    const accepted: string[] = [];
    const onAccepted = (jobId: string): Promise<void> => {
      expect(lastCall().path).toBe('/v1/images/generations');
      accepted.push(jobId);
      return Promise.resolve();
    };
    const answer = await provider().generate(order(), contextOf({ onAccepted }));
    expect([accepted, answer]).toEqual([[JOB], { pending: { checkAfterMs: 2_000 } }]);
    expect(lastCall()).toMatchObject({ method: 'POST', headers: { authorization: `Bearer ${KEY}` } });
    const key = lastCall().headers['idempotency-key'];
    expect(key).toBe(type === 'apimart' ? 'task_1' : undefined);
    await provider().generate(order(), contextOf({ startNumber: 2 }));
    expect(lastCall().headers['idempotency-key']).toBe(type === 'apimart' ? 'task_1-2' : undefined);
  });

  it('looks once a call, less and less often', async () => {
    vendor.plan({ looks: [vendor.shapes.working(JOB, vendor.shapes.words[0]!, 10)] });
    const waits: unknown[] = [];
    for (const waitedMs of [0, 20_000, 600_000]) {
      const before = vendor.calls.length;
      waits.push(await look(waitedMs));
      expect(vendor.calls.length - before).toBe(1);
    }
    expect(waits).toEqual([2_000, 5_000, 15_000].map((checkAfterMs) => ({ pending: { checkAfterMs } })));
  });

  it('takes every word for work in progress for that, those that nobody published too', async () => {
    for (const word of [...vendor.shapes.words, 'warming_up']) {
      vendor.plan({ looks: [vendor.shapes.working(JOB, word, 40)] });
      expect(await look()).toHaveProperty('pending');
    }
  });

  it('asks for exactly what was ordered, and tells what was left out', async () => {
    await generate();
    const size = {
      apimart: { size: '16:9', resolution: '1k' },
      evolink: { size: '1536x864' },
      toapis: { size: '16:9', resolution: '2K' },
    }[type];
    expect(sent()).toEqual({ model: 'gpt-image-2', prompt: PROMPT, n: 1, ...size });
    const options = { quality: 'hd', moderation: 'low', inputFidelity: 'high', background: 'transparent' } as const;
    const { warnings, sentSize } = await generate({ ...options, model: `${FULL[type]}` });
    const left = (name: string) => `The provider does not support ${name}, so it was ignored.`;
    expect(sent()).toMatchObject({ quality: 'high', ...(type === 'apimart' ? { moderation: 'low' } : {}) });
    expect(warnings).toEqual([
      'The quality hd was requested as high.',
      ...(type === 'apimart' ? [] : [left('moderation')]),
      left('input_fidelity'),
      left('transparent background'),
    ]);
    expect(sentSize).toBe('1536x864');
    expect((await generate({ quality: 'high', model: 'gpt-image-2-beta' })).warnings).toEqual([left('quality')]);
  });

  it.each([
    ['1024x1024', '1:1 1k', '1024x1024', '1:1 1K'],
    ['2880x2880', '1:1 4k', '2880x2880', '1:1 2K'],
    ['3840x2160', '16:9 4k', '3840x2160', '16:9 4K'],
    ['1000x1000', '1008x1008', '1008x1008', '1:1 1K'],
    ['500x500', '816x816', '816x816', '1:1 1K'],
  ])('asks for %s in its own words', async (wanted, asApimart, asEvolink, asToapis) => {
    const [width = 0, height = 0] = wanted.split('x').map(Number);
    await generate({ width, height });
    const { size, resolution } = sent() as { size: string; resolution?: string };
    const said = [size, resolution].filter(Boolean).join(' ');
    expect(said).toBe({ apimart: asApimart, evolink: asEvolink, toapis: asToapis }[type]);
  });

  it('lets the vendor choose the size where nobody has', async () => {
    const { sentSize } = await generate({ width: undefined, height: undefined, squareEdge: 2_048 });
    const chosen = {
      apimart: { size: 'auto', resolution: '2k' },
      evolink: { size: 'auto' },
      toapis: { resolution: '2K' },
    };
    expect(sent()).toEqual({ model: 'gpt-image-2', prompt: PROMPT, n: 1, ...chosen[type] });
    expect(sentSize).toBe('auto');
  });

  it('uploads images and mask first, and orders with their addresses', async () => {
    const image = { bytes: Buffer.from('first'), contentType: 'image/jpeg', width: 64, height: 64 } as const;
    const mask = { bytes: Buffer.from('mask'), contentType: 'image/png', width: 64, height: 64 } as const;
    const before = vendor.calls.length;
    await drive(provider({ accepts: ['mask'] }), order({ images: [image, image], mask }), contextOf());
    const uploads = vendor.calls.slice(before, before + 3);
    expect(uploads.map(({ path }) => path)).toEqual(Array(3).fill(`/v1${vendor.shapes.uploadPath}`));
    const file = async ({ body, headers }: (typeof uploads)[number]): Promise<string> => {
      const form = await new Response(new Uint8Array(body), {
        headers: { 'content-type': headers['content-type'] ?? '' },
      }).formData();
      const { name, type: kind, text: content } = form.get('file') as File & { text: () => Promise<string> };
      return `${name} ${kind} ${await content.call(form.get('file'))}`;
    };
    expect(await Promise.all(uploads.map(file))).toEqual([
      'image-0.jpg image/jpeg first',
      'image-1.jpg image/jpeg first',
      'mask.png image/png mask',
    ]);
    const addresses = [1, 2, 3].map((number) => `https://files.example/${number}.png`);
    expect(sent()).toMatchObject({ image_urls: addresses.slice(0, 2), mask_url: addresses[2] });
  });

  it('refuses a mask that the model can’t take, before anything is sent', async () => {
    const image = { bytes: png, contentType: 'image/png', width: 64, height: 64 } as const;
    const before = vendor.calls.length;
    const error = await failureOf(generate({ images: [image], mask: image }));
    expect(error).toMatchObject({ code: 'unsupported_parameter', param: 'mask', retryable: false, charged: 'no' });
    expect(vendor.calls.length).toBe(before);
  });

  it.each<[string, Script, object]>([
    ['a bad image', json({ error: { message: 'invalid image content' } }, 400), { code: 'invalid_image_file' }],
    [
      'too large an image',
      json({ error: { message: 'too large' } }, 413),
      { code: 'upstream_error', retryable: false },
    ],
    ['a busy store', json({ error: { message: 'slow down' } }, 429), { code: 'upstream_error', retryable: true }],
    ['a gateway’s page', text('<html>', 'text/html', 504), { code: 'upstream_error', retryable: true }],
    [
      'a rejected key',
      json({ error: { message: 'no' } }, 401),
      { code: 'upstream_error', keyRefused: true, status: 401 },
    ],
    ['no address', json({ ok: true }), { code: 'upstream_invalid_response', retryable: true }],
    ['no HTTP', (_call, response) => void response.socket?.end('?'), { code: 'upstream_error', retryable: true }],
    ['a closed connection', (_call, response) => void response.destroy(), { code: 'upstream_error', retryable: true }],
  ])('knows that an upload costs nothing: %s', async (_name, upload, expected) => {
    vendor.plan({ upload });
    const image = { bytes: png, contentType: 'image/png', width: 64, height: 64 } as const;
    const before = submits().length;
    expect(await failureOf(generate({ images: [image] }))).toMatchObject({ ...expected, charged: 'no' });
    expect(submits().length).toBe(before);
  });

  it('takes the image as an address, as base64 and as a data URI', async () => {
    const base64 = png.toString('base64');
    for (const image of [vendor.imageUrl, base64, `data:image/png;base64,${base64}`]) {
      vendor.plan({ looks: [vendor.shapes.completed(JOB, image)] });
      expect(bytesOf(await generate()).equals(png)).toBe(true);
    }
  });

  it('reads the other shapes that are about too', async () => {
    const done = { status: 'completed', progress: '100%' };
    const task = {
      apimart: { data: { ...done, result: { images: [{ url: vendor.imageUrl }] } } },
      evolink: { ...done, results: [vendor.imageUrl], data: null },
      toapis: { ...done, url: vendor.imageUrl },
    }[type];
    vendor.plan({ looks: [json(task)] });
    expect(bytesOf(await generate()).equals(png)).toBe(true);
    const failed = { status: 'failed', error: 'Blocked by the safety system.' };
    vendor.plan({ looks: [json(type === 'apimart' ? { data: failed } : failed)] });
    expect(await failureOf(look())).toMatchObject({ code: 'moderation_blocked', charged: 'no' });
    vendor.plan({ looks: [json(type === 'apimart' ? { data: { status: 'failed' } } : { status: 'failed' })] });
    expect(await failureOf(look())).toMatchObject({ code: 'upstream_error', retryable: true, charged: 'no' });
  });

  it('asks for as many images as the vendor makes at once, and takes all of them', async () => {
    if (type !== 'evolink') return;
    const finished = {
      status: 'completed',
      results: [vendor.imageUrl, `data:image/png;base64,${png.toString('base64')}`],
    };
    vendor.plan({ looks: [json(finished)] });
    const { images } = await generate({ n: 2 });
    expect(images).toEqual([png, png]);
    expect(JSON.parse(String(submits().at(-1)?.body))).toMatchObject({ n: 2 });
    const gone = vendor.imageUrl.replace('1.png', 'gone.png');
    vendor.plan({ looks: [json({ ...finished, results: [gone, vendor.imageUrl] })] });
    const order = orderOf({ n: 2 });
    const lookedAfter = (waitedMs: number) => provider().generate(order, contextOf({ resumeJobId: JOB, waitedMs }));
    expect(await lookedAfter(590_000)).toEqual({ pending: { checkAfterMs: 15_000 } });
    expect(resultOf(await lookedAfter(600_000)).images).toHaveLength(1);
  });

  it('reads token usage where it is told', async () => {
    const usage = { input_tokens: 31, output_tokens: 4_160, total_tokens: 4_191 };
    vendor.plan({ looks: [vendor.shapes.completed(JOB, vendor.imageUrl, { usage })] });
    expect((await generate()).usage).toEqual(usage);
  });

  it('fetches the image at once, without the key, and again as long as it may come', async () => {
    vendor.plan({ file: [text('', 'text/plain', 503), text(png, 'image/png')] });
    expect(bytesOf(await generate()).equals(png)).toBe(true);
    expect(lastCall().headers).not.toHaveProperty('authorization');
    const gone = { looks: [vendor.shapes.completed(JOB, vendor.imageUrl)], file: [text('', 'text/plain', 503)] };
    vendor.plan(gone);
    expect(await look(590_000)).toEqual({ pending: { checkAfterMs: 15_000 } });
    expect(await failureOf(look(600_000))).toMatchObject({ ...operator, charged: 'yes' });
    vendor.plan({ looks: [vendor.shapes.completed(JOB, 'http://169.254.169.254/latest')] });
    expect(await failureOf(look())).toMatchObject({ ...operator, charged: 'yes' });
  });

  const unpaid = { charged: 'no' };
  const again = { code: 'upstream_error', retryable: true };
  const operator = { code: 'upstream_error', retryable: false };
  it.each<[string, (one: JobVendor) => Script, object]>([
    [
      '400',
      ({ shapes }) => shapes.refused(400, 'invalid_request_error', 'unsupported size'),
      { ...operator, ...unpaid },
    ],
    [
      '400 by moderation',
      ({ shapes }) => shapes.refused(400, 'invalid_request_error', 'Content policy: no.'),
      { code: 'moderation_blocked', param: 'prompt', ...unpaid },
    ],
    [
      '422 by moderation',
      ({ shapes }) => shapes.refused(422, 'content_policy_violation'),
      { code: 'moderation_blocked', ...unpaid },
    ],
    ['401', ({ shapes }) => shapes.refused(401, 'authentication_error'), { ...operator, ...unpaid }],
    ['402', ({ shapes }) => shapes.refused(402, 'payment_required'), { ...operator, ...unpaid }],
    ['403', ({ shapes }) => shapes.refused(403, 'permission_error'), { ...operator, ...unpaid }],
    ['404', ({ shapes }) => shapes.refused(404, 'not_found_error'), { ...operator, ...unpaid }],
    ['413', ({ shapes }) => shapes.refused(413, 'request_too_large'), { ...operator, ...unpaid }],
    ['422', ({ shapes }) => shapes.refused(422, 'invalid_request'), { ...operator, ...unpaid }],
    [
      '429 with a wait',
      ({ shapes }) => shapes.refused(429, 'rate_limit_error', '', { 'retry-after': '7' }),
      { ...again, ...unpaid, retryAfter: 7 },
    ],
    ['429 without credit', ({ shapes }) => shapes.refused(429, 'insufficient_quota'), { ...operator, ...unpaid }],
    ['500', ({ shapes }) => shapes.refused(500, 'server_error'), { ...again, ...unpaid, status: 500 }],
    ['503', ({ shapes }) => shapes.refused(503, 'service_unavailable'), { ...again, ...unpaid }],
    ['502 by a proxy', () => text('<html>', 'text/html', 502), { ...again, charged: 'maybe' }],
    ['504', ({ shapes }) => shapes.refused(504, 'server_error'), { ...again, charged: 'maybe' }],
    [
      'a refusal with status 200',
      () => json({ code: 402, message: 'Insufficient balance' }),
      { ...operator, ...unpaid },
    ],
    [
      'HTML',
      () => text('<html>', 'text/html'),
      { code: 'upstream_invalid_response', retryable: true, charged: 'maybe' },
    ],
    ['another JSON', () => json([1, 2]), { code: 'upstream_invalid_response', retryable: true, charged: 'maybe' }],
    [
      'far too much',
      () => text('x'.repeat(33_000_000), 'application/json'),
      { code: 'upstream_invalid_response', retryable: true, charged: 'maybe' },
    ],
    [
      'an id that is none',
      ({ shapes }) => shapes.submitted('../../admin'),
      { code: 'upstream_invalid_response', charged: 'maybe' },
    ],
    ['a cut answer', () => cut('{"code":200,"da', 900), { ...again, charged: 'maybe' }],
    ['a closed connection', () => (_call, response) => void response.destroy(), { ...again, charged: 'maybe' }],
  ])('classifies a submit answered by %s', async (_name, submit, expected) => {
    vendor.plan({ submit: submit(vendor) });
    const error = await failureOf(generate());
    expect(error).toMatchObject(expected);
    expectNoSecret(error);
  });

  it('knows what a submit that is never answered may have cost', async () => {
    vendor.plan({ submit: hang() });
    // Long enough for the request to be out on a busy machine: before that, nothing can have been charged.
    const silent = failureOf(provider({ timeout_ms: patient(1_000) }).generate(order(), contextOf()));
    expect(await silent).toMatchObject({
      ...again,
      charged: 'maybe',
      message: 'The provider did not respond in time.',
    });
    const nowhere = provider({}, KEY, `http://127.0.0.1:${await freePort()}/v1`);
    expect(await failureOf(nowhere.generate(order(), contextOf()))).toMatchObject({ ...again, ...unpaid });
  });

  it.each<[string, object]>([
    ['content_policy_violation', { code: 'moderation_blocked', param: 'prompt', retryable: false }],
    ['invalid_parameters', operator],
    ['image_processing_error', { code: 'invalid_image_file', retryable: false }],
    ['image_dimension_mismatch', { code: 'invalid_image_file', retryable: false }],
    ['generation_failed_no_content', again],
    ['generation_failed', again],
    ['service_error', again],
    ['generation_timeout', again],
    ['resource_exhausted', again],
    ['quota_exceeded', again],
    ['insufficient_quota', operator],
    ['service_unavailable', again],
    ['unknown_error', again],
  ])('classifies a job that failed with %s, which is released', async (code, expected) => {
    vendor.plan({ looks: [vendor.shapes.failed(JOB, code, `Failed: ${PROMPT}`)] });
    const error = await failureOf(look());
    expect(error).toMatchObject({ ...expected, ...unpaid });
    expectNoSecret(error);
  });

  it('does not buy again what was cancelled at the vendor', async () => {
    vendor.plan({ looks: [vendor.shapes.cancelled(JOB)] });
    expect(await failureOf(look())).toMatchObject({ ...operator, charged: 'maybe' });
  });

  it.each<[string, (one: JobVendor) => Script]>([
    ['429', ({ shapes }) => shapes.refused(429, 'rate_limit_error')],
    ['500', ({ shapes }) => shapes.refused(500, 'server_error')],
    ['a gateway’s page', () => text('<html>', 'text/html', 502)],
    ['HTML', () => text('<html>', 'text/html')],
    ['another JSON', () => json({ hello: 'world' })],
    ['a cut answer', () => cut('{"code":200,"da', 900)],
    ['a closed connection', () => (_call, response) => void response.destroy()],
    ['silence', () => hang()],
  ])('loses nothing when a look is answered by %s', async (name, answer) => {
    vendor.plan({ looks: [answer(vendor)] });
    // Short only for what is never answered: the others must have been read.
    expect(await look(8_000, provider({ timeout_ms: name === 'silence' ? 100 : 20_000 }))).toEqual({
      pending: { checkAfterMs: 2_000 },
    });
  });

  it('waits as long as a look is asked to', async () => {
    vendor.plan({ looks: [vendor.shapes.refused(429, 'rate_limit_error', 'No.', { 'retry-after': '40' })] });
    expect(await look()).toEqual({ pending: { checkAfterMs: 40_000 } });
    vendor.plan({ looks: [vendor.shapes.refused(429, 'rate_limit_error', 'No.', { 'retry-after': '99999' })] });
    expect(await look()).toEqual({ pending: { checkAfterMs: 60_000 } });
  });

  it('gives up a job that the vendor does not know, unless it has just begun', async () => {
    const error = async (waitedMs: number) =>
      provider().generate(order(), contextOf({ resumeJobId: 'task_gone', waitedMs }));
    expect(await error(59_000)).toHaveProperty('pending');
    expect(await failureOf(error(60_000))).toMatchObject({ ...operator, charged: 'maybe' });
  });

  it.each([400, 401, 402, 403])(
    'keeps the job when a look is refused with %i, and looks again seldom',
    async (status) => {
      const answers = [{}, { 'retry-after': '40' }].map((headers) =>
        vendor.shapes.refused(status, 'some_error', `No: ${PROMPT}`, headers),
      );
      vendor.plan({ looks: answers });
      const problem: unknown = expect.objectContaining({ code: 'upstream_error', status, keyRefused: status !== 400 });
      for (const checkAfterMs of [15_000, 40_000]) {
        const answer = await look(600_000);
        expect(answer).toEqual({ pending: { checkAfterMs, problem } });
        if ('pending' in answer) expectNoSecret(answer.pending.problem!);
      }
      vendor.plan({ looks: [vendor.shapes.completed(JOB, vendor.imageUrl)] });
      expect(bytesOf(await look()).equals(png)).toBe(true);
    },
  );

  it('ends with the signal’s reason while it looks and while it fetches', async () => {
    for (const plan of [
      { looks: [hang()] },
      { looks: [vendor.shapes.completed(JOB, vendor.imageUrl)], file: [hang()] },
    ]) {
      vendor.plan(plan);
      const stop = new AbortController();
      const reason = new Error('cancelled');
      const before = vendor.calls.length;
      const call = provider().generate(order(), contextOf({ resumeJobId: JOB, signal: stop.signal }));
      const reached = 'file' in plan ? 2 : 1;
      void waitUntil(() => vendor.calls.length === before + reached, { timeoutMs: 30_000 }).then(() =>
        stop.abort(reason),
      );
      await expect(call).rejects.toBe(reason);
      await lastCall().closed;
    }
  });

  it('never takes the key of one server to another', () => {
    const relay = () => provider({ upload_url: undefined });
    if (type === 'evolink') expect(relay).toThrow(/options\.upload_url is needed/);
    else expect(relay).not.toThrow();
    expect(() => provider({ upload_url: undefined }, KEY, `https://api.${type}.ai/v1`)).not.toThrow();
  });

  it('names everything that is wrong with its options', () => {
    const wrong = { accepts: ['color'], upload_url: 'ftp://x', timeout: 5 };
    expect(() => provider(wrong)).toThrow(ProviderOptionsError);
    expect(() => provider(wrong)).toThrow(/options\.timeout is not known.*options\.accepts\.0.*options\.upload_url/);
  });

  /** Neither what callers see nor what is logged says whom we called, with what, or for what. */
  function expectNoSecret(error: Error): void {
    const shown: string[] = [];
    for (let next: unknown = error; next instanceof Error; next = next.cause) shown.push(next.message);
    for (const secret of [KEY, PROMPT, '127.0.0.1', new URL(vendor.url).port])
      expect(shown.join('\n')).not.toContain(secret);
  }
});
