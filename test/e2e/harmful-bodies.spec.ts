import { connect } from 'node:net';
import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { signInFirstAdmin } from '../support/console.js';
import { contractError } from '../support/contract-answer.js';
import { LONG } from '../support/effort.js';
import { counted, measured } from '../support/figures.js';
import { byteByByte, HARMFUL_BODIES, inPieces } from '../support/harmful-bodies.js';
import { startApiPlatform, type ApiPlatform } from '../support/platform.js';
import { ProcessProbe, type Seen } from '../support/process-probe.js';
import { startWorker, type TestProcess } from '../support/processes.js';
import { sendBody } from '../support/raw-body.js';

const SUBMIT = '/v1/images/generations/async';
const CHAT = '/v1/chat/completions';
/** What bodies may take in a turn, in what parsing a megabyte of plain JSON takes. */
const LONGEST_TURN = 200;
/** What the process may hold more: BODY_MEMORY, its default. */
const GROWTH_MB = 268;
const JSON_TYPE = { 'content-type': 'application/json' };

describe('bodies that were found to exhaust the API', () => {
  let platform: ApiPlatform;
  let worker: TestProcess;
  const probe = new ProcessProbe();

  beforeAll(async () => {
    // An hour for bodies of 60 MB, however slowly this machine sends them.
    platform = await startApiPlatform({ ...probe.settings, REQUEST_TIMEOUT_MS: '3600000' });
    worker = await startWorker({ ...platform.settings, NODE_OPTIONS: undefined });
    // The first look at the database loads what reads it, which has nothing to do with any body.
    await platform.call('/v1/models');
  });
  afterAll(async () => {
    await worker.stop();
    await platform.close();
    probe.close();
  });

  function send(path: string, body: Buffer) {
    const own = { authorization: `Bearer ${platform.key}`, 'content-length': String(body.length) };
    return sendBody(platform.url, {
      method: 'POST',
      path,
      headers: { ...JSON_TYPE, ...own },
      pieces: inPieces(body),
    });
  }

  it('H1: a dozen strangers who send a million chunks of one byte each cost what their bytes cost', async () => {
    const body = Buffer.from(`{"email":"${'a'.repeat(1_000_000)}`);
    const headers = { ...JSON_TYPE, 'transfer-encoding': 'chunked', origin: platform.url, 'x-darkroom-csrf': '1' };
    const codes: unknown[] = [];
    const seen = await probe.during(platform.api, async () => {
      const calls = Array.from({ length: 12 }, () =>
        sendBody(platform.url, {
          method: 'POST',
          path: '/console/api/sign-in',
          headers,
          pieces: byteByByte(body, 1_000_000),
        }),
      );
      for (const answer of await Promise.all(calls)) codes.push(answer?.status ?? 400);
    });
    tell('12 connections x 1,000,000 one-byte chunks', seen);
    expect(seen.grownMb).toBeLessThan(200);
    expect(codes.filter((code) => code !== 400 && code !== 413)).toEqual([]);
  }, 300_000);

  it('H1: thousands of requests in one piece, whose answers nobody reads, cost no more than a few', async () => {
    const { hostname, port, host } = new URL(platform.url);
    const requests = `GET /openapi.json HTTP/1.1\r\nhost: ${host}\r\n\r\n`.repeat(2_300);
    const seen = await probe.during(platform.api, async () => {
      await Promise.all(
        Array.from({ length: 10 }, async () => {
          const socket = connect(Number(port), hostname).on('error', () => undefined);
          // The connection ends by itself: who sends so many does not wait for answers.
          socket.on('data', () => undefined).write(requests);
          await new Promise((resolve) => socket.once('close', resolve));
        }),
      );
    });
    tell('10 connections x 2,300 requests in one piece', seen);
    expectCalm(seen);
    expect((await platform.call('/v1/models')).status).toBe(200);
  }, 300_000);

  it('H1: requests that come in one piece begin one after the other, once the response before has been sent', async () => {
    const { port, hostname, host } = new URL(platform.url);
    const request = (path: string, prompt: string): string => {
      const body = JSON.stringify({ model: 'gpt-image-2', prompt, size: '1024x1024' });
      const head = [`host: ${host}`, `authorization: Bearer ${platform.key}`, 'content-type: application/json'];
      return [`POST ${path} HTTP/1.1`, ...head, `content-length: ${body.length}`, '', body].join('\r\n');
    };
    const socket = connect(Number(port), hostname);
    socket.resume().write(request('/v1/images/generations', 'first') + request(SUBMIT, 'second'));
    const text = `SELECT id, prompt, created_at, finished_at FROM tasks WHERE prompt IN ('first', 'second') ORDER BY id`;
    let rows: { prompt: string; created_at: Date; finished_at: Date | null }[] = [];
    const areBoth = async (): Promise<boolean> => {
      ({ rows } = await platform.pool.query(text));
      return rows.length === 2;
    };
    expect(await waitUntil(areBoth, { timeoutMs: 45_000 })).toBe(true);
    socket.destroy();
    const [first, second] = rows;
    expect([first?.prompt, second?.prompt]).toEqual(['first', 'second']);
    expect(Number(second?.created_at)).toBeGreaterThanOrEqual(first?.finished_at?.getTime() ?? Infinity);
  });

  it('H1: a stranger may send the console 16 KiB, its people 64 KiB, and nobody anything to no address', async () => {
    const { cookie = '' } = await signInFirstAdmin(platform);
    const ask = async (method: string, path: string, bytes: number, headers: Record<string, string> = {}) => {
      const own = { origin: platform.url, 'x-darkroom-csrf': '1', 'content-length': String(bytes) };
      const answer = await sendBody(platform.url, {
        method,
        path,
        headers: { ...JSON_TYPE, ...own, ...headers },
        pieces: inPieces(Buffer.from('{"name":"'.padEnd(bytes - 2, 'a').concat('"}'))),
      });
      return [answer?.status, (JSON.parse(answer?.text ?? '{}') as { error?: { code: string } }).error?.code];
    };
    expect(await ask('POST', '/console/api/sign-in', 16_384)).toEqual([400, 'unsupported_parameter']);
    expect(await ask('POST', '/console/api/sign-in', 16_385)).toEqual([413, 'request_too_large']);
    expect(await ask('PATCH', '/console/api/person', 100)).toEqual([401, 'not_signed_in']);
    expect(await ask('PATCH', '/console/api/person', 1_000_000)).toEqual([401, 'not_signed_in']);
    expect(await ask('PATCH', '/console/api/person', 65_536, { cookie })).toEqual([400, 'invalid_value']);
    expect(await ask('PATCH', '/console/api/person', 65_537, { cookie })).toEqual([413, 'request_too_large']);
    for (const type of ['application/json', 'multipart/form-data; boundary=b', 'text/plain', 'no type']) {
      expect(await ask('POST', '/v1/images/variations', 1_000_000, { 'content-type': type })).toEqual([
        404,
        'unknown_url',
      ]);
    }
  });

  it.each([
    ['60 MB of empty objects', SUBMIT, 'empty objects', 60_000_000],
    ['6,000,000 different names', SUBMIT, 'names', 60_000_000],
    ['a chat with 5,500,000 members', CHAT, 'names', 55_000_000],
  ])(
    'H2: %s are refused without holding up the API',
    async (what, path, name, bytes) => {
      const body = HARMFUL_BODIES.find((harmful) => harmful.name === name)?.body(bytes) ?? Buffer.alloc(0);
      let code: string | undefined;
      const seen = await probe.during(platform.api, async () => {
        const answer = await send(path, body);
        code = answer === undefined ? undefined : contractError(answer, path)?.code;
      });
      tell(what, seen);
      expectCalm(seen);
      expect(code).toBe('invalid_json');
      expect((await platform.call('/v1/models')).status).toBe(200);
    },
    300_000,
  );

  it('H2, section 4, 10: three images of 20 MB in one body are taken without holding up the API, and their memory comes back', async () => {
    const png = await gradientImage(64, 64, 'png');
    const image = Buffer.concat([png, Buffer.alloc(15_000_000)]).toString('base64');
    const image_urls = ['', ';charset=utf-8', ';name=a.png'].map((more) => `data:image/png${more};base64,${image}`);
    const text = JSON.stringify({ model: 'gpt-image-2', prompt: 'a house', image_urls });
    const body = Buffer.from(text);
    const escaped = Buffer.from(text.replaceAll('/', '\\/'));
    expect((await send(SUBMIT, body))?.status).toBe(202);
    const before = await probe.liveMb(platform.api);
    const statuses: (number | undefined)[] = [];
    const seen = await probe.during(platform.api, async () => {
      for (let round = 0; round < (LONG ? 4 : 1); round++) {
        const calls = Array.from({ length: 8 }, (_, at) => send(SUBMIT, at === 0 ? escaped : body));
        for (const answer of await Promise.all(calls)) statuses.push(answer?.status);
      }
    });
    tell('8 bodies of 60 MB at once', seen);
    expectCalm(seen);
    expect(statuses).toContain(202);
    expect((await send(SUBMIT, body))?.status).toBe(202);
    expect(statuses.filter((status) => status !== 202 && status !== 503)).toEqual([]);
    const isBack = async (): Promise<boolean> => (await probe.liveMb(platform.api)) <= before * 1.1;
    const back = await waitUntil(isBack, { timeoutMs: 30_000, everyMs: 500 });
    expect([back, before, await probe.liveMb(platform.api)]).toEqual([true, before, expect.any(Number)]);
  }, 300_000);
});

function tell(what: string, { longestTurn, longestTurnMs, grownMb, nowMb }: Seen): void {
  measured(what, 'most that a turn of the event loop did', longestTurnMs);
  counted(what, 'the same, in MB of parsed JSON', longestTurn.toFixed(1));
  counted(
    what,
    'memory in use grew by, and is more at the end by (MB)',
    `${Math.round(grownMb)}, ${Math.round(nowMb)}`,
  );
}

function expectCalm({ longestTurn, grownMb }: Seen): void {
  expect(longestTurn).toBeLessThan(LONGEST_TURN);
  expect(grownMb).toBeLessThan(GROWTH_MB);
}
