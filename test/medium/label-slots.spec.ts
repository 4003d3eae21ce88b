import { appliedLimits, type LabelLimit } from '#billing/label-limits.js';
import { LabelLimits } from '#billing/label-limits.repository.js';
import type { TaskCommand } from '#tasks/row/task.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
const inFlight = (kind: 'end_user' | 'tag', name: string, tasksInFlight: number | null): LabelLimit => ({
  kind,
  name,
  tasksInFlight,
  requestsPerMinute: null,
  monthlyBudget: null,
  weight: null,
});
const LIMITS = [inFlight('end_user', '', 2), inFlight('tag', 'a', 1), inFlight('tag', 'b', 3)];

describe('tasks in flight of end users and tags', () => {
  let room: TaskRoom;
  beforeAll(async () => {
    room = await openTaskRoom();
    await new LabelLimits(room.database).set(TEST_ACCOUNT, LIMITS);
  });
  afterEach(async () => {
    await room.sql('DELETE FROM tasks');
    await forget();
  });
  afterAll(() => room.close());

  async function forget(): Promise<void> {
    const keys = await room.redis.keys(`${room.prefix}:in-flight*`);
    if (keys.length > 0) await room.redis.del(keys);
  }
  const labeled = (endUser: string | undefined, ...tags: string[]): TaskCommand =>
    command({ endUser, tags, labelLimits: appliedLimits(TEST_ACCOUNT, LIMITS, { endUser, tags }) });
  const take = async (task: TaskCommand) => {
    const taken = await room.slots.with(task, (slot) =>
      slot === undefined ? room.order.takeTurn(task) : room.order.takeTurnAndSlot(task, slot),
    );
    return 'limit' in taken ? taken : undefined;
  };
  const accept = async (task: TaskCommand): Promise<TaskCommand> => {
    expect(await take(task)).toBeUndefined();
    await room.inserts.insert(task, DEADLINE_MS);
    return task;
  };
  const end = (tasks: readonly TaskCommand[]) =>
    room.sql(
      `UPDATE tasks SET status = 'failed', phase = 'done', error = '{}', finished_at = now() WHERE id = ANY($1)`,
      [tasks.map(({ id }) => id)],
    );

  it('are refused above a label’s limit, which of them is said, and no other label’s slot is taken then', async () => {
    await accept(labeled('ann', 'a'));
    expect(await take(labeled('ann', 'b', 'a'))).toEqual({ of: 'tag', limit: 1 });
    await accept(labeled('ann', 'b'));
    expect(await take(labeled('ann'))).toEqual({ of: 'end_user', limit: 2 });
    // Each end user has a limit of their own, and what has no label has none.
    await accept(labeled('ben', 'b'));
    await accept(labeled('ben', 'b'));
    expect(await take(labeled('cem', 'b'))).toEqual({ of: 'tag', limit: 3 });
    await accept(labeled(undefined, 'c'));
  });

  it('make room as they end, whether their end is told or only in the rows', async () => {
    const told = await accept(labeled('ann'));
    const untold = await accept(labeled('ann'));
    // Any process frees a slot without knowing the labels of the task.
    await end([told]);
    room.slots.free({ id: told.id, accountId: told.accountId, originalKeyId: told.originalKeyId });
    await accept(labeled('ann'));
    await end([untold]);
    // As if the rows had been read long ago.
    await room.redis.zincrby(`${room.prefix}:in-flight`, -60_000, TEST_ACCOUNT);
    await accept(labeled('ann'));
    expect(await take(labeled('ann'))).toEqual({ of: 'end_user', limit: 2 });
  });

  it('are counted again from the rows when Redis has lost them', async () => {
    await accept(labeled('ann', 'a'));
    await accept(labeled('ann'));
    await forget();
    expect(await take(labeled('ann'))).toEqual({ of: 'end_user', limit: 2 });
    expect(await take(labeled('ben', 'a'))).toEqual({ of: 'tag', limit: 1 });
    await accept(labeled('ben'));
  });

  it('give their slots back when they never come to be', async () => {
    const gone = labeled('ann', 'a');
    expect(await take(gone)).toBeUndefined();
    room.slots.free(gone);
    await accept(labeled('ann', 'a'));
    await accept(labeled('ann'));
  });
});
