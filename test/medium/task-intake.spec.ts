import { randomBytes } from 'node:crypto';
import { tmpdir } from 'node:os';
import { loadConfig } from '#config/load-config.js';
import { DiskStore } from '#storage/disk-store.js';
import { TaskIntake } from '#tasks/task-intake.js';
import type { RequestIdentity } from '#tasks/request-identity.js';
import { ExpireKeys } from '#tasks/expire-keys.js';
import { ExpireObjects } from '#tasks/expire-objects.js';
import { WorkerConfig } from '../../apps/worker/src/worker.config.js';
import { retried } from '../support/retried.js';
import { command, openTaskRoom, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
type Keyed = RequestIdentity & { kind: 'key' };

describe('taking requests in', () => {
  let room: TaskRoom;
  let intakes: [TaskIntake, TaskIntake];
  let count = 0;
  beforeAll(async () => {
    room = await openTaskRoom();
    // Two of them share nothing but the database, like two processes.
    intakes = [new TaskIntake(room.database, room.store), new TaskIntake(room.database, room.store)];
  });
  afterAll(() => room.close());

  const keyed = (): Keyed => ({ kind: 'key', key: `key-${++count}`, fingerprint: randomBytes(32) });
  const attempt = (retry: number, fingerprint = randomBytes(32)): RequestIdentity => ({
    kind: 'attempt',
    retry,
    fingerprint,
  });
  const take = (identity?: RequestIdentity, changes = {}) => {
    const intake = intakes[count++ % 2 === 0 ? 0 : 1];
    const order = command(changes);
    return retried(() => intake.take(order, DEADLINE_MS, identity));
  };
  const taskCount = (): Promise<number> => room.database.task.count();

  it.each([
    ['a key', keyed()],
    ['a counted retry', attempt(1)],
  ])('makes one task of fifty parallel calls with %s', async (_name, identity) => {
    const before = await taskCount();
    const taken = await Promise.all(Array.from({ length: 50 }, () => take(identity)));
    expect(new Set(taken.map(({ task }) => task.id)).size).toBe(1);
    expect(taken.filter(({ attached }) => !attached)).toHaveLength(1);
    expect(await taskCount()).toBe(before + 1);
  });

  it('refuses a key for another request, and keeps no task of it', async () => {
    const identity = keyed();
    await take(identity);
    const before = await taskCount();
    const other = take({ ...identity, fingerprint: randomBytes(32) });
    await expect(other).rejects.toMatchObject({ code: 'idempotency_key_reused', param: 'Idempotency-Key' });
    expect(await taskCount()).toBe(before);
  });

  it('lets another account use the same key for itself', async () => {
    const identity = keyed();
    const first = await take(identity);
    const other = await take(identity, { accountId: 'acct_other' });
    expect(other.attached).toBe(false);
    expect(other.task.id).not.toBe(first.task.id);
  });

  it('gives an expired key to exactly one of those who want it', async () => {
    const identity = keyed();
    const first = await take(identity);
    await room.sql(`UPDATE idempotency_keys SET expires_at = now() WHERE key = $1`, [identity.key]);
    const anew = { ...identity, fingerprint: randomBytes(32) };
    const taken = await Promise.all(Array.from({ length: 20 }, () => take(anew)));
    expect(taken.filter(({ attached }) => !attached)).toHaveLength(1);
    expect(new Set(taken.map(({ task }) => task.id)).size).toBe(1);
    expect(taken[0]?.task.id).not.toBe(first.task.id);
    await expect(take(identity)).rejects.toMatchObject({ code: 'idempotency_key_reused' });
  });

  it('says that a key is in use when its task cannot be read', async () => {
    const identity = keyed();
    const { task } = await take(identity);
    await room.sql('DELETE FROM tasks WHERE id = $1', [task.id]);
    await expect(take(identity)).rejects.toMatchObject({ code: 'idempotency_in_progress' });
  });

  it('removes expired keys and no others', async () => {
    const [old, live] = [keyed(), keyed()];
    await take(old);
    await take(live);
    await room.sql(`UPDATE idempotency_keys SET expires_at = now() WHERE key = $1`, [old.key]);
    await new ExpireKeys(room.database, room.logger).run();
    const { rows } = await room.sql('SELECT key FROM idempotency_keys WHERE key = ANY($1)', [[old.key, live.key]]);
    expect(rows).toEqual([{ key: live.key }]);
  });

  it('keeps the row of an old task while a live key stands for it', async () => {
    const identity = keyed();
    const { task } = await take(identity);
    const old = `now() - interval '2 hours'`;
    await room.sql(
      `UPDATE tasks SET status = 'failed', phase = 'done', finished_at = ${old}, objects_deleted_at = now() WHERE id = $1`,
      [task.id],
    );
    const [config] = loadConfig([WorkerConfig], { TASK_RETENTION_HOURS: '1' });
    const expire = new ExpireObjects(room.database, new DiskStore(tmpdir()), room.logger);
    await expire.run(config);
    expect(await take(identity)).toMatchObject({ attached: true, task: { id: task.id, status: 'failed' } });
    await room.sql(`UPDATE idempotency_keys SET expires_at = now() WHERE key = $1`, [identity.key]);
    await expire.run(config);
    expect(await room.store.find(task.accountId, task.id)).toBeUndefined();
  });

  it('attaches a retry to the newest task of the same request, but no first try ever', async () => {
    const fingerprint = randomBytes(32);
    const first = await take(attempt(0, fingerprint));
    const second = await take(attempt(0, fingerprint));
    expect(second.task.id).not.toBe(first.task.id);
    // Both may be of the same millisecond; the ids are not in order then.
    await room.sql(`UPDATE tasks SET created_at = created_at - interval '1 second' WHERE id = $1`, [first.task.id]);
    expect(await take(attempt(2, fingerprint))).toMatchObject({ attached: true, task: { id: second.task.id } });
  });

  it.each<[string, string, object]>([
    ['was delivered', 'delivered_at = now()', {}],
    ['is older than 15 minutes', `created_at = now() - interval '16 minutes'`, {}],
    ['is of another API key', 'request_id = request_id', { apiKeyId: 'key_other' }],
  ])('makes a new task for a retry when the first %s', async (_name, change, changes) => {
    const fingerprint = randomBytes(32);
    const first = await take(attempt(0, fingerprint));
    await room.sql(`UPDATE tasks SET ${change} WHERE id = $1`, [first.task.id]);
    expect((await take(attempt(1, fingerprint), changes)).attached).toBe(false);
  });

  it('finds what a request repeats without making anything', async () => {
    const [byKey, byCount] = [keyed(), attempt(1)];
    for (const identity of [byKey, byCount, undefined]) {
      expect(await intakes[0].find(command(), identity)).toBeUndefined();
      const { task } = await take(identity);
      const found = await intakes[0].find(command(), identity);
      expect(found?.task.id).toBe(identity === undefined ? undefined : task.id);
    }
  });
});
