import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { loadConfig } from '#config/load-config.js';
import type { Role } from '#accounts/person-rules.js';
import { EraseMatching } from '#erasure/erase-matching.js';
import { EraseTasks } from '#erasure/erase-tasks.js';
import { DiskStore } from '#storage/disk-store.js';
import { inputKey, resultKey, uploadKey } from '#storage/object-key.js';
import { ResultLinks } from '#storage/result-links.js';
import { LinkSigner } from '#storage/signed-link.js';
import { StorageConfig } from '#storage/storage.config.js';
import { TaskDetails } from '#tasks/reading/task-details.js';
import { DropInputs } from '#tasks/retention/drop-inputs.js';
import { approveTask, rejectTask } from '#tasks/row/approval.sql.js';
import { newUploadId } from '#tasks/row/task-id.js';
import { allTasksOf, taskError, type KeptFor, type TaskCommand, type TaskScope } from '#tasks/row/task.js';
import { CancelTask } from '#tasks/states/cancel-task.js';
import { DeletedTasks, type ErasureFilter } from '#tasks/states/deleted-tasks.js';
import { TaskEnds } from '#tasks/states/task-ends.js';
import { AppError } from '#contract/app-error.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { command, openTaskRoom, TEST_ACCOUNT, TEST_KEY, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
const LEASE_MS = 20_000;
const ALL = { ...allTasksOf(TEST_ACCOUNT), role: undefined };
const DAY_S = 86_400;
const HELD = { above: 0, deadlineMs: DEADLINE_MS };
const REJECTED = taskError(new AppError('approval_rejected', 'The request was not approved.'));

