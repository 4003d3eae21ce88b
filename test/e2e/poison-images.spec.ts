import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gradientImage } from '#images/sample-images.fixture.js';
import { counted } from '../support/figures.js';
import { patient } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { ProcessProbe, type Seen } from '../support/process-probe.js';
import { startUpstream, text, type Script, type ScriptedUpstream } from '../support/scripted-upstream.js';

const RESTARTS = Buffer.from([0xd0, 0xd1, 0xd2, 0xd3, 0xd4, 0xd5, 0xd6, 0xd7].flatMap((code) => [0xff, code]));
/** In what parsing a megabyte of plain JSON takes. Without the mend it was a turn of 25 to 50 s. */
const LONGEST_TURN = 100;
/** More memory in use. Without it the worker took 3,200 MB. */
const GROWTH_MB = 300;

/** An image with restart markers where nobody needs them, so that it has so many bytes. */
function poisoned(jpeg: Buffer, bytes: number): Buffer {
  const padding = Buffer.alloc(bytes - jpeg.length - ((bytes - jpeg.length) % RESTARTS.length), RESTARTS);
  return Buffer.concat([jpeg.subarray(0, 2), padding, jpeg.subarray(2)]);
}

function answerOf(base64: string, more = '0'): Script {
  return text(Buffer.from(`{"created":1,"data":[{"b64_json":"${base64}"}],"more":${more}}`), 'application/json');
}

describe('H3: a poison image', () => {
  let upstream: ScriptedUpstream;
  let elsewhere: Server;
  let platform: Platform;
  let jpeg: Buffer;
  const probe = new ProcessProbe();

  beforeAll(async () => {
    jpeg = await gradientImage(1024, 1024, 'jpeg');
    const small = poisoned(jpeg, 19_900_000);
    elsewhere = createServer((_request, response) => void response.end(small)).listen(0, '127.0.0.1');
    await once(elsewhere, 'listening');
    upstream = await startUpstream();
    platform = await startPlatform({
      ...probe.settings,
      OPENAI_API_KEY: 'sk-poison',
      OPENAI_BASE_URL: upstream.url,
      EGRESS_ALLOW_CIDRS: '127.0.0.1/32',
      EGRESS_PORTS: `80,443,${(elsewhere.address() as AddressInfo).port}`,
    });
  });
  afterAll(async () => {
    await platform.close();
    await upstream.close();
    elsewhere.close();
    probe.close();
  });

  const order = (body: object): Promise<Response> =>
    platform.call('/v1/images/generations', {
      signal: AbortSignal.timeout(patient(170_000)),
      body: { model: 'gpt-image-2', prompt: 'a cat', resolution: '1k', ...body },
    });

  it('is refused as an upload and as a data URI before it becomes a task', async () => {
    const form = new FormData();
    form.append('model', 'gpt-image-2');
    form.append('prompt', 'a cat');
    form.append('image', new Blob([new Uint8Array(poisoned(jpeg, 49_800_000))]), 'a.jpg');
    const uploaded = await platform.call('/v1/images/edits', { body: form });
    expect([uploaded.status, await uploaded.json()]).toMatchObject([
      400,
      { error: { code: 'invalid_image_file', param: 'image' } },
    ]);
    const uri = `data:image/jpeg;base64,${poisoned(jpeg, 12_000_000).toString('base64')}`;
    const named = await order({ image_urls: [uri] });
    expect([named.status, await named.json()]).toMatchObject([400, { error: { code: 'invalid_image_file' } }]);
    expect((await platform.pool.query('SELECT 1 FROM tasks')).rowCount).toBe(0);
  });

  it("at an address or in a provider's answer stalls nobody else, and is paid for once", async () => {
    const poison = answerOf(poisoned(jpeg, 49_800_000).toString('base64'));
    const harmless = answerOf(jpeg.toString('base64'));
    upstream.script((call, response) => (call.body.includes('poison') ? poison : harmless)(call, response));
    const { port } = elsewhere.address() as AddressInfo;
    const outcomes: Promise<Response>[] = [];
    const seen = await probe.during(platform.worker, async () => {
      outcomes.push(order({ prompt: 'poison' }), order({ image_urls: [`http://127.0.0.1:${port}/a.jpg`] }));
      for (let n = 0; n < 6; n++) outcomes.push(order({ prompt: `harmless ${n}` }));
      await Promise.all(outcomes);
    });
    const answers = await Promise.all(
      outcomes.map(async (outcome) => {
        const response = await outcome;
        return [response.status, ((await response.json()) as { error?: { code: string } }).error?.code];
      }),
    );
    expect(answers).toEqual([
      [502, 'upstream_invalid_response'],
      [400, 'invalid_image_file'],
      ...Array.from({ length: 6 }, () => [200, undefined]),
    ]);
    const { rows } = await platform.pool.query(`SELECT provider_starts AS starts FROM tasks WHERE prompt = 'poison'`);
    expect(rows).toEqual([{ starts: 1 }]);
    expectCalm(seen);
  });

  it('does not stall it as an answer of millions of tokens, which was paid for and is not ordered again', async () => {
    const bomb = answerOf(jpeg.toString('base64'), `[${'[],'.repeat(15_000_000)}0]`);
    const before = upstream.calls.length;
    upstream.script(bomb, answerOf(jpeg.toString('base64')));
    let status = 0;
    const seen = await probe.during(platform.worker, async () => {
      status = (await order({ prompt: 'tokens' })).status;
    });
    expect([status, upstream.calls.length - before]).toEqual([502, 1]);
    expectCalm(seen);
  });
});

function expectCalm({ longestTurn, grownMb }: Seen): void {
  counted(
    'A poison image',
    'turn in MB of parsed JSON, memory grew by (MB)',
    `${longestTurn.toFixed(1)}, ${grownMb.toFixed(0)}`,
  );
  expect(longestTurn).toBeLessThan(LONGEST_TURN);
  expect(grownMb).toBeLessThan(GROWTH_MB);
}
