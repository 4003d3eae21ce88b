import { ExpireBatches } from '#batches/expire-batches.js';
import { openTaskRoom, TEST_ACCOUNT, TEST_KEY, type TaskRoom } from '../support/task-room.js';

const DAY_MS = 86_400_000;

describe('ended batches', () => {
  let room: TaskRoom;
  beforeAll(async () => {
    room = await openTaskRoom();
  });
  afterAll(() => room.close());

  async function add(id: string, endedDaysAgo: number | null): Promise<void> {
    const endedAt = endedDaysAgo === null ? null : new Date(Date.now() - endedDaysAgo * DAY_MS);
    await room.database.batch.create({
      data: {
        ...{
          id,
          accountId: TEST_ACCOUNT,
          apiKeyId: TEST_KEY,
          endpoint: '/v1/images/generations',
          inputFileId: 'file_x',
        },
        ...{ status: endedAt === null ? 'in_progress' : 'completed', resultsKept: 3_600, endedAt },
        ...{ createdAt: new Date(Date.now() - 100 * DAY_MS), expiresAt: new Date() },
      },
    });
    await room.database.batchLine.create({ data: { batchId: id, line: 1, customId: 'a', position: 0, bytes: 1 } });
  }

  it('are removed after 30 days, with lines that were left; others stay', async () => {
    const expire = new ExpireBatches(room.database, room.logger);
    expect(await expire.dueSince()).toBeUndefined();
    await add('batch_old', 31);
    await add('batch_new', 29);
    await add('batch_open', null);
    expect(Math.round((Date.now() - Number(await expire.dueSince())) / DAY_MS)).toBe(1);
    await expire.run();
    const ids = (await room.database.batch.findMany({ orderBy: { id: 'asc' } })).map(({ id }) => id);
    const lines = (await room.database.batchLine.findMany({ orderBy: { batchId: 'asc' } })).map(
      ({ batchId }) => batchId,
    );
    expect([ids, lines]).toEqual([
      ['batch_new', 'batch_open'],
      ['batch_new', 'batch_open'],
    ]);
  });
});
