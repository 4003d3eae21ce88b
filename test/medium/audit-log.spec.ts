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
});
