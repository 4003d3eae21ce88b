import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { startChild, type Child } from '#embedded/child.js';
import { waitUntil } from '#embedded/wait-until.js';
import { figuresOf, report, type Round } from '../../bench/peers/report.mjs';
import { bodyOf, requestText, SocketCaller } from '../../bench/socket-caller.mjs';
import { freePort } from '../support/free-port.js';

const folder = mkdtempSync(join(tmpdir(), 'darkroom-bench-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

/** Figures of wrong answers would mean nothing, so what checks them is held to a real provider. */
describe('the calls of the benchmark', () => {
  let provider: Child;
  let port: number;
  let caller: SocketCaller;
  beforeAll(async () => {
    port = await freePort();
    provider = await startChild({
      command: process.execPath,
      args: [resolve('bench/floor/openai-upstream.mjs')],
      env: { PATH: process.env['PATH'], PORT: String(port) },
      log: join(folder, 'provider.log'),
      deathSignal: 'SIGKILL',
    });
    await waitUntil(() => provider.lastLines(1).includes('ready'), { timeoutMs: 30_000, everyMs: 20 });
    caller = await SocketCaller.open(port);
  });
  afterAll(async () => {
    caller.close();
    await provider.stop([['SIGTERM', 5_000]]);
  });
  const call = (path: string, content: { body?: unknown; form?: { image: Buffer; prompt: string } }) =>
    new Promise<string>((answered, failed) => {
      caller.call(requestText({ method: 'POST', path, apiKey: 'none', ...content }), (error, status, text) => {
        if (error === undefined && status === 200) answered(bodyOf(text));
        else failed(error ?? new Error(text));
      });
    });
  const fetched = async (path: string) => await fetch(`http://127.0.0.1:${port}${path}`);

  it('reads images and links, and streams that come in chunks, to their last byte', async () => {
    const order = { model: 'gpt-image-2', prompt: 'a lighthouse, n-7 of a series' };
    const { data } = JSON.parse(await call('/v1/images/generations', { body: order })) as {
      data: [{ b64_json: string }];
    };
    const image = Buffer.from(await (await fetched('/image.png')).arrayBuffer());
    expect(Buffer.from(data[0].b64_json, 'base64').equals(image)).toBe(true);
    const link = await call('/v1/images/generations', { body: { ...order, response_format: 'url' } });
    expect(link).toContain(`"url":"http://127.0.0.1:${port}/image.png"`);
    expect(await (await fetched('/ledger')).json()).toMatchObject({ paid: 2, distinct: 1, inFlight: 0 });
    const stream = await call('/v1/chat/completions', { body: { model: 'gpt-5.5', messages: [], stream: true } });
    expect(stream.split('word ')).toHaveLength(21);
    expect(stream).toMatch(/data: \[DONE\]\n\n$/);
  });

  it('sends an upload byte for byte', async () => {
    const image = Buffer.from(Uint8Array.from({ length: 1_500_000 }, (_, index) => (index * 7) % 256));
    Buffer.from([0x89, 0x50, 0x4e, 0x47]).copy(image);
    await call('/v1/images/edits', { form: { prompt: 'make it night', image } });
    const { uploads } = (await (await fetched('/ledger')).json()) as { uploads: string[] };
    expect(uploads).toEqual([createHash('sha256').update(image).digest('hex')]);
  });
});

describe('the report on other gateways', () => {
  const provider = { name: 'provider direct' };
  const darkroom = { name: 'Darkroom' };
  const peer = { name: 'peer', version: '1.2.3' };
  const sides = [provider, darkroom, peer];
  const call = { kind: 'inline', title: 'image, base64' };
  const rounds = (p50: number, perSecond: number, cpu: number): Round[] => [
    { calls: 10, p50, p99: 2 * p50, perSecond, cpu: { api: cpu, worker: cpu }, wrong: {} },
    { calls: 0, perSecond: 0, cpu: { api: 0, worker: 0 }, wrong: { 500: 3 } },
    { calls: 10, p50: p50 + 2, p99: 2 * p50, perSecond, cpu: { api: cpu, worker: cpu }, wrong: {} },
  ];
  const figures = figuresOf(
    new Map([
      [{ side: provider }, rounds(10, 100, 5)],
      [{ side: darkroom }, rounds(30, 20, 40)],
      [{ side: peer }, rounds(15, 50, 10)],
    ]),
    provider,
  );
  const found = report({
    sides,
    provider,
    measured: [{ call, callers: 16, figures }],
    problems: [{ side: peer, call: { kind: 'edit', title: 'edit' }, reason: 'has no edits' }],
    missing: [{ name: 'another', reason: 'not installed' }],
    memory: new Map([
      [darkroom, { idle: 100e6, most: 200e6 }],
      [peer, { idle: 10e6, most: 20e6 }],
    ]),
    killed: [
      {
        side: peer,
        what: 'peer',
        calls: 50,
        inFlight: 50,
        answered: 20,
        paid: 90,
        restartMs: 400,
        outcomes: [...Array<string>(20).fill('answered'), ...Array<string>(30).fill('ECONNREFUSED')],
      },
    ],
  });

  it('takes medians over the rounds that were answered, and adds up processes and wrong answers', () => {
    expect(figures.get('Darkroom')).toMatchObject({
      p50: 30,
      addedP50: 20,
      perSecond: 20,
      cpuMs: 8,
      wrong: { 500: 3 },
    });
    expect(found.rows[1]).toEqual([
      ...['image, base64', 16, 'Darkroom', '20/s', '30.0 ms', '60.0 ms', '20.0 ms', '40.0 ms', '8.00 ms', '3 x 500'],
    ]);
  });

  it('says where a peer is ahead, what it can not do, and what a crash lost', () => {
    expect(found.facts).toEqual([
      'peer is 1.2.3',
      'another was not measured: not installed',
      'peer, edit: —, has no edits',
      'memory of Darkroom: 100 MB idle, 200 MB at most under load',
      'memory of peer: 10 MB idle, 20 MB at most under load',
      expect.stringMatching(
        /^peer killed with 50 .* 20 of 50 .* \(the others: 30 x ECONNREFUSED\), 90 images were paid$/,
      ),
      'ahead of Darkroom at image, base64, 16 callers: more calls: peer; less added time: peer; less processor time: peer',
    ]);
    expect(found.goals).toEqual([expect.objectContaining({ met: false, value: '0.40 x' })]);
  });

  it('has five lines for the README, with a dash for what was not measured', () => {
    const lines = found.summary.split('\n');
    expect(lines).toHaveLength(2 + 5);
    expect(lines[2]).toBe('| images of 2 MB as base64, 16 callers | 20/s, 8.00 ms CPU | 50/s, 2.00 ms CPU |');
    expect(lines[6]).toBe('| killed with 50 calls in flight: answered / paid | — | 20 / 90 |');
  });
});
