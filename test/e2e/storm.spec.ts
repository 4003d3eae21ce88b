import { request as httpRequest } from 'node:http';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { waitUntil } from '#embedded/wait-until.js';
import { gradientImage } from '#images/sample-images.fixture.js';
import { bodyRoutes } from '../support/body-routes.js';
import { signInFirstAdmin } from '../support/console.js';
import { answerOf, contractError } from '../support/contract-answer.js';
import { LONG } from '../support/effort.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { ProcessProbe } from '../support/process-probe.js';
import { expectNoDataLoss } from '../support/no-data-loss.js';

const EDITS = '/v1/images/edits/async';
const SLOW_CALLERS = 300;

let platform: Platform;
let png: Buffer;

beforeAll(async () => {
  png = await gradientImage(512, 512, 'png');
});

const head = (path: string, lines: string): string =>
  `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${platform.key}\r\n${lines}`;
const part = 'content-disposition: form-data; name="image"; filename="a.png"';
const FORM = 'content-type: multipart/form-data; boundary=b\r\n';

/** Sends its beginning and then a byte now and then, until it is hung up on; what came back. */
async function drip(start: string | Buffer): Promise<string> {
  const socket: Socket = connect(Number(new URL(platform.url).port), '127.0.0.1');
  let received = '';
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()));
  // The reset that follows a byte after its end; `once` would take it for a failure.
  socket.on('error', () => undefined);
  const closed = new Promise((resolve) => socket.once('close', resolve));
  socket.write(start);
  const timer = setInterval(() => socket.write('a'), 700);
  await closed;
  clearInterval(timer);
  return received;
}

/** An upload that breaks off after so many bytes. */
function abort(bytes: number): Promise<void> {
  const call = httpRequest(platform.url + EDITS, {
    method: 'POST',
    agent: false,
    headers: { authorization: `Bearer ${platform.key}`, 'content-type': 'multipart/form-data; boundary=b' },
  });
  const image = Buffer.concat([Buffer.from(`--b\r\n${part}\r\n\r\n`), png, Buffer.from('\r\n')]);
  const prompt = Buffer.from(
    '--b\r\ncontent-disposition: form-data; name="prompt"\r\n\r\n[[fault=moderation]]\r\n--b--\r\n',
  );
  const body = Buffer.concat([image, image, image, prompt]).subarray(0, bytes);
  return new Promise((resolve) => {
    call.on('error', () => undefined).on('close', resolve);
    call.write(body, () => call.destroy());
  });
}

describe('slow callers', () => {
  beforeAll(async () => {
    platform = await startPlatform({ REQUEST_TIMEOUT_MS: '3000' });
  });
  afterAll(() => platform.close());

  it('slow headers and slow bodies are hung up on, and nobody else waits for them', async () => {
    const starts = [
      head('/v1/images/generations', 'x-slow: '),
      head('/v1/images/generations', 'content-type: application/json\r\ncontent-length: 5000\r\n\r\n{"model":"'),
      head(EDITS, `${FORM}content-length: 500000\r\n\r\n--b\r\n`),
      Buffer.concat([Buffer.from(head(EDITS, `${FORM}content-length: 5000000\r\n\r\n--b\r\n${part}\r\n\r\n`)), png]),
    ];
    const slow = Promise.all(
      Array.from({ length: SLOW_CALLERS }, (_, index) => drip(starts[index % starts.length] ?? '')),
    );
    let answered = 0;
    let over = false;
    void slow.then(() => (over = true));
    while (!over) {
      const response = await platform.call('/v1/models');
      await response.body?.cancel();
      expect(response.status).toBe(200);
      answered += 1;
    }
    // One that waited for them would be answered at their end.
    expect(answered).toBeGreaterThan(5);
    const answers = await slow;
    for (const [index, text] of answers.entries()) {
      const [lines = '', body = ''] = text.split('\r\n\r\n');
      expect([index % starts.length, lines.split('\r\n')[0]]).toEqual([
        index % starts.length,
        'HTTP/1.1 408 Request Timeout',
      ]);
      expect(JSON.parse(body)).toMatchObject({ type: 'error', error: { code: 'request_timeout' } });
    }
    await expectNoDataLoss(platform, 'Large, slow, malformed and partial requests');
  });

  it('a slow request is told so on a connection that was used before', async () => {
    const used = `GET /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${platform.key}\r\n\r\n`;
    const length = 'content-type: application/json\r\ncontent-length: 5000\r\n';
    const path = '/v1/images/generations';
    const starts = [
      head(path, 'x-slow: '),
      head(path, `${length}\r\n{"model":"`),
      head(path, `${length}expect: 100-continue\r\n\r\n`),
      // One that was answered before it is whole gets no second answer.
      head(path, `${length.replace('5000', '500000000')}\r\n{`),
    ];
    const texts = await Promise.all(starts.map((start) => drip(used + start)));
    const statuses = texts.map((text) => text.match(/(?<=HTTP\/1\.1 )\d+/g));
    expect(statuses).toEqual([
      ['200', '408'],
      ['200', '408'],
      ['200', '100', '408'],
      ['200', '413'],
    ]);
    for (const text of texts.slice(0, 3)) expect(text).toMatch(/"code":"request_timeout".*\}$/);
  });

  it('a request that is complete only after its 408 is not handled, and its client can’t keep the connection', async () => {
    const task = JSON.stringify({ model: 'gpt-image-2', prompt: 'too late' });
    const lines = `content-type: application/json\r\ncontent-length: ${task.length}\r\n\r\n`;
    const socket = connect({ port: Number(new URL(platform.url).port), host: '127.0.0.1', allowHalfOpen: true });
    const closed = new Promise((resolve) => socket.once('close', resolve));
    socket.on('error', () => undefined);
    socket.write(head('/v1/images/generations/async', lines) + task.slice(0, 10));
    const [answer] = (await once(socket, 'data')) as [Buffer];
    expect(answer.toString()).toContain('HTTP/1.1 408 ');
    socket.write(task.slice(10));
    // A closed connection is noticed by writing to it.
    const timer = setInterval(() => socket.write('a'), 100);
    await closed;
    clearInterval(timer);
    expect(await platform.pool.query("SELECT id FROM tasks WHERE prompt = 'too late'")).toMatchObject({ rows: [] });
  });

  it('a slow or malformed request behind one that waits for its image does not take its response', async () => {
    const prompt = '[[latency=9s]] first';
    const body = JSON.stringify({
      model: 'gpt-image-2',
      prompt,
      size: '1:1',
      resolution: '1k',
      response_format: 'url',
    });
    const length = `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n`;
    const first = head('/v1/images/generations', length) + body;
    const slow = head('/v1/images/generations', 'content-type: application/json\r\ncontent-length: 5000\r\n\r\n{');
    const texts = await Promise.all([slow, 'GARBAGE\r\n\r\n'].map((behind) => drip(first + behind)));
    for (const text of texts) {
      expect(text.match(/(?<=HTTP\/1\.1 )\d+/g)).toEqual(['200']);
      expect(text).toContain('"url":"http');
    }
  });

  it('H1: a body that never comes is hung up on, whatever route it is sent to', async () => {
    const { cookie = '' } = await signInFirstAdmin(platform);
    const calls = bodyRoutes().flatMap(({ method, path, isConsole }) =>
      ['application/json', 'multipart/form-data; boundary=b'].map((type) => {
        const known = isConsole ? `cookie: ${cookie}\r\norigin: ${platform.url}\r\nx-darkroom-csrf: 1` : '';
        const own = known === '' ? `authorization: Bearer ${platform.key}` : known;
        const start = `${method} ${path} HTTP/1.1\r\nhost: x\r\n${own}\r\ncontent-type: ${type}\r\n`;
        return { what: `${method} ${path} ${type}`, start: `${start}content-length: 5000\r\n\r\n{"a":"` };
      }),
    );
    const answers = await Promise.all(
      calls.map(async ({ what, start }) => [what, Number((await drip(start)).split(' ')[1])]),
    );
    // Some are refused before their body is asked for.
    expect(answers.filter(([, status]) => ![400, 403, 404, 405, 408, 413, 415].includes(Number(status)))).toEqual([]);
    expect(answers.filter(([, status]) => status === 408).length).toBeGreaterThan(answers.length / 4);
    expect((await platform.call('/v1/models')).status).toBe(200);
  });
});

