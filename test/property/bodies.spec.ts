import fc from 'fast-check';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BudgetRepository } from '#billing/budget.repository.js';
import { bodyRoutes, type BodyRoute } from '../support/body-routes.js';
import { json, startChatUpstream, type ChatUpstream } from '../support/chat-upstream.js';
import { signInFirstAdmin, type Browser } from '../support/console.js';
import { contractError, type Answer } from '../support/contract-answer.js';
import { LONG, PROPERTY_TIMEOUT_MS, runs } from '../support/effort.js';
import { counted, measured } from '../support/figures.js';
import { byteByByte, HARMFUL_BODIES, inPieces } from '../support/harmful-bodies.js';
import { databaseOf } from '../support/open-prisma.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { ProcessProbe, type Seen } from '../support/process-probe.js';
import { sendBody } from '../support/raw-body.js';

/** Bytes of a body; where nobody looks before parsing it, the loop stands for half a second to two per 10 MB. */
const BYTES = LONG ? 60_000_000 : 24_000_000;
/** Of a harmful body that arrives in chunks of one byte. */
const TINY_CHUNKS = LONG ? 1_000_000 : 150_000;
/** What the process may hold more: BODY_MEMORY, its default. */
const GROWTH_MB = 268;
/** What one body may take in a turn, in what parsing a megabyte of plain JSON takes. */
const LONGEST_TURN = 30;
const ROUTES = bodyRoutes();
/** Each route gets one in so many of the bodies whole, and each body goes to as many routes whole; the others are cut. */
const WHOLE_EVERY = LONG ? 1 : 3;
const CUT = 8;
const CHAT: BodyRoute = { method: 'POST', path: '/v1/chat/completions', takesForms: false, isConsole: false };
const IMAGES: BodyRoute = { ...CHAT, path: '/v1/images/generations?dry_run=true' };
const REFUSED = ['invalid_json', 'request_too_large', 'server_is_overloaded', 'unsupported_media_type'];

