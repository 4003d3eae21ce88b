import { waitUntil } from '#embedded/wait-until.js';
import { Metrics } from '#telemetry/metrics.js';
import { WaitForTask } from '../../apps/api/src/images/wait-for-task.js';
import { command, openTaskRoom, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
const result = { images: [], usage: undefined, warnings: [] };

describe('waiting for a task', () => {
  let room: TaskRoom;
  let wait: WaitForTask;
  /** Never checks the rows by itself, so that nothing but an event ends the wait. */
  let hearing: WaitForTask;
  beforeAll(async () => {
    room = await openTaskRoom();
    wait = new WaitForTask(room.store, room.listener, room.logger, new Metrics());
    hearing = new WaitForTask(room.store, room.listener, room.logger, new Metrics());
    hearing.onApplicationShutdown();
    const isSubscribed = async (): Promise<boolean> =>
      Number((await room.redis.pubsub('NUMSUB', `${room.prefix}:tasks:settled`))[1]) > 0;
    expect(await waitUntil(isSubscribed, { timeoutMs: 20_000 })).toBe(true);
  });
  afterEach(() => {
    expect([wait.size, hearing.size]).toEqual([0, 0]);
  });
  afterAll(async () => {
    wait.onApplicationShutdown();
    await room.close();
  });

  async function settle(id: string): Promise<void> {
    const claim = await room.transitions.claim(id, 'worker', 20_000);
    await room.transitions.complete({ id, attempt: claim?.attempt ?? 0 }, result);
  }

  it('answers all of many callers with their own task when the event comes', async () => {
    const tasks = await Promise.all(Array.from({ length: 60 }, () => room.inserts.insert(command(), DEADLINE_MS)));
    const answers = Promise.all(tasks.map((task) => hearing.settled(task, 60_000)));
    for (const task of tasks) {
      await settle(task.id);
      room.events.publishSettled(task.id);
    }
    expect((await answers).map((task) => task?.id)).toEqual(tasks.map((task) => task.id));
  });

  it('answers with what the event says, without a look at the row, which says the same', async () => {
    const task = await room.inserts.insert(command({ cost: { reserved: 40_000, currency: 'USD' } }), DEADLINE_MS);
    const claim = await room.transitions.claim(task.id, 'worker', 20_000);
    const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    const image = { key: 'results/x', contentType: 'image/png', width: 1, height: 1, bytes: 1, sha256: 'ab' };
    const completion = await room.transitions.complete(
      { id: task.id, attempt: claim?.attempt ?? 0 },
      { images: [image], usage, warnings: ['adapted'] },
    );
    const [row] = await room.store.look([task.id]);
    // Nothing can be read of it any more.
    await room.sql('DELETE FROM tasks WHERE id = $1', [task.id]);
    const answer = wait.settled(task, 60_000);
    room.events.publishSettled(task.id, completion?.outcome);
    const seen = (await answer) ?? task;
    expect(Object.keys(row ?? {}).map((name) => [name, seen[name as keyof typeof seen]])).toEqual(
      Object.entries(row ?? {}),
    );
    expect(seen).toMatchObject({ status: 'completed', images: [{ ...image, warnings: ['adapted'] }], usage });
  });

  it('looks at the row when it cannot read what the event says', async () => {
    const task = await room.inserts.insert(command(), DEADLINE_MS);
    const answer = hearing.settled(task, 60_000);
    await settle(task.id);
    await room.redis.publish(`${room.prefix}:tasks:settled`, `${task.id} {"status":`);
    expect(await answer).toMatchObject({ id: task.id, status: 'completed' });
  });

  it('answers when the event was lost', async () => {
    const task = await room.inserts.insert(command(), DEADLINE_MS);
    const answer = wait.settled(task, 60_000);
    await settle(task.id);
    expect(await answer).toMatchObject({ id: task.id, status: 'completed' });
  });

  it('answers at once for a task that ended before anyone waited', async () => {
    const task = await room.inserts.insert(command(), DEADLINE_MS);
    await settle(task.id);
    expect(await hearing.settled(task, 60_000, undefined, true)).toMatchObject({ status: 'completed' });
  });

  it('lets several callers wait for one task', async () => {
    const task = await room.inserts.insert(command(), DEADLINE_MS);
    const answers = Promise.all([hearing.settled(task, 60_000), hearing.settled(task, 60_000)]);
    await settle(task.id);
    room.events.publishSettled(task.id);
    expect((await answers).map((answer) => answer?.status)).toEqual(['completed', 'completed']);
  });

  it('says that a task still runs when the time is over or the caller has gone', async () => {
    const task = await room.inserts.insert(command(), DEADLINE_MS);
    expect(await wait.settled(task, 20)).toBeUndefined();
    const gone = new AbortController();
    const answer = wait.settled(task, 60_000, gone.signal);
    gone.abort();
    expect(await answer).toBeUndefined();
    expect(await wait.settled(task, 60_000, AbortSignal.abort())).toBeUndefined();
  });
});
