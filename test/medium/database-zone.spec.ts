import { PrismaService } from '#database/prisma.service.js';
import { command, openTaskRoom, TEST_ACCOUNT, type TaskRoom } from '../support/task-room.js';

describe('a database that is set to another time zone', () => {
  let room: TaskRoom;
  let database: PrismaService;
  beforeAll(async () => {
    room = await openTaskRoom();
    await room.sql(
      `DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET TimeZone TO ''Asia/Tokyo''', current_database()); END $$`,
    );
    const config = { databaseUrl: room.databaseUrl, databasePool: 1, connectTimeoutMs: 60_000, queryTimeoutMs: 60_000 };
    database = new PrismaService(config, room.logger);
  });
  afterAll(async () => {
    await database.close();
    await room.close();
  });

  it('tells Prisma and the statements of our own the same times', async () => {
    const task = await room.inserts.insert(command(), 900_000);
    const { id, createdAt } = task;
    expect(await database.task.findUnique({ where: { id }, select: { createdAt: true } })).toEqual({ createdAt });
    expect(await database.task.count({ where: { accountId: TEST_ACCOUNT, createdAt } })).toBe(1);
    await database.task.update({ where: { id }, data: { startedAt: createdAt } });
    const { rows } = await room.sql('SELECT started_at FROM tasks WHERE id = $1', [id]);
    expect(rows).toEqual([{ started_at: createdAt }]);
  });
});