/** The rows and objects of deleted tasks, and of those that are to be deleted by themselves. */
describe('erasing tasks', () => {
  let room: TaskRoom;
  let folder: string;
  let store: DiskStore;
  let tasks: DeletedTasks;
  let erase: EraseTasks;
  let matching: EraseMatching;
  beforeEach(async () => {
    room = await openTaskRoom();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-erasing-'));
    store = new DiskStore(folder);
    const { database, events, slots, deliveries, metrics, lostCallers, redis, logger, tasksConfig } = room;
    tasks = new DeletedTasks(database, events, tasksConfig);
    erase = new EraseTasks(tasks, new UploadRepository(database), database, store, logger);
    const ends = new TaskEnds(slots, events, deliveries, metrics, lostCallers, redis);
    const drop = new DropInputs(database, store, logger);
    const cancel = new CancelTask(room.store, ends, room.queue, logger, drop);
    matching = new EraseMatching(database, tasks, cancel, tasksConfig, logger);
    await room.sql(`INSERT INTO accounts (id, name) VALUES ('acct_other', 'Other')`);
    await room.sql(`INSERT INTO api_keys (id, account_id, name, prefix, hash, secret_id, original_key_id) VALUES
      ('key_other', '${TEST_ACCOUNT}', 'other', 'sk-dr-other', '\\x01', 'test', NULL),
      ('key_next', '${TEST_ACCOUNT}', 'next', 'sk-dr-next', '\\x02', 'test', '${TEST_KEY}')`);
  });
  afterEach(async () => {
    await room.close();
    await rm(folder, { recursive: true, force: true });
  });

  async function put(key: string): Promise<string> {
    await store.put(key, Readable.from(['x']), { contentType: 'image/png' });
    return key;
  }

  async function stored(): Promise<string[]> {
    const keys: string[] = [];
    for (const prefix of ['inputs/', 'results/', 'uploads/'])
      for await (const key of store.list(prefix)) keys.push(key);
    return keys.sort();
  }

  async function accepted(changes: Partial<TaskCommand> = {}): Promise<string> {
    return (await room.inserts.insert(command(changes), DEADLINE_MS)).id;
  }

  const claim = (id: string) => room.transitions.claim(id, 'worker', LEASE_MS);

  async function complete(id: string) {
    const attempt = (await claim(id))?.attempt ?? 0;
    const image = { key: resultKey(id, attempt, 'png'), contentType: 'image/png', width: 1, height: 1, bytes: 1 };
    await put(image.key);
    const images = [{ ...image, sha256: '00' }];
    const row = await room.transitions.complete({ id, attempt }, { images, usage: undefined, warnings: [] });
    return { key: image.key, lifetime: row?.outcome.lifetime };
  }

  async function completed(changes: Partial<TaskCommand> = {}): Promise<string> {
    const id = await accepted(changes);
    await complete(id);
    return id;
  }

  /** Seconds from the end of a task to its deletion by itself, and the same by the row of what is due. */
  async function secondsKept(id: string): Promise<unknown> {
    const { rows } = await room.sql(
      `SELECT EXTRACT(EPOCH FROM expires_at - finished_at)::float8 AS kept, EXTRACT(EPOCH FROM due_at - finished_at)::float8 AS due
        FROM tasks LEFT JOIN task_erasures ON task_id = id WHERE id = $1`,
      [id],
    );
    return rows[0];
  }

  async function orderedAgo(id: string, seconds: number): Promise<void> {
    await room.sql(
      `UPDATE tasks SET created_at = created_at - $2 * interval '1 second', expires_at = expires_at - $2 * interval '1 second'
        WHERE id = $1`,
      [id, seconds],
    );
  }

  describe('that are to be deleted by themselves', () => {
    const LIVES: KeptFor = { seconds: 60, afterEndMs: 120_000 };

    it('leaves time to get an image whose lifetime is over before it ends', async () => {
      const id = await accepted({ kept: LIVES });
      await orderedAgo(id, 3_600);
      const { key, lifetime } = await complete(id);
      expect(await secondsKept(id)).toEqual({ kept: 120, due: 120 });
      const [config] = loadConfig([StorageConfig] as const, {});
      const links = new ResultLinks(config, new LinkSigner({ secretKey: 'x'.repeat(32) }, 'https://images.example/'));
      const link = links.linkFor({ objectKey: key, finishedAt: new Date(), deletedAt: lifetime?.expiresAt });
      expect(link?.url).toContain(id);
      expect(await tasks.markExpired(10)).toBe(0);
      expect(await stored()).toEqual([key]);
    });

    it('keeps a longer lifetime, and without one what follows the end', async () => {
      const long = await completed({ kept: { seconds: 3_600, afterEndMs: 120_000 } });
      const alone = await completed({ kept: { afterEndMs: 120_000 } });
      const neither = await completed();
      const { rows } = await room.sql(
        `SELECT EXTRACT(EPOCH FROM expires_at - created_at)::float8 AS kept FROM tasks WHERE id = $1`,
        [long],
      );
      expect(rows).toEqual([{ kept: 3_600 }]);
      expect([await secondsKept(alone), await secondsKept(neither)]).toEqual([
        { kept: 120, due: 120 },
        { kept: null, due: null },
      ]);
    });

    it('is the same for a retry, except for a lifetime that its end has moved', async () => {
      const details = new TaskDetails(room.database, room.tasksConfig);
      const keptOf = async (id: string) => (await details.order(TEST_ACCOUNT, id))?.kept;
      expect(await keptOf(await completed({ kept: { seconds: 3_600, afterEndMs: 120_000 } }))).toEqual({
        seconds: 3_600,
        afterEndMs: 120_000,
      });
      expect(await keptOf(await completed({ kept: { afterEndMs: 120_000 } }))).toEqual({ afterEndMs: 120_000 });
      expect(await keptOf(await completed())).toEqual({});
      const late = await accepted({ kept: LIVES });
      await orderedAgo(late, 3_600);
      await complete(late);
      expect(await keptOf(late)).toEqual({ afterEndMs: 120_000 });
    });

    it.each<[string, KeptFor, boolean, number]>([
      ['with a lifetime', LIVES, false, DAY_S],
      ['with a longer one', { seconds: 2 * DAY_S, afterEndMs: 120_000 }, false, 2 * DAY_S],
      ['that is not stored', { afterEndMs: 120_000 }, false, DAY_S],
      ['with a lifetime, asynchronous', { seconds: 3_600, afterEndMs: 600_000 }, true, 3_600],
    ])('waits for who was told to come back after an approval: %s', async (_what, kept, asynchronous, seconds) => {
      const id = await accepted({ kept, asynchronous, approval: HELD });
      await orderedAgo(id, 20 * 3_600);
      expect(await approveTask(room.database.pool, { id, accountId: TEST_ACCOUNT, by: 'prs_1' })).toBeDefined();
      await complete(id);
      const { rows } = await room.sql(
        `SELECT expires_at - GREATEST(finished_at, (approval ->> 'decidedAt')::timestamptz) <= $2 * interval '1 second'
            AND expires_at - (approval ->> 'decidedAt')::timestamptz >= ($2 - 0.01) * interval '1 second' AS "isKept",
          due_at = expires_at AS "isDue"
          FROM tasks JOIN task_erasures ON task_id = id WHERE id = $1`,
        [id, seconds],
      );
      expect(rows).toEqual([{ isKept: true, isDue: true }]);
    });

    it('does not begin with an approval', async () => {
      const id = await accepted({ approval: HELD });
      await approveTask(room.database.pool, { id, accountId: TEST_ACCOUNT, by: 'prs_1' });
      await complete(id);
      expect(await secondsKept(id)).toEqual({ kept: null, due: null });
    });
  });

  describe('that match a filter', () => {
    const BEFORE = new Date(Date.now() + 3_600_000);
    const OWN = {
      accountId: TEST_ACCOUNT,
      role: 'member',
      own: { personId: 'prs_1', keyIds: [TEST_KEY, 'key_next'] },
    } as const;

    async function found(scope: TaskScope, filter: Partial<ErasureFilter>, limit: number): Promise<string[]> {
      const ids: string[] = [];
      for (let cursor: string | null = null; ;) {
        const page = await tasks.matching(scope, { before: BEFORE, ...filter }, cursor, limit);
        ids.push(...page.tasks.map(({ id }) => id));
        if (page.next === null) return ids;
        cursor = page.next;
      }
    }

    it('finds each once, page by page, whatever may be seen of them', async () => {
      const seen = [
        await completed(),
        await accepted({ apiKeyId: 'key_next' }),
        await completed({ apiKeyId: 'key_other', orderedBy: 'prs_1' }),
        await completed({ orderedBy: 'prs_1' }),
        await accepted({ apiKeyId: 'key_other', orderedBy: 'prs_1' }),
      ];
      const others = [
        await completed({ apiKeyId: 'key_other' }),
        await accepted({ apiKeyId: 'key_other', orderedBy: 'prs_2' }),
      ];
      await accepted({ accountId: 'acct_other', orderedBy: 'prs_1' });
      await tasks.mark([await completed()]);
      for (const limit of [1, 2, 100]) {
        expect((await found(OWN, {}, limit)).sort()).toEqual([...seen].sort());
        expect((await found(ALL, {}, limit)).sort()).toEqual([...seen, ...others].sort());
        expect((await found(OWN, { status: 'pending' }, limit)).sort()).toEqual([seen[1], seen[4]].sort());
        expect((await found(OWN, { status: 'completed' }, limit)).sort()).toEqual([seen[0], seen[2], seen[3]].sort());
        expect(await found(ALL, { status: 'failed' }, limit)).toEqual([]);
      }
    });

    it('reads no more at a time than a page, and goes on behind what does not match', async () => {
      const oldest = await completed();
      for (let n = 0; n < 3; n++) await tasks.mark([await completed()]);
      const first = await tasks.matching(ALL, { before: BEFORE }, null, 2);
      expect(first).toMatchObject({ tasks: [], next: expect.stringContaining('task_') as string });
      const second = await tasks.matching(ALL, { before: BEFORE }, first.next, 2);
      expect(second.tasks).toEqual([{ id: oldest, isPending: false }]);
    });

    it('has counted its tasks, and still has them to erase, once all are selected', async () => {
      // As late as the column rounds the time of a mark to.
      await room.sql(`CREATE FUNCTION late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        NEW.deleted_at = date_trunc('milliseconds', clock_timestamp()) + interval '1 millisecond'; RETURN NEW; END $$`);
      await room.sql('CREATE TRIGGER late BEFORE INSERT ON task_erasures FOR EACH ROW EXECUTE FUNCTION late()');
      await room.sql(`CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF NEW.selected_at IS NOT NULL AND NEW.deleted = 0 THEN RAISE 'not counted yet'; END IF; RETURN NEW; END $$`);
      await room.sql('CREATE TRIGGER counted BEFORE UPDATE ON erasures FOR EACH ROW EXECUTE FUNCTION counted()');
      await completed();
      const { id } = await matching.request(ALL, { before: BEFORE });
      await matching.run();
      expect(await matching.dueSince()).toBeUndefined();
      expect(await matching.find(ALL, id)).toMatchObject({ status: 'in_progress', deleted: 1 });
      await erase.run();
      expect(await matching.find(ALL, id)).toMatchObject({ status: 'completed', deleted: 1 });
    });

    it('does not stop at a request that fails', async () => {
      await room.sql(
        `INSERT INTO erasures (id, account_id, scope, filter) VALUES ('a', 'acct_other', 'null', '{"before": 0}')`,
      );
      const id = await completed();
      const request = await matching.request(ALL, { before: BEFORE });
      await matching.run();
      await erase.run();
      expect(await matching.find(ALL, request.id)).toMatchObject({ status: 'completed', deleted: 1 });
      expect(await tasks.isDeleted(id)).toBe(true);
      expect(await matching.dueSince()).toBeInstanceOf(Date);
    });

    it('is still known to a key after its rotation, and to nobody who sees less', async () => {
      const own = { personId: null, keyIds: [TEST_KEY] };
      const { id } = await matching.request({ accountId: TEST_ACCOUNT, own, role: undefined }, { before: BEFORE });
      const isKnown = async (scope: TaskScope): Promise<boolean> => (await matching.find(scope, id)) !== undefined;
      const rotated = { personId: null, keyIds: [TEST_KEY, 'key_next'] };
      expect(await isKnown({ accountId: TEST_ACCOUNT, own: rotated })).toBe(true);
      expect(await isKnown(OWN)).toBe(true);
      expect(await isKnown(ALL)).toBe(true);
      expect(await isKnown({ accountId: TEST_ACCOUNT, own: { personId: null, keyIds: ['key_next'] } })).toBe(false);
      const ofPerson = await matching.request(OWN, { before: BEFORE });
      expect(await matching.find({ accountId: TEST_ACCOUNT, own: rotated }, ofPerson.id)).toBeUndefined();
      const ofAll = await matching.request(ALL, { before: BEFORE });
      expect(await matching.find(OWN, ofAll.id)).toBeUndefined();
      // However many others there were since.
      for (let other = 0; other < 30; other++) {
        await matching.request(ALL, { before: BEFORE });
        await room.sql('UPDATE erasures SET selected_at = now() WHERE scope = $1', ['{"own": null}']);
      }
      const latest = async (scope: TaskScope) => (await matching.latest(scope)).map((one) => one.id);
      expect(await latest(OWN)).toEqual([ofPerson.id, id]);
      expect(await latest({ accountId: TEST_ACCOUNT, own: rotated })).toEqual([id]);
      expect(await latest({ accountId: TEST_ACCOUNT, own: { personId: 'prs_2', keyIds: [] } })).toEqual([]);
      expect(await latest({ accountId: 'acct_other', own: undefined })).toEqual([]);
      expect(await latest(ALL)).toHaveLength(20);
    });

    it('is refused to admins without an end user or a tag, whatever the status and time, but not to others', async () => {
      const as = (role: Role | undefined) => ({ ...ALL, role });
      const all: Partial<ErasureFilter>[] = [{}, { status: 'completed' }, { before: new Date(0) }];
      for (const filter of all) {
        const filled = { before: BEFORE, ...filter };
        await expect(matching.request(as('admin'), filled)).rejects.toMatchObject({ code: 'not_permitted' });
        for (const scope of [as('owner'), as(undefined), OWN]) await matching.request(scope, filled);
      }
      for (const label of [{ endUser: 'eu_1' }, { tag: 'draft' }])
        await matching.request(as('admin'), { before: BEFORE, ...label });
    });
  });

  /** The contents that were there, once they are gone. */
  async function erased(id: string): Promise<unknown> {
    return (await tasks.erasureOf(ALL, id))?.contents;
  }

  it('deletes reference images again that a failed task had no use for, because the store may have failed', async () => {
    const wanted = command();
    const [input, mask] = [inputKey(wanted.id, 0), inputKey(wanted.id, 'mask')];
    const sent = (key: string) => ({ kind: 'object', key, bytes: 1, param: 'image' }) as const;
    await accepted({ ...wanted, inputs: [sent(input)], mask: sent(mask) });
    await room.store.cancel(ALL, wanted.id);
    await new DropInputs(room.database, store, room.logger).drop(wanted.id);
    // As if it had not been reached.
    await put(input);
    await put(mask);
    await tasks.mark([wanted.id]);
    expect(await erase.erase(wanted.id)).toBe(true);
    expect(await stored()).toEqual([]);
    expect(await erased(wanted.id)).toMatchObject({ inputs: 2 });
  });

  it('forgets why a request was not approved', async () => {
    const id = await accepted({ approval: HELD });
    const decision = { id, accountId: TEST_ACCOUNT, by: 'prs_1' };
    await rejectTask(room.database.pool, decision, REJECTED, 'a canary');
    await tasks.mark([id]);
    const { rows } = await room.sql('SELECT approval FROM tasks WHERE id = $1', [id]);
    expect(rows).toMatchObject([{ approval: { decision: 'rejected', decidedBy: 'prs_1' } }]);
    expect(JSON.stringify(rows)).not.toContain('canary');
  });

  it('of a task that a sweep has failed, waits for the worker that may still store its image', async () => {
    const id = await accepted();
    await claim(id);
    await room.sql(`UPDATE tasks SET deadline_at = now() - interval '1 second' WHERE id = $1`, [id]);
    await room.newSweep().failOverdue();
    await tasks.mark([id]);
    expect(await erase.erase(id)).toBe(false);
    const late = await put(resultKey(id, 1, 'png'));
    await room.sql(`UPDATE tasks SET finished_at = now() - interval '10 minutes' WHERE id = $1`, [id]);
    expect(await erase.erase(id)).toBe(true);
    expect(await stored()).not.toContain(late);
  });

  describe('of a canceled task', () => {
    const cancel = async (id: string): Promise<void> => {
      await room.store.cancel(ALL, id);
      await tasks.mark([id]);
    };

    it('waits until its worker has said that it stores nothing more, and for no other worker’s word', async () => {
      const id = await accepted();
      const attempt = (await claim(id))?.attempt ?? 0;
      expect(await tasks.workerStopped({ id, attempt })).toBe(false);
      await cancel(id);
      expect(await erase.erase(id)).toBe(false);
      expect(await tasks.workerStopped({ id, attempt: attempt + 1 })).toBe(false);
      expect(await erase.erase(id)).toBe(false);
      expect(await tasks.workerStopped({ id, attempt })).toBe(true);
      expect(await erase.erase(id)).toBe(true);
    });

    it('waits for nobody when workers have only found that it has to wait', async () => {
      const waiting = await accepted();
      const released = await accepted();
      for (const [id, wait] of [
        [waiting, true],
        [released, false],
      ] as const) {
        const attempt = (await claim(id))?.attempt ?? 0;
        expect(await room.transitions.release({ id, attempt }, 60_000, undefined, { wait })).toBeDefined();
        await cancel(id);
      }
      expect([await erase.erase(waiting), await erase.erase(released)]).toEqual([true, false]);
    });

    it('waits for the store that may still carry out a write of a worker that has left it', async () => {
      const id = await accepted();
      const attempt = (await claim(id))?.attempt ?? 0;
      expect(await room.transitions.park({ id, attempt }, 60_000, true)).toBeDefined();
      await cancel(id);
      expect(await erase.erase(id)).toBe(false);
    });

    it('is known of a failed one by what its worker says with its end', async () => {
      for (const stopped of [true, false]) {
        const id = await accepted();
        const attempt = (await claim(id))?.attempt ?? 0;
        await room.transitions.fail({ id, attempt }, REJECTED, undefined, stopped);
        await tasks.mark([id]);
        expect(await erase.erase(id)).toBe(stopped);
      }
    });
  });

  describe('with uploads', () => {
    async function upload(apiKeyId: string): Promise<string> {
      const id = newUploadId();
      const image = { id, accountId: TEST_ACCOUNT, apiKeyId, contentType: 'image/png', bytes: 1, pixels: 1 };
      await new UploadRepository(room.database).insert(image, { retentionHours: 1, bytesPerAccount: 0 });
      return await put(uploadKey(id));
    }

    async function edited(key: string, changes: Partial<TaskCommand> = {}): Promise<string> {
      return await completed({ inputs: [{ kind: 'object', key, bytes: 1, param: 'image' }], ...changes });
    }

    async function deleted(id: string): Promise<number> {
      await tasks.mark([id]);
      expect(await erase.erase(id)).toBe(true);
      return ((await erased(id)) as { uploads: number }).uploads;
    }

    it('deletes one that the keys of the task have sent, and that no other task needs', async () => {
      const key = await upload(TEST_KEY);
      const [first, last] = [await edited(key), await edited(key, { apiKeyId: 'key_next' })];
      expect(await deleted(first)).toBe(0);
      expect(await stored()).toContain(key);
      expect(await deleted(last)).toBe(1);
      expect(await stored()).not.toContain(key);
    });

    it('leaves one of another key', async () => {
      const key = await upload('key_other');
      expect(await deleted(await edited(key))).toBe(0);
      expect(await stored()).toContain(key);
    });

    it('leaves all while a batch is in progress, whose lines may name them', async () => {
      const key = await upload(TEST_KEY);
      const id = await edited(key);
      await room.sql(
        `INSERT INTO batches (id, account_id, api_key_id, endpoint, input_file_id, results_kept, expires_at)
          VALUES ('batch_1', $1, $2, '/v1/images/edits', 'file_1', 3600, now() + interval '1 day')`,
        [TEST_ACCOUNT, TEST_KEY],
      );
      expect(await deleted(id)).toBe(0);
      expect(await stored()).toContain(key);
    });

    it('leaves all when a task is deleted by itself', async () => {
      const key = await upload(TEST_KEY);
      const id = await edited(key, { kept: { afterEndMs: 120_000 } });
      await room.sql('UPDATE task_erasures SET due_at = now() WHERE task_id = $1', [id]);
      await erase.run();
      expect(await erased(id)).toMatchObject({ images: 1, uploads: 0 });
      expect(await stored()).toEqual([key]);
    });
  });
});
