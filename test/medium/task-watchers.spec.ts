import { TaskWatchers } from '../../apps/api/src/tasks/task-watchers.js';
import { Metrics } from '#telemetry/metrics.js';
import type { TaskSummary } from '#tasks/row/task.js';
import { allTasksOf } from '#tasks/row/task.js';
import { command, openTaskRoom, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
const LEASE_MS = 20_000;

describe('watching tasks', () => {
  let room: TaskRoom;
  let watchers: TaskWatchers;
  beforeAll(async () => {
    room = await openTaskRoom();
    watchers = new TaskWatchers(room.store, room.listener, room.logger, new Metrics());
  });
  afterEach(() => {
    expect(watchers.size).toBe(0);
  });
  afterAll(async () => {
    watchers.onApplicationShutdown();
    await room.close();
  });

  /** The first row of the task for which the condition holds. */
  function seen(id: string, condition: (task: TaskSummary | undefined) => boolean): Promise<TaskSummary | undefined> {
    return new Promise((resolve) => {
      const stop = watchers.watch(id, (task) => {
        if (!condition(task)) return;
        stop();
        stop();
        resolve(task);
      });
    });
  }

  it('shows every watcher its own task, and one task to all who watch it', async () => {
    const tasks = await Promise.all(Array.from({ length: 20 }, () => room.inserts.insert(command(), DEADLINE_MS)));
    const looks = [...tasks, ...tasks].map(({ id }) => seen(id, (task) => task?.phase === 'running'));
    expect(watchers.size).toBe(20);
    for (const { id } of tasks) {
      await room.transitions.claim(id, 'worker', LEASE_MS);
      room.events.publishChanged(id);
    }
    expect((await Promise.all(looks)).map((task) => task?.id)).toEqual([...tasks, ...tasks].map(({ id }) => id));
  });

  it('begins with the task as it is', async () => {
    const { id } = await room.inserts.insert(command(), DEADLINE_MS);
    expect(await seen(id, () => true)).toMatchObject({ id, phase: 'queued' });
  });

  it('sees every kind of change when all events are lost', async () => {
    const { id } = await room.inserts.insert(command(), DEADLINE_MS);
    const running = seen(id, (task) => task?.phase === 'running');
    const claim = await room.transitions.claim(id, 'worker', LEASE_MS);
    expect(await running).toMatchObject({ id, progress: 0 });
    const moved = seen(id, (task) => task?.progress === 40);
    await room.transitions.progress({ id, attempt: claim?.attempt ?? 0 }, 40, 'running');
    await moved;
    const ended = seen(id, (task) => task?.status === 'cancelled');
    await room.store.cancel(allTasksOf('acct_default'), id);
    expect(await ended).toMatchObject({ phase: 'done', progress: 40, openProvider: null });
  });

  it('says that a task is gone', async () => {
    const { id } = await room.inserts.insert(command(), DEADLINE_MS);
    const gone = seen(id, (task) => task === undefined);
    await room.sql('DELETE FROM tasks WHERE id = $1', [id]);
    expect(await gone).toBeUndefined();
  });
});
