import { createHash, randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';
import { Readable } from 'node:stream';
import { loadConfig } from '#config/load-config.js';
import type { PrismaService } from '#database/prisma.service.js';
import { waitUntil } from '#embedded/wait-until.js';
import { createObjectStore } from '#storage/create-object-store.js';
import { resultKey } from '#storage/object-key.js';
import { StorageConfig } from '#storage/storage.config.js';
import { TaskTransitions } from '#tasks/states/task-transitions.js';
import { databaseOf } from '../support/open-prisma.js';
import { counted } from '../support/figures.js';
import { patient, patientSetting } from '../support/patience.js';
import { startPlatform, type Platform } from '../support/platform.js';
import { ProcessProbe } from '../support/process-probe.js';

const CALLERS = 16;
const BYTES = 19_000_000;
/** What the API may hold more meanwhile; all of them would be 405 MB (bench/measures/large-results.mjs: resident). */
const GROWTH_MB = 50;

/** The test is the worker here: no provider draws 19 MB as fast as sixteen callers can be told of it. */
describe('16 results of 19 MB as base64 at once', () => {
  let platform: Platform;
  let database: PrismaService;
  const probe = new ProcessProbe();

  beforeAll(async () => {
    platform = await startPlatform({ ...probe.settings, SYNC_WAIT_MS: patientSetting(170_000) });
    await platform.worker.stop();
    database = databaseOf(platform);
  });
  afterAll(async () => {
    await platform.close();
    probe.close();
  });

  it('are whole, are never in memory at once and leave no base64 in Redis', async () => {
    const file = randomBytes(BYTES);
    const expected = createHash('sha256').update(file.toString('base64')).digest('hex');
    // Half of them ask for nothing, and get the link beside it.
    const answers = Array.from({ length: CALLERS }, (_, index) =>
      platform.call('/v1/images/generations', {
        body: { model: 'gpt-image-2', prompt: 'large', response_format: index % 2 === 0 ? 'b64_json' : null },
        signal: AbortSignal.timeout(patient(170_000)),
      }),
    );
    const pending = async (): Promise<string[]> =>
      (await database.pool.query<{ id: string }>(`SELECT id FROM tasks WHERE status = 'pending'`)).rows.map(
        ({ id }) => id,
      );
    expect(await waitUntil(async () => (await pending()).length === CALLERS, { timeoutMs: 30_000 })).toBe(true);
    const store = await createObjectStore(loadConfig([StorageConfig], platform.settings)[0]);
    const transitions = new TaskTransitions(database);
    const ids = await pending();
    for (const id of ids) {
      await store.put(resultKey(id, 1, 'png'), Readable.from([file]), { contentType: 'image/png' });
    }
    const image = { contentType: 'image/png', width: 2_880, height: 2_880, bytes: BYTES, sha256: '' };
    const { grownMb } = await probe.during(platform.api, async () => {
      await Promise.all(
        ids.map(async (id) => {
          await transitions.claim(id, 'test', 60_000);
          const images = [{ ...image, key: resultKey(id, 1, 'png') }];
          await transitions.complete({ id, attempt: 1 }, { images, usage: undefined, warnings: [] });
        }),
      );
      const received = await Promise.all(answers.map(async (answer) => base64Digest(await answer)));
      expect(received).toEqual(answers.map(() => expected));
    });
    counted('Large results', 'memory in use grew by (MB)', grownMb.toFixed(0));
    expect(grownMb).toBeLessThan(GROWTH_MB);
    expect(await largestInRedis()).toBeLessThan(20_000);
  });

  async function largestInRedis(): Promise<number> {
    const redis = new Redis(platform.settings['REDIS_URL'] ?? '');
    const sizes = [0];
    for (const key of await redis.keys(`${platform.settings['REDIS_PREFIX']}*`)) {
      sizes.push((await redis.memory('USAGE', key, 'SAMPLES', 0)) ?? 0);
    }
    redis.disconnect();
    return Math.max(...sizes);
  }
});

/** SHA-256 of the base64 text in an answer, which is looked at piece by piece. */
async function base64Digest(response: Response): Promise<string> {
  expect(response.status).toBe(200);
  const body = Buffer.from(await response.arrayBuffer());
  const mark = '"b64_json":"';
  const start = body.indexOf(mark) + mark.length;
  return createHash('sha256')
    .update(body.subarray(start, body.indexOf('"', start)))
    .digest('hex');
}
