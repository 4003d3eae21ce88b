import { Worker } from 'bullmq';
import { loadConfig } from '#config/load-config.js';
import { patientConnection } from '#redis/connections.js';
import { RedisConfig } from '#redis/redis.config.js';
import { IMAGE_QUEUE, taskIdOf } from '#queue/job-catalog.js';
import type { QueueCaller } from '#queue/fair-order.js';
import { turnTakerOf } from '#tasks/row/batch-turns.js';
import { insertTasks } from '#tasks/row/insert-task.sql.js';
import { requeue } from '#tasks/row/sweep.sql.js';
import { newTaskId } from '#tasks/row/task-id.js';
import { command, openTaskRoom, type TaskRoom } from '../support/task-room.js';

const OWNER = { accountId: 'acct_default', accountWeight: 1, originalKeyId: 'key_own', weight: 1 };
const KEY = turnTakerOf(OWNER);
const BATCH = turnTakerOf({ ...OWNER, batchId: 'batch_one' });

describe('the turns of batches', () => {
  let room: TaskRoom;
  beforeEach(async () => {
    room = await openTaskRoom();
  });
  afterEach(() => room.close());

  async function add(caller: QueueCaller, count: number): Promise<Set<string>> {
    const ids = Array.from({ length: count }, newTaskId);
    for (const taskId of ids) await room.queue.add({ taskId, epoch: 0, caller });
    return new Set(ids);
  }

  /** The tasks of so many jobs, in the order in which a worker gets them. */
  async function serve(count: number): Promise<string[]> {
    const [config] = loadConfig([RedisConfig], { REDIS_URL: room.redisUrl, REDIS_PREFIX: room.prefix });
    const connection = patientConnection(config, 'test', room.logger);
    const worker = new Worker(IMAGE_QUEUE, null, { connection, prefix: room.prefix, autorun: false });
    const served: string[] = [];
    for (let n = 0; n < count; n++) {
      const job = await worker.getNextJob('token', { block: false });
      const next = await room.order.served(job.id ?? '');
      served.push(next === undefined ? '' : taskIdOf(next.id));
    }
    await worker.close();
    connection.disconnect();
    return served;
  }

  it('come after those of every key of the account, and are one in seventeen beside a key that always waits', async () => {
    const ofBatch = await add(BATCH, 40);
    await serve(2);
    const first = await add(KEY, 1);
    expect(await serve(1)).toEqual([...first]);
    await add(KEY, 68);
    const served = await serve(68);
    expect(served.filter((id) => ofBatch.has(id))).toHaveLength(4);
    expect(new Set(served).size).toBe(68);
  });

  it('are known from the row, for a task that is queued again', async () => {
    const [ofBatch, ofKey] = [command({ batchId: 'batch_one' }), command()];
    await insertTasks(
      room.database.pool,
      [ofBatch, ofKey].map((one) => ({ command: one, deadlineMs: 60_000 })),
    );
    const entries = [ofBatch, ofKey].map(({ id }) => ({ taskId: id, epoch: 0 }));
    const queued = await requeue(room.database.pool, entries, false);
    const callerOf = (id: string) => queued.find(({ taskId }) => taskId === id)?.caller;
    expect(callerOf(ofBatch.id)).toEqual(turnTakerOf(ofBatch));
    expect(callerOf(ofKey.id)).toEqual(turnTakerOf(ofKey));
  });
});
