import { waitUntil } from '#embedded/wait-until.js';
import { SignInLimits } from '../../apps/api/src/console/sign-in/sign-in-limits.js';
import { RateCounter } from '../../apps/api/src/limits/rate-counter.js';
import { FaultProxy } from '../support/fault-proxy.js';
import { createTestRedis } from '../support/redis.js';
import { openTaskRoom, type TaskRoom } from '../support/task-room.js';

const WINDOW_SECONDS = 2;

describe('the limits of signing in, with windows of two seconds', () => {
  let line: FaultProxy;
  let room: TaskRoom;
  let limits: SignInLimits;
  beforeAll(async () => {
    line = await FaultProxy.start(createTestRedis().url);
    room = await openTaskRoom(line.url);
  });
  beforeEach(() => {
    limits = new SignInLimits(new RateCounter(room.redis, room.prefix, WINDOW_SECONDS), WINDOW_SECONDS);
  });
  afterAll(async () => {
    line.fault = 'pass';
    await room.close();
    await line.close();
  });

  const admitted = (email: string): Promise<boolean> =>
    limits.admit('203.0.113.1', email).then(
      () => true,
      () => false,
    );

  it.each<['pass' | 'reset', number]>([
    ['pass', 10],
    ['reset', 5],
  ])('end with their window: %s, %i attempts', async (fault, allowed) => {
    line.fault = fault;
    const email = `${fault}@example.org`;
    const answers: boolean[] = [];
    for (let attempt = 0; attempt < allowed + 2; attempt++) answers.push(await admitted(email));
    expect(answers).toEqual([...Array<boolean>(allowed).fill(true), false, false]);
    // Asking again and again does not make it longer.
    expect(await waitUntil(() => admitted(email), { timeoutMs: WINDOW_SECONDS * 3_000, everyMs: 100 })).toBe(true);
  });
});
