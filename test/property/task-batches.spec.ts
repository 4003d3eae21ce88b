import fc from 'fast-check';
import { AppError } from '#contract/app-error.js';
import { taskError } from '#tasks/row/task.js';
import { PROPERTY_TIMEOUT_MS, runs } from '../support/effort.js';
import { command, openTaskRoom, type TaskRoom } from '../support/task-room.js';

const TASKS = 5;
const MAX_STARTS = 2;
const LEASE_MS = 600_000;
const CALL = { provider: 'paid', key: '', model: 'gpt-image-2', free: false };
const FAILURE = taskError(new AppError('upstream_error', 'no'));
const COMPLETED = { images: [], usage: undefined, warnings: [] };
/** Postgres refuses a row with this. */
const REFUSED = { ...COMPLETED, usage: { input_tokens: 'many' } as never };

const KINDS = ['start', 'name', 'end', 'release', 'park'] as const;

const task = fc.nat({ max: TASKS - 1 });
/** A move under a lease; `late`: by an attempt that is over. */
const held = fc.record({
  task,
  late: fc.boolean(),
  how: fc.constantFrom('completed' as const, 'failed' as const, 'refused' as const),
});
const moves = fc.uniqueArray(held, { selector: (move) => move.task, minLength: 1 });
/** What happens at one moment: moves of one kind. */
const moment = fc.oneof(
  fc.record({ kind: fc.constant('claim' as const), tasks: fc.array(task, { minLength: 1, maxLength: 8 }) }),
  fc.record({ kind: fc.constantFrom(...KINDS), moves }),
);

/** What the row of a task should say. */
interface Expected {
  attempt: number;
  starts: number;
  /** The provider's id of its job; calls that are not named have none. */
  job: string | null;
  /** How often it was parked. */
  waits: number;
  leased: boolean;
  status: 'pending' | 'completed' | 'failed';
}

describe('moves of many tasks at one moment', () => {
  let room: TaskRoom;
  beforeAll(async () => {
    room = await openTaskRoom();
  });
  afterAll(() => room.close());

  it(
    'do to each row what they would do one by one',
    async () => {
      await fc.assert(
        fc.asyncProperty(fc.array(moment, { minLength: 3, maxLength: 14 }), async (moments) => {
          const inserted = Array.from(
            { length: TASKS },
            async () => (await room.inserts.insert(command(), 900_000)).id,
          );
          const ids = await Promise.all(inserted);
          const rows = ids.map((): Expected => ({
            attempt: 0,
            starts: 0,
            job: null,
            waits: 0,
            leased: false,
            status: 'pending',
          }));
          for (const each of moments) {
            const [expected, done] = each.kind === 'claim' ? claims(ids, rows, each.tasks) : under(ids, rows, each);
            const outcomes = await Promise.allSettled(done);
            expect(outcomes.map((outcome) => (outcome.status === 'rejected' ? 'refused' : outcome.value))).toEqual(
              expected,
            );
          }
          const { rows: found } = await room.sql(
            `SELECT attempt, provider_starts AS starts, provider_job_id AS job, waits, lease_until IS NOT NULL AS leased, status FROM tasks
             WHERE id = ANY($1) ORDER BY array_position($1, id)`,
            [ids],
          );
          expect(found).toEqual(rows);
        }),
        runs(25),
      );
    },
    PROPERTY_TIMEOUT_MS,
  );

  type Outcomes = readonly [expected: unknown[], done: Promise<unknown>[]];

  function claims(ids: readonly string[], rows: readonly Expected[], tasks: readonly number[]): Outcomes {
    const expected = tasks.map((index) => {
      const row = rows[index] as Expected;
      if (row.status !== 'pending' || row.leased) return undefined;
      row.leased = true;
      return ++row.attempt;
    });
    const done = tasks.map(async (index) => {
      return (await room.transitions.claim(ids[index] ?? '', 'worker', LEASE_MS))?.attempt;
    });
    return [expected, done];
  }

  function under(
    ids: readonly string[],
    rows: readonly Expected[],
    each: {
      readonly kind: (typeof KINDS)[number];
      readonly moves: readonly (typeof held extends fc.Arbitrary<infer T> ? T : never)[];
    },
  ): Outcomes {
    const { transitions } = room;
    const pairs = each.moves.map(({ task: index, late, how }) => {
      const row = rows[index] as Expected;
      const lease = { id: ids[index] ?? '', attempt: row.attempt - (late ? 1 : 0) };
      const isHeld = row.leased && !late && row.status === 'pending';
      if (each.kind === 'start') {
        const starts = isHeld && row.starts < MAX_STARTS;
        if (starts) Object.assign(row, { starts: row.starts + 1, job: null });
        return [starts, () => transitions.startProvider(lease, CALL, MAX_STARTS)] as const;
      }
      // Whether it is leased is not asked from here on: who names, releases, parks or ends is its last holder.
      const ends = !late && row.status === 'pending';
      if (each.kind === 'name') {
        const job = `job-${index}-${row.attempt}`;
        if (ends) row.job = job;
        return [ends, () => transitions.acceptedByProvider(lease, job)] as const;
      }
      if (each.kind === 'release' || each.kind === 'park') {
        if (ends) Object.assign(row, { leased: false, waits: row.waits + (each.kind === 'park' ? 1 : 0) });
        const released = () => (each.kind === 'park' ? transitions.park(lease, 0) : transitions.release(lease, 0));
        return [ends, async () => (await released()) !== undefined] as const;
      }
      if (ends && how !== 'refused') Object.assign(row, { status: how, leased: false });
      const end = () =>
        how === 'failed'
          ? transitions.fail(lease, FAILURE)
          : transitions.complete(lease, how === 'refused' ? REFUSED : COMPLETED).then((row) => row !== undefined);
      return [ends && how === 'refused' ? how : ends, end] as const;
    });
    return [pairs.map(([expected]) => expected), pairs.map(([, move]) => move())];
  }
});
