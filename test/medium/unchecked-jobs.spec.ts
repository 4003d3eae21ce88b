import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import type { ServerResponse } from 'node:http';
import { parseCatalog } from '#catalog/parse-catalog.js';
import { loadConfig } from '#config/load-config.js';
import { EgressConfig } from '#egress/egress.config.js';
import { PublicFetcher } from '#egress/fetch-public-url.js';
import { waitUntil } from '#embedded/wait-until.js';
import { comfyUiProvider } from '#providers/comfyui/from-entry.js';
import { submitPollProvider } from '#providers/submit-poll/from-entry.js';
import { DiskStore } from '#storage/disk-store.js';
import { Logger } from '#telemetry/logger.js';
import { allTasksOf } from '#tasks/row/task.js';
import { ProviderRegistry } from '../../apps/worker/src/providers/provider-registry.js';
import { FakeComfyUi } from '../support/comfyui-server.js';
import { plainImage } from '../support/image-provider-suite.js';
import { imageWorker } from '../support/image-worker.js';
import { openLimiterRoom, type LimiterRoom, type OpenLimiter } from '../support/limiter-room.js';
import { startJobVendor, type JobVendor } from '../support/submit-poll-vendor.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const KEY = 'sk-canary-90d2';
const JOB = 'task_01KA040M0HP1GJWBJYZMKX1XS1';
const WORKFLOW = {
  6: { class_type: 'CLIPTextEncode', inputs: { text: 'a cat' } },
  9: { class_type: 'SaveImage', inputs: { images: ['6', 0] } },
};

