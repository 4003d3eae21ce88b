import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keys } from '../../apps/standalone/src/commands/keys.js';
import { objects } from '../../apps/standalone/src/commands/objects.js';
import { openTaskRoom, type TaskRoom } from '../support/task-room.js';

// Real: the commands, Postgres and Redis, and a DATA_DIR whose state can't be read.
describe('commands of a deployment', () => {
  let room: TaskRoom;
  let folder: string;
  beforeAll(async () => {
    room = await openTaskRoom();
    folder = await mkdtemp(join(tmpdir(), 'darkroom-foreign-'));
    // A folder can't be read as a file, not even by root.
    await mkdir(join(folder, 'standalone.json'));
  });
  afterAll(async () => {
    await room.close();
    await rm(folder, { recursive: true });
  });

  it.each([
    ['keys', keys, ['list'], /Budget of the account/],
    ['objects', objects, [], /0 found, 0 repaired/],
  ])('%s leaves the state of `npm start` alone', async (_, command, args, answer) => {
    const lines: string[] = [];

    const env = { DATA_DIR: folder, DATABASE_URL: room.databaseUrl, REDIS_URL: room.redisUrl };
    await command(args, env, (line) => lines.push(line));
    expect(lines.join('\n')).toMatch(answer);
  });
});
