import type { Redis } from 'ioredis';
import { TaskEventListener } from '#tasks/states/task-events.js';
import { TaskPartials, TaskPartialsListener, type TaskPartial } from '#tasks/states/task-partials.js';
import { waitUntil } from '#embedded/wait-until.js';
import { openTaskRoom, type TaskRoom } from '../support/task-room.js';

describe('partial images on their way', () => {
  let room: TaskRoom;
  let listening: Redis;
  let partials: TaskPartials;
  let listener: TaskPartialsListener;

  beforeAll(async () => {
    room = await openTaskRoom();
    listening = room.redis.duplicate({ enableOfflineQueue: true });
    partials = new TaskPartials(room.redis, room.redisConfig);
    listener = new TaskPartialsListener(listening, room.redisConfig);
  });
  afterAll(async () => {
    listening.disconnect();
    await room.close();
  });

  const channels = async (): Promise<unknown[]> =>
    await room.redis.pubsub('CHANNELS', `${room.prefix}:tasks:partial:*`);
  const subscribed = (count: number): Promise<unknown> =>
    waitUntil(async () => (await channels()).length === count, { timeoutMs: 15_000 });

  it('reach those who listen to their task, unless they are too large, and stay nowhere', async () => {
    const heard: TaskPartial[][] = [[], []];
    const stops = heard.map((list) => listener.listen('task_a', (partial) => list.push(partial)));
    await subscribed(1);
    partials.send('task_b', { index: 0, format: 'png' }, Buffer.from('of another'));
    partials.send('task_a', { index: 0, format: 'png' }, Buffer.alloc(1_200_000));
    partials.send('task_a', { index: 1, format: 'webp' }, Buffer.from('small'));
    await waitUntil(() => Promise.resolve(heard.every((list) => list.length > 0)), { timeoutMs: 15_000 });
    const small = { index: 1, format: 'webp', base64: Buffer.from('small').toString('base64') };
    expect(heard).toEqual([[small], [small]]);
    expect(await room.redis.keys(`${room.prefix}*partial*`)).toEqual([]);
    stops[0]?.();
    expect(await channels()).toHaveLength(1);
    stops[1]?.();
    await subscribed(0);
    expect(await channels()).toEqual([]);
  });

  it('are not taken for an event by those who hear them on the same connection', async () => {
    const rung: string[] = [];
    const heard: number[] = [];
    new TaskEventListener(listening, room.redisConfig).onSettled((taskId) => rung.push(taskId));
    const stop = listener.listen('task_c', ({ index }) => heard.push(index));
    await subscribed(1);
    partials.send('task_c', { index: 0, format: 'png' }, Buffer.from('x'));
    room.events.publishSettled('task_c');
    await waitUntil(() => Promise.resolve(rung.length > 0), { timeoutMs: 15_000 });
    expect([heard, rung]).toEqual([[0], ['task_c']]);
    stop();
  });
});
