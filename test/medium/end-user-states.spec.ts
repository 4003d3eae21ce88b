import { EndUserRefusals } from '#accounts/end-user-refusals.repository.js';
import { EndUserStates } from '#accounts/end-user-states.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

const DEADLINE_MS = 900_000;
const RULE = { refusals: 2, windowMinutes: 60, pauseMinutes: 30 };

/** Each test has an end user of its own, who is paused after two refusals. */
describe('states of end users', () => {
  let room: TaskRoom;
  let states: EndUserStates;
  let endUser: string;
  let people = 0;
  beforeAll(async () => {
    room = await openTaskRoom();
    states = new EndUserStates(room.database);
    await new EndUserRefusals(room.database).setRule(TEST_ACCOUNT, RULE);
  });
  afterAll(() => room.close());
  beforeEach(() => {
    endUser = `eu_${++people}`;
  });

  const by = { provider: null, caseId: null, changedBy: 'person_1', announced: true, cause: 'person' } as const;
  const change = (state: 'none' | 'flagged' | 'blocked', reason: string | null = null) =>
    states.change({ accountId: TEST_ACCOUNT, endUser, state, reason, ...by });
  const warn = (caseId: string) => {
    const of = { cause: 'provider', provider: 'up', caseId, changedBy: null, announced: false } as const;
    return states.change({ accountId: TEST_ACCOUNT, endUser, state: 'flagged', reason: 'Warned.', ...of });
  };
  async function refuse(times = 1): Promise<void> {
    for (let refused = 0; refused < times; refused++) {
      const { id } = await room.inserts.insert(command({ endUser }), DEADLINE_MS);
      await room.sql(
        `UPDATE tasks SET status = 'failed', phase = 'done', finished_at = now(), error = '{"code": "moderation_blocked"}' WHERE id = $1`,
        [id],
      );
    }
  }
  const now = async () => {
    const [state] = await states.list(TEST_ACCOUNT, { endUsers: [endUser], limit: 1 });
    return state;
  };
  /** Lets the pause end a minute after everything else. */
  async function passPause(): Promise<void> {
    await room.sql(
      `UPDATE end_user_states SET until = now(), changed_at = changed_at - interval '1 minute',
         refusals_since = refusals_since - interval '1 minute' WHERE end_user = $1`,
      [endUser],
    );
    await room.sql(`UPDATE end_user_refusals SET refused_at = refused_at - interval '1 minute' WHERE end_user = $1`, [
      endUser,
    ]);
  }
  const assertAllowed = () => new EndUserStates(room.database).assertAllowed(TEST_ACCOUNT, endUser);

  it('are flagged again after a pause that put the flag aside, with its reason, also after another pause', async () => {
    await change('flagged', 'Watch them.');
    for (let pauses = 0; pauses < 2; pauses++) {
      await refuse(2);
      expect(await now()).toMatchObject({ state: 'paused', cause: 'refusals' });
      await expect(assertAllowed()).rejects.toMatchObject({ code: 'end_user_paused' });
      await passPause();
      expect(await now()).toMatchObject({
        state: 'flagged',
        until: null,
        cause: 'person',
        reason: 'Watch them.',
        changedBy: 'person_1',
      });
      await assertAllowed();
    }
    await room.sql(
      `UPDATE end_user_states SET changed_at = changed_at - interval '1 year', until = until - interval '1 year' WHERE end_user = $1`,
      [endUser],
    );
    await states.expire();
    expect(await now()).toMatchObject({ state: 'flagged' });
    await change('none');
    expect(await now()).toBeUndefined();
  });

  it('end with a pause that put nothing aside, and with what a person decides meanwhile', async () => {
    await refuse(2);
    await passPause();
    expect(await now()).toBeUndefined();
    await change('flagged');
    await refuse(2);
    await change('none');
    expect(await now()).toBeUndefined();
    await refuse(2);
    expect(await now()).toMatchObject({ state: 'paused' });
    await passPause();
    expect(await now()).toBeUndefined();
  });

  it('are flagged after a pause by the warning that came meanwhile, which a repetition does not bring again', async () => {
    await refuse(2);
    expect(await warn('case_1')).toBe(true);
    expect(await now()).toMatchObject({ state: 'paused', caseId: 'case_1' });
    await passPause();
    expect(await now()).toMatchObject({ state: 'flagged', cause: 'provider', provider: 'up', caseId: 'case_1' });
    const since = new Date(Date.now() - 3_600_000);
    const named = async () => (await states.causedSince(TEST_ACCOUNT, since, 100)).map((one) => one.endUser);
    expect(await named()).toContain(endUser);
    expect(await warn('case_1')).toBe(false);
    await refuse(2);
    expect(await now()).toMatchObject({ state: 'paused', caseId: null });
    // Another webhook of the case that was put aside.
    expect(await warn('case_1')).toBe(false);
    await passPause();
    expect(await now()).toMatchObject({ state: 'flagged', caseId: 'case_1' });
  });

  it('count refusals since the last pause or clearing, whatever state came after it', async () => {
    await refuse(2);
    await passPause();
    await change('flagged');
    await refuse();
    expect(await now()).toMatchObject({ state: 'flagged' });
    await change('none');
    await change('flagged');
    await refuse();
    expect(await now()).toMatchObject({ state: 'flagged' });
    await refuse();
    expect(await now()).toMatchObject({ state: 'paused' });
  });
});