describe('a job that the provider does not let us check', () => {
  let room: TaskRoom;
  let limits: LimiterRoom;
  let limiter: OpenLimiter;
  let folder: string;
  let png: Buffer;
  let vendor: JobVendor;
  let comfy: FakeComfyUi;
  let log: string;
  beforeAll(async () => {
    room = await openTaskRoom();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-unchecked-'));
    png = await plainImage(1024, 1024);
  });
  afterAll(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });
  beforeEach(async () => {
    log = '';
    limits = await openLimiterRoom();
    limiter = await limits.limiter();
    vendor = await startJobVendor('apimart', KEY, JOB, png);
    comfy = await new FakeComfyUi().start();
    comfy.drawing = { files: [png] };
  });
  afterEach(async () => {
    await vendor.close();
    await comfy.close();
    await limits.close();
  });

  /** Lets a worker run the task, whose next try is due. */
  async function run(id: string, provider: object): Promise<void> {
    await room.sql(`UPDATE tasks SET next_try_at = now() - interval '1 s' WHERE id = $1`, [id]);
    const catalog = {
      providers: { one: provider },
      models: { 'gpt-image-2': { kind: 'image', routes: [{ provider: 'one' }] } },
    };
    const current = parseCatalog(JSON.stringify(catalog), 'models.yaml', { KEY });
    const [egress] = loadConfig([EgressConfig], {
      EGRESS_ALLOW_CIDRS: '127.0.0.0/8',
      EGRESS_PORTS: new URL(vendor.url).port,
    });
    const registry = new ProviderRegistry({ current }, (entry, key) =>
      entry.type === 'comfyui'
        ? comfyUiProvider(entry, key)
        : submitPollProvider(entry, key, new PublicFetcher(egress)),
    );
    const lines = new PassThrough();
    lines.on('data', (chunk: Buffer) => (log += chunk.toString()));
    const logger = new Logger('worker', 'warn', lines);
    const parts = { store: new DiskStore(folder), registry, limiter: limiter.limiter };
    await imageWorker({ ...room, logger }, parts).run(id);
    await limiter.limiter.waitForReports();
  }

  const accepted = async (): Promise<string> => (await room.inserts.insert(command(), 900_000)).id;
  const read = (id: string) => room.store.find(allTasksOf(TEST_ACCOUNT), id);
  const callsOf = async (id: string) => (await room.store.history(allTasksOf(TEST_ACCOUNT), id))?.calls;
  const warnings = () =>
    log
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  /** The milliseconds for which the queue holds the task back. */
  async function delayOf(id: string): Promise<number> {
    const { rows } = await room.sql('SELECT epoch FROM tasks WHERE id = $1', [id]);
    const { epoch } = rows[0] as { epoch: number };
    return Number(await room.redis.hget(`${room.prefix}:images:${id}-${epoch}`, 'delay'));
  }

  describe('at a vendor that refuses the key', () => {
    const jobs = (interrupted = 'fail') => ({
      type: 'apimart',
      base_url: vendor.url,
      keys: [{ name: 'main', env: 'KEY' }],
      interrupted,
    });
    const submits = () => vendor.calls.filter(({ path }) => path === '/v1/images/generations').length;

    it.each(['fail', 'retry'])(
      'is fetched once the key works again, and bought once: interrupted %s',
      async (policy) => {
        const { refused, completed } = vendor.shapes;
        const looks = [
          refused(401, 'authentication_error', `Invalid key ${KEY}`),
          refused(403, 'permission_error', 'No.', { 'retry-after': '40' }),
        ];
        vendor.plan({ looks: [...looks, completed(JOB, vendor.imageUrl)] });
        const id = await accepted();
        await run(id, jobs(policy));
        for (const delayMs of [15_000, 40_000]) {
          await run(id, jobs(policy));
          expect(await read(id)).toMatchObject({ status: 'pending', phase: 'running', openProvider: 'one' });
          expect(await delayOf(id)).toBe(delayMs);
        }
        const line = {
          level: 'warn',
          event: 'task.job_not_checked',
          taskId: id,
          provider: 'one',
          code: 'upstream_error',
        };
        expect(warnings()).toMatchObject([
          { ...line, status: 401 },
          { ...line, status: 403 },
        ]);
        for (const secret of [KEY, command().prompt, JOB]) expect(log).not.toContain(secret);

        // Meanwhile, the key is not used for anything new.
        const [state] = await limiter.state.statesOf(['one']);
        expect(state).toMatchObject({ calls: 1, breaker: 'closed', cooling: new Map([['main', expect.any(Number)]]) });
        const other = await accepted();
        await run(other, jobs(policy));
        expect(await read(other)).toMatchObject({ status: 'pending', phase: 'queued' });

        await run(id, jobs(policy));
        expect(await read(id)).toMatchObject({ status: 'completed' });
        expect(await callsOf(id)).toMatchObject([{ upstreamId: JOB, outcome: 'succeeded', charged: 'yes' }]);
        expect(submits()).toBe(1);
      },
    );

    it('is asked for until the deadline', async () => {
      vendor.plan({ looks: [vendor.shapes.refused(402, 'payment_required')] });
      const id = await accepted();
      for (let calls = 0; calls < 8; calls++) await run(id, jobs());
      expect(await read(id)).toMatchObject({ status: 'pending', phase: 'running' });
      await room.sql(`UPDATE tasks SET deadline_at = now() - interval '1 second' WHERE id = $1`, [id]);
      expect(await room.newSweep().failOverdue()).toBe(1);
      expect(await read(id)).toMatchObject({ status: 'failed', error: { code: 'generation_timeout' } });
      expect(await callsOf(id)).toMatchObject([{ upstreamId: JOB }]);
      expect(submits()).toBe(1);
    });
  });

  describe('at a ComfyUI server', () => {
    const gpu = (free: boolean) => ({
      type: 'comfyui',
      base_url: comfy.url,
      free,
      interrupted: 'retry',
      options: { workflow: WORKFLOW, slots: { prompt: '6.text' } },
    });
    const orders = () => comfy.calls.filter(({ method, path }) => method === 'POST' && path === '/prompt').length;
    const refused = (response: ServerResponse) => void response.writeHead(401).end();

    /** A task whose job is not finished, and could not be checked. */
    async function parked(free: boolean): Promise<string> {
      comfy.drawing = { endless: true, files: [png] };
      comfy.faults.set('GET /history', [refused]);
      const id = await accepted();
      await run(id, gpu(free));
      expect(await read(id)).toMatchObject({ status: 'pending', phase: 'running', openProvider: 'one' });
      expect(await delayOf(id)).toBe(15_000);
      expect(warnings()).toMatchObject([{ event: 'task.job_not_checked', provider: 'one', status: 401 }]);
      return id;
    }

    it.each([true, false])('is fetched once it can be checked again, and ordered once: free %p', async (free) => {
      const id = await parked(free);
      await waitUntil(() => comfy.runningId !== undefined, { timeoutMs: 30_000 });
      comfy.finish();
      comfy.faults.set('GET /view', [refused, refused, refused]);
      await run(id, gpu(free));
      expect(await read(id)).toMatchObject({ status: 'pending' });
      await run(id, gpu(free));
      expect(await read(id)).toMatchObject({ status: 'completed' });
      expect(await callsOf(id)).toMatchObject([{ outcome: 'succeeded', charged: free ? 'no' : 'yes' }]);
      expect(orders()).toBe(1);
    });

    it('is ordered again when the server lost it, if that is free', async () => {
      const id = await parked(true);
      comfy.forget();
      await run(id, gpu(true));
      expect(await read(id)).toMatchObject({ status: 'pending', phase: 'queued' });
      expect(await callsOf(id)).toMatchObject([{ outcome: 'failed', charged: 'no' }]);
      await waitUntil(async () => (await limiter.state.statesOf(['one']))[0]?.cooling.size === 0, {
        timeoutMs: 20_000,
      });
      comfy.drawing = { files: [png] };
      await run(id, gpu(true));
      expect(await read(id)).toMatchObject({ status: 'completed' });
      expect(orders()).toBe(2);
    });

    it('fails when the server lost it, if it may have been charged', async () => {
      const id = await parked(false);
      comfy.forget();
      await run(id, gpu(false));
      expect(await read(id)).toMatchObject({ status: 'failed', error: { code: 'upstream_error' } });
      expect(await callsOf(id)).toMatchObject([{ outcome: 'failed', charged: 'maybe' }]);
      expect(orders()).toBe(1);
    });
  });
});
