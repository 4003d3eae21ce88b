import { appliedLimits, type LabelLimit } from '#billing/label-limits.js';
import { turnTakerOf } from '#tasks/row/batch-turns.js';
import { newTaskId } from '#tasks/row/task-id.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const weighed = (kind: 'end_user' | 'tag', name: string, weight: number | null): LabelLimit => ({
  kind,
  name,
  weight,
  requestsPerMinute: null,
  tasksInFlight: null,
  monthlyBudget: null,
});

describe('turns of end users and tags', () => {
  let room: TaskRoom;
  beforeEach(async () => {
    room = await openTaskRoom();
  });
  afterEach(() => room.close());

  /** A task of the only key waits in line; returns its id. */
  async function wait(limits: readonly LabelLimit[], endUser: string, tags: readonly string[] = []): Promise<string> {
    const labelLimits = appliedLimits(TEST_ACCOUNT, limits, { endUser, tags });
    const id = newTaskId();
    const { turn } = await room.order.takeTurn(turnTakerOf(command({ id, endUser, tags, labelLimits })));
    if (turn === undefined) throw new Error('no turn was taken');
    await room.order.join([{ task: id, job: id, turn }]);
    return id;
  }
  const positions = async (...ids: string[]) => (await room.order.positions(ids)).map((one) => one?.position);

  it('let each end user come before the second request of another, once they have a weight', async () => {
    const limits = [weighed('end_user', '', 1)];
    const [first, second, third] = [await wait(limits, 'ann'), await wait(limits, 'ann'), await wait(limits, 'ann')];
    const other = await wait(limits, 'ben');
    expect(await positions(second, third)).toEqual([3, 4]);
    expect((await positions(first, other)).sort()).toEqual([1, 2]);
  });

  it('are those of the key without a weight', async () => {
    const ids = [await wait([], 'ann'), await wait([], 'ann'), await wait([], 'ben')];
    expect(await positions(...ids)).toEqual([1, 2, 3]);
  });

  it('come as often as the weight says, of the end user or else of a tag', async () => {
    const limits = [weighed('end_user', 'vip', 4), weighed('tag', 'bulk', 1)];
    const bulk = [await wait(limits, 'ann', ['bulk']), await wait(limits, 'ben', ['bulk'])];
    const vip = [await wait(limits, 'vip', ['bulk']), await wait(limits, 'vip'), await wait(limits, 'vip')];
    // Turns of the tag are at 1 and 2, those of the end user at 0.25, 0.5 and 0.75.
    expect(await positions(...vip, ...bulk)).toEqual([1, 2, 3, 4, 5]);
  });

  it('are forgotten when they are over, however many end users there were', async () => {
    const limits = [weighed('end_user', '', 1)];
    const known = async () => await room.redis.hlen(`${room.prefix}:keys:${TEST_ACCOUNT}`);
    for (let n = 0; n < 200; n++) await wait(limits, `early-${n}`);
    expect(await known()).toBe(200);
    // As if all of these had been served.
    await room.redis.hset(`${room.prefix}:keys:${TEST_ACCOUNT}`, 'now', '1.000000');
    for (let n = 0; n < 60; n++) await wait(limits, `late-${n}`);
    expect(await known()).toBeLessThan(100);
    await wait(limits, 'early-1');
  });
});