describe('H1, H2: bodies of any shape', () => {
  let platform: ApiPlatform;
  let upstream: ChatUpstream;
  let folder: string;
  let admin: Browser;
  /** A key with a budget, whose chats with `talk` have a price. */
  let payer: string;
  const probe = new ProcessProbe();

  beforeAll(async () => {
    upstream = await startChatUpstream();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-bodies-'));
    await writeFile(
      join(folder, 'models.yaml'),
      `providers:
  sandbox: { type: sandbox }
  up: { type: openai, base_url: "${upstream.url}", keys: [{ env: UP_KEY }] }
models:
  gpt-image-2: { kind: image, routes: [{ provider: sandbox }] }
  sample: { kind: chat, routes: [{ provider: sandbox }] }
  talk:
    kind: chat
    routes: [{ provider: up, model: other }]
    prices: [{ from: 2026-01-01, per_million_tokens: { input: 1, output: 1 } }]
`,
    );
    // What happens to be a valid request becomes a task that no worker is there for: its caller is soon told so.
    const settings = { MODELS_FILE: join(folder, 'models.yaml'), UP_KEY: 'upstream-secret-1', SYNC_WAIT_MS: '1000' };
    platform = await startApiPlatform({ ...settings, ...probe.settings });
    const { id, key } = await platform.newKeyWithId();
    await new BudgetRepository(databaseOf(platform)).set(
      { ownerId: id, owner: 'key' },
      { limit: 1_000_000_000_000, period: 'total' },
    );
    payer = key;
    // The first look at the database loads what reads it, which has nothing to do with any body.
    await platform.call('/v1/models');
    admin = await signInFirstAdmin(platform);
  });
  afterAll(async () => {
    await platform.close();
    await upstream.close();
    await rm(folder, { recursive: true, force: true });
    probe.close();
  });

  /** `known`: with a key or a session, else as anybody may. */
  function headersFor(route: BodyRoute, known: boolean): Record<string, string> {
    const headers = { 'content-type': 'application/json' };
    if (!route.isConsole) return known ? { ...headers, authorization: `Bearer ${platform.key}` } : headers;
    const own = { ...headers, origin: platform.url, 'x-darkroom-csrf': '1' };
    return known ? { ...own, cookie: admin.cookie ?? '' } : own;
  }

  function send(
    route: BodyRoute,
    known: boolean,
    pieces: Iterable<Buffer>,
    headers: Readonly<Record<string, string>>,
    signal?: AbortSignal,
  ): Promise<Answer | undefined> {
    return sendBody(platform.url, { ...route, pieces, signal, headers: { ...headersFor(route, known), ...headers } });
  }

  const all: Seen[] = [];
  /** Sends one body after the other, and none may hold up the process. */
  async function calmly(work: () => Promise<void>): Promise<void> {
    const seen = await probe.during(platform.api, work);
    all.push(seen);
    expect(seen.longestTurn).toBeLessThan(LONGEST_TURN);
    expect(seen.grownMb).toBeLessThan(GROWTH_MB);
  }

  /** Chats whose cost is estimated before they are passed on; how many got so far. */
  let relayed = 0;
  async function relay(body: Buffer): Promise<void> {
    upstream.answer = (response, call) => {
      upstream.received.length = 0;
      relayed++;
      return json({ id: 'c', choices: [], usage: { prompt_tokens: 1, completion_tokens: 1 } })(response, call);
    };
    const headers = { authorization: `Bearer ${payer}`, 'content-length': String(body.length) };
    const answer = await send(CHAT, true, inPieces(body), headers);
    if (answer?.status !== 200) judge(CHAT, answer);
  }

  const chunked = { 'transfer-encoding': 'chunked' };

  it.each(HARMFUL_BODIES.map(({ name, body }, at) => ({ name, body, at })))(
    '$name: every route refuses them without holding up the rest',
    async ({ body, at }) => {
      const whole = body(BYTES);
      const short = body(BYTES / CUT);
      await calmly(async () => {
        for (const [place, route] of ROUTES.entries()) {
          const bytes = (place + at) % WHOLE_EVERY === 0 ? whole : short;
          for (const known of [true, false]) {
            const answer = await send(route, known, inPieces(bytes), { 'content-length': String(bytes.length) });
            judge(route, answer);
          }
        }
        await relay(body(BYTES, 'talk'));
      });
    },
    4 * PROPERTY_TIMEOUT_MS,
  );

  it('H2: many of them get as far as a provider, in a chat with a price and a budget', () => {
    expect(relayed).toBeGreaterThanOrEqual(5);
  });

  it(
    'in pieces of one byte, or of any other size, cut or whole, with any Content-Type',
    async () => {
      const shape = fc.record({
        route: fc.constantFrom(...ROUTES),
        known: fc.boolean(),
        harmful: fc.constantFrom(...HARMFUL_BODIES),
        bytes: fc.integer({ min: 1, max: 3_000_000 }),
        sent: fc.constantFrom('tiny', 'chunks', 'whole', 'cut'),
        type: fc.constantFrom(
          ...[
            'application/json',
            'application/json; charset=utf-16',
            'text/plain',
            'application/x-www-form-urlencoded',
          ],
          ...['multipart/form-data; boundary=b', 'multipart/form-data; boundary={},'],
        ),
        encoding: fc.constantFrom('identity', 'identity', 'gzip'),
      });
      await calmly(() =>
        fc.assert(
          fc.asyncProperty(shape, async ({ route, known, harmful, bytes, sent, type, encoding }) => {
            const body = harmful.body(bytes);
            const headers = { 'content-type': type, 'content-encoding': encoding };
            const length = { 'content-length': String(sent === 'cut' ? body.length + 1 : body.length) };
            const pieces = sent === 'tiny' ? byteByByte(body, Math.min(bytes, TINY_CHUNKS)) : inPieces(body);
            const framed = sent === 'chunks' ? framedPieces(body) : pieces;
            const framing = sent === 'tiny' || sent === 'chunks' ? chunked : length;
            if (sent === 'cut') return await hangUp(route, known, pieces, { ...headers, ...framing });
            judge(route, await send(route, known, framed, { ...headers, ...framing }));
          }),
          runs(60),
        ),
      );
    },
    3 * PROPERTY_TIMEOUT_MS,
  );

  /** Sends what announces more than it is, and leaves. */
  async function hangUp(...[route, known, pieces, headers]: Parameters<typeof send>): Promise<void> {
    const leaving = new AbortController();
    const answer = send(route, known, pieces, headers, leaving.signal);
    await Promise.race([answer, platform.call('/healthz', { key: null })]);
    leaving.abort();
    await answer;
  }

  it(
    'forms of any parts hold nobody up',
    async () => {
      const part = (head: string, size: number): Buffer =>
        Buffer.concat([Buffer.from(`--b\r\n${head}\r\n\r\n`), Buffer.alloc(size, '\r\n--'), Buffer.from('\r\n')]);
      const name = 'content-disposition: form-data; name="prompt"';
      const file = 'content-disposition: form-data; name="image"; filename="a.png"';
      const forms: Buffer[] = [
        Buffer.concat(Array.from({ length: 200_000 }, () => part(name, 0))),
        Buffer.concat(Array.from({ length: 100 }, () => part(name, 250_000))),
        part(`${name}\r\n${'x: y\r\n'.repeat(200_000)}`, 0),
        part(file, BYTES),
        Buffer.alloc(BYTES, '\r\n--'),
        Buffer.alloc(BYTES, '-'),
        Buffer.alloc(BYTES, '--b\r\n'),
        Buffer.alloc(BYTES, '\r\n--b'),
      ];
      await calmly(async () => {
        for (const route of ROUTES.filter(({ takesForms }) => takesForms)) {
          for (const form of forms) {
            const headers = { 'content-type': 'multipart/form-data; boundary=b' };
            judge(
              route,
              await send(route, true, inPieces(form), { ...headers, 'content-length': String(form.length) }),
            );
            judge(
              route,
              await send(route, true, byteByByte(form.subarray(0, TINY_CHUNKS), TINY_CHUNKS), {
                ...headers,
                ...chunked,
              }),
            );
          }
        }
      });
    },
    4 * PROPERTY_TIMEOUT_MS,
  );

  it(
    'chats of the sandbox and requests for images cost what their size says, whatever they ask for',
    async () => {
      const nested = (depth: number): object =>
        depth === 0 ? {} : { properties: { a: nested(depth - 1) }, required: Array.from({ length: 100 }, () => 'a') };
      const messages = [
        { role: 'user', content: 'hi' },
        { role: 'tool', content: 'zy'.repeat(250_000) },
      ];
      const stop = Array.from({ length: 2_000 }, (_, index) => `zz${index}`);
      const schema = { type: 'json_schema', json_schema: { name: 'x', schema: nested(8) } };
      const tools = [{ type: 'function', function: { name: 'look', parameters: nested(8) } }];
      const chats = [
        { messages, stop, n: 8 },
        { messages: messages.slice(0, 1), response_format: schema, n: 8 },
        { messages: messages.slice(0, 1), tools, tool_choice: 'required', n: 8 },
      ].map((chat) => [CHAT, { model: 'sample', ...chat }] as const);
      const deep = JSON.parse(`${'['.repeat(29)}${'1,'.repeat(90_000)}1${']'.repeat(29)}`) as unknown;
      const images = [
        { x: deep },
        { image_urls: [`data:image/png;base64,${'\r\n'.repeat(4_000_000)}`] },
        { image_urls: [`data:image/png;base64,iVBORw0KGgo${'\n'.repeat(8_000_000)}`] },
      ].map((image) => [IMAGES, { model: 'gpt-image-2', prompt: 'a house', ...image }] as const);
      await calmly(async () => {
        for (const [route, body] of [...chats, ...images]) {
          const bytes = Buffer.from(JSON.stringify(body));
          judge(route, await send(route, true, inPieces(bytes), { 'content-length': String(bytes.length) }));
        }
      });
    },
    PROPERTY_TIMEOUT_MS,
  );

  it('a query of thousands of names costs as little as the rest of the request', async () => {
    const names = Array.from({ length: 3_500 }, (_, at) => at.toString(36)).join('&');
    const route = { method: 'POST', path: `/v1/images/generations?${names}`, takesForms: false, isConsole: false };
    await calmly(async () => {
      const answers = await Promise.all(
        Array.from({ length: 300 }, () => send(route, true, [Buffer.from('{}')], { 'content-length': '2' })),
      );
      expect(new Set(answers.map((answer) => answer?.status))).toEqual(new Set([400]));
    });
  });

  it('leave the process as ready as it was', async () => {
    expect((await platform.call('/v1/models')).status).toBe(200);
    expect(platform.api.logs().filter(({ code }) => code === 'internal_error')).toEqual([]);
    const most = (field: keyof Seen): number => Math.max(...all.map((seen) => seen[field]));
    measured('one body of any shape', 'most that a turn of the event loop did', most('longestTurnMs'));
    counted('one body of any shape', 'the same, in MB of parsed JSON', most('longestTurn').toFixed(1));
    counted('one body of any shape', 'memory in use grew by (MB)', most('grownMb').toFixed(0));
  });
});

/** Whoever is refused is told so in the contract's words; a connection may end while it is still sent to. */
function judge({ method, path, isConsole }: BodyRoute, answer: Answer | undefined): void {
  if (answer === undefined) return;
  const where = `${method} ${path}: ${answer.status} ${answer.text.slice(0, 200)}`;
  // A valid request that is a task now.
  if (answer.status === 504) return void expect(where).toContain('"code":"still_running"');
  if (answer.status >= 500) expect([where, answer.status]).toEqual([where, 503]);
  if (isConsole) return;
  const error = contractError(answer, path);
  if (answer.status === 413 || answer.status === 503 || error?.code === 'invalid_json') {
    expect(REFUSED).toContain(error?.code);
  }
}

/** As chunks of HTTP, each as large as a client likes. */
function* framedPieces(body: Buffer): Generator<Buffer> {
  for (let at = 0, size = 1; at < body.length; at += size, size = (size * 7) % 60_013) {
    const piece = body.subarray(at, at + size);
    yield Buffer.concat([Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]);
  }
  yield Buffer.from('0\r\n\r\n');
}
