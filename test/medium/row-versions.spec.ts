import { waitUntil } from '#embedded/wait-until.js';
import { writeProgress } from '#tasks/row/write-progress.sql.js';
import { patient } from '../support/patience.js';
import { command, openTaskRoom, type TaskRoom } from '../support/task-room.js';

const TASKS = 60;
/** Longest time in ms for them. */
const PATIENCE_MS = patient(60_000);
/** Writes that count. */
const ENOUGH = 2 * TASKS;
/** Tasks whose progress one statement writes; a busy worker's may be more, and need more room than a page has. */
const AT_ONCE = 3;
const SANDBOX = { provider: 'sandbox', key: '', model: 'gpt-image-2', free: true };
/** Transactions since the oldest snapshot; the old versions of all of them are kept. */
const OLD_SNAPSHOT = 3;

/** Each write of a row makes a new version of it; one on the same page, with no indexed value changed, touches no index. */
describe('versions of running tasks', () => {
  let room: TaskRoom;
  beforeAll(async () => {
    room = await openTaskRoom();
    await room.sql(`
      CREATE TABLE progress_writes (from_page int, to_page int, snapshot_age int);
      CREATE FUNCTION note_progress() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
          INSERT INTO progress_writes VALUES ((OLD.ctid::text::point)[0], (NEW.ctid::text::point)[0],
            (SELECT max(age(backend_xmin)) FROM pg_stat_activity WHERE datname = current_database()));
          RETURN NULL;
        END $$;
      CREATE TRIGGER progress_noted AFTER UPDATE OF progress ON tasks FOR EACH ROW
        WHEN (NEW.progress > OLD.progress) EXECUTE FUNCTION note_progress();`);
  });
  afterAll(() => room.close());

  it('have room on their page: at least 95 % of the writes of progress touch no index', async () => {
    const leases: { id: string; attempt: number }[] = [];
    for (let n = 0; n < TASKS; n++) {
      const { id } = await room.inserts.insert(command(), 900_000);
      const attempt = (await room.transitions.claim(id, 'worker', 120_000))?.attempt ?? 0;
      expect(await room.transitions.startProvider({ id, attempt }, SANDBOX, 3)).toBe(true);
      leases.push({ id, attempt });
    }
    // Transactions of any database keep old versions while they run, and so the room of new ones: such writes don't count.
    const counted = async (): Promise<{ writes: number; share: number }> => {
      const { rows } = await room.sql(
        `SELECT count(*)::int AS writes, avg((from_page = to_page)::int)::float8 AS share FROM progress_writes
          WHERE snapshot_age <= $1`,
        [OLD_SNAPSHOT],
      );
      return (rows as [{ writes: number; share: number }])[0];
    };
    const until = performance.now() + PATIENCE_MS;
    for (let round = 1; performance.now() < until && (await counted()).writes < ENOUGH; round++) {
      for (let at = 0; at < TASKS; at += AT_ONCE) {
        const steps = leases
          .slice(at, at + AT_ONCE)
          .map((lease) => ({ lease, percent: round % 100, phase: 'running' as const }));
        expect(await writeProgress(room.database.pool, steps)).toHaveLength(AT_ONCE);
      }
    }
    const { writes, share } = await counted();
    expect(writes).toBeGreaterThanOrEqual(ENOUGH);
    expect(share).toBeGreaterThanOrEqual(0.95);

    // On the same page, a write touches no index unless a value in one has changed.
    const { rows } = await room.sql(
      `SELECT count(*)::int AS "samePage" FROM progress_writes WHERE from_page = to_page`,
    );
    const [{ samePage }] = rows as [{ samePage: number }];
    const hot = async (): Promise<number> => {
      await room.sql('SELECT pg_stat_force_next_flush()');
      const counts = await room.sql(
        `SELECT n_tup_hot_upd::int AS hot FROM pg_stat_user_tables WHERE relname = 'tasks'`,
      );
      return (counts.rows as [{ hot: number }])[0].hot;
    };
    expect(await waitUntil(async () => (await hot()) >= samePage, { timeoutMs: 30_000 })).toBe(true);
  });
});
