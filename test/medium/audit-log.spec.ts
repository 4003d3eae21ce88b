import { AuditLog } from '#accounts/audit-log.js';
import { openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

describe('the audit log', () => {
  let room: TaskRoom;
  beforeAll(async () => {
    room = await openTaskRoom();
  });
  afterAll(() => room.close());

  it('keeps the order of what was done within one millisecond', async () => {
    const log = new AuditLog(room.database);
    const targets = Array.from({ length: 60 }, (_, n) => `key_${n}`);
    await Promise.all(
      targets.map((target) => log.write({ accountId: TEST_ACCOUNT, personId: null, action: 'key.changed', target })),
    );
    const { entries } = await log.list(TEST_ACCOUNT, { limit: 100 });
    expect(entries.map(({ target }) => target).reverse()).toEqual(targets);
  });

  it('takes one entry of many simultaneous events that are recorded once per quarter of an hour', async () => {
    const log = new AuditLog(room.database);
    const failed = { accountId: TEST_ACCOUNT, personId: null, action: 'person.sign_in_failed' } as const;
    const note = (target: string): Promise<void> => log.writeOncePer({ ...failed, target }, 900_000);
    await Promise.all(Array.from({ length: 9 }, () => note('person_1')));
    await note('person_1');
    await note('person_2');
    const { entries } = await log.list(TEST_ACCOUNT, { limit: 100, actions: ['person.sign_in_failed'] });
    expect(entries.map(({ target }) => target)).toEqual(['person_2', 'person_1']);
    await note('person_2');
    await log.writeOncePer({ ...failed, target: 'person_2' }, -1_000);
    expect((await log.list(TEST_ACCOUNT, { limit: 100, actions: ['person.sign_in_failed'] })).entries).toHaveLength(3);
  });
});