/** Large, wrong and half requests of every kind, 16 at a time. */
async function storm(): Promise<void> {
  const json = (body: string) => ({ method: 'POST', body, headers: { 'content-type': 'application/json' } });
  const uri = `data:image/png;base64,${png.toString('base64')}`;
  const kinds: (() => Promise<unknown>)[] = [
    () => send('/v1/images/generations', json(`{"prompt":"${'x'.repeat(3_000_000)}"}`)),
    () => send('/v1/images/generations', json('['.repeat(1_000_000))),
    () =>
      send(
        '/v1/images/generations',
        json(JSON.stringify({ model: 'gpt-image-2', prompt: 'x', image_urls: [uri, uri, 'no'] })),
      ),
    () => send('/v1/images/edits', json(JSON.stringify({ prompt: 'x', n: 2, images: [{ image_url: uri.repeat(4) }] }))),
    () => send('/v1/tasks/batch', json(`{"task_ids":[${'"a",'.repeat(100_000)}"b"]}`)),
    () =>
      send(EDITS, {
        method: 'POST',
        body: Buffer.alloc(3_000_000, 'a'),
        headers: { 'content-type': 'multipart/form-data; boundary=b' },
      }),
    () => abort(200_000),
    () => abort(2_000),
  ];
  for (let round = 0; round < (LONG ? 200 : 6); round++) {
    await Promise.all([...kinds, ...kinds].map((kind) => kind()));
  }
}

async function send(path: string, options: object): Promise<void> {
  const answer = await answerOf(await platform.call(path, options));
  expect([400, 413, 503]).toContain(answer.status);
  contractError(answer, path);
}

describe('a storm of bad callers', () => {
  const probe = new ProcessProbe();
  // With time for every request, however busy the machine is.
  beforeAll(async () => {
    platform = await startPlatform(probe.settings);
  });
  afterAll(async () => {
    await platform.close();
    probe.close();
  });

  it('uploads that break off anywhere leave nothing in the store', async () => {
    const whole = 3 * (png.length + 100);
    const cuts = Array.from({ length: LONG ? 400 : 60 }, (_, index) => Math.floor((whole * index) / 60) % whole);
    await Promise.all(cuts.map((bytes) => abort(1 + bytes)));
    await expectNoDataLoss(platform, 'Large, slow, malformed and partial requests');
  });

  it(
    'the memory of the API comes back to within a tenth of what the first storm left',
    async () => {
      await storm();
      const calm = await probe.liveMb(platform.api);
      await storm();
      await storm();
      const back = await waitUntil(
        async () => {
          await (await platform.call('/v1/models')).body?.cancel();
          return (await probe.liveMb(platform.api)) <= calm * 1.1;
        },
        { timeoutMs: 30_000, everyMs: 250 },
      );
      expect([back, calm, await probe.liveMb(platform.api)]).toEqual([true, calm, expect.any(Number)]);
      await expectNoDataLoss(platform, 'Large, slow, malformed and partial requests');
    },
    LONG ? 1_200_000 : 180_000,
  );
});
