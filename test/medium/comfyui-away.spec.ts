import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from 'node:events';
import { comfyUiProvider } from '#providers/comfyui/from-entry.js';
import type { ComfyUiProvider } from '#providers/comfyui/comfyui-provider.js';
import { contextOf } from '#providers/sandbox/sandbox-calls.fixture.js';
import { freePort } from '../support/free-port.js';
import { failureOf, orderOf } from '../support/image-provider-suite.js';

const WORKFLOW = {
  6: { class_type: 'CLIPTextEncode', inputs: { text: 'a cat', clip: ['4', 1] } },
  9: { class_type: 'SaveImage', inputs: { filename_prefix: 'Darkroom', images: ['8', 0] } },
};
const SLOW_MS = 4_000;

/** Its server is away while it generates the image of `job-1`. */
describe('the ComfyUI adapter', () => {
  const resumed = (resumeJobId: string) => contextOf({ resumeJobId });
  let slow: Server;
  /** How often each job was asked for. */
  const checks = new Map<string, number>();

  beforeAll(async () => {
    slow = createServer((request, response) => {
      const job = request.url?.split('/history/')[1];
      if (job === undefined) return void response.destroy();
      checks.set(job, (checks.get(job) ?? 0) + 1);
      setTimeout(() => response.writeHead(503).end(), SLOW_MS);
    }).listen(0, '127.0.0.1');
    await once(slow, 'listening');
  });
  afterAll(() => {
    slow.closeAllConnections();
    slow.close();
  });

  function provider(baseUrl: string, free = true): ComfyUiProvider {
    const limits = { concurrency: undefined, startsPerMinute: undefined };
    const options = { workflow: WORKFLOW, slots: { prompt: '6.text' } };
    const entry = { name: 'gpu', type: 'comfyui', baseUrl, keys: [], limits, free, options } as const;
    return comfyUiProvider({ ...entry, interrupted: 'retry' }, undefined);
  }

  it('keeps the job of a server that stays away, to be asked for again, unless another costs nothing', async () => {
    const gone = `http://127.0.0.1:${await freePort()}`;
    const slowly = `http://127.0.0.1:${(slow.address() as AddressInfo).port}`;
    const away = { message: 'The provider could not be reached.', retryable: true };
    const started = await failureOf(provider(gone).generate(orderOf(), contextOf()));
    expect(started).toMatchObject({ ...away, charged: 'no' });
    const [left, kept, leftSlow, keptSlow] = await Promise.all([
      failureOf(provider(gone).generate(orderOf(), resumed('free'))),
      provider(gone, false).generate(orderOf(), resumed('paid')),
      failureOf(provider(slowly).generate(orderOf(), resumed('free'))),
      provider(slowly, false).generate(orderOf(), resumed('paid')),
    ]);
    expect(left).toMatchObject(away);
    expect(kept).toMatchObject({ pending: { checkAfterMs: 15_000, problem: away } });
    expect(leftSlow).toMatchObject({ status: 503 });
    expect(keptSlow).toMatchObject({ pending: { problem: { status: 503 } } });
    // No matter how long each check takes to fail.
    expect(checks.get('paid')).toBeLessThan(4);
    expect(checks.get('free')).toBeLessThan(8);
  });
});
