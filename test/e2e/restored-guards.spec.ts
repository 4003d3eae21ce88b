import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { waitUntil } from '#embedded/wait-until.js';
import { ulid } from 'ulid';
import { objects } from '../../apps/standalone/src/commands/objects.js';
import { restored } from '../../apps/standalone/src/commands/restored.js';
import { startPlatform, type Platform } from '../support/platform.js';

// Real: an API, a worker, Postgres and Redis.
describe('commands that repair an installation', () => {
  let platform: Platform;
  let empty: string;

  beforeAll(async () => {
    platform = await startPlatform();
    empty = await mkdtemp(join(tmpdir(), 'darkroom-wrong-'));
  });
  afterAll(async () => {
    await platform.close();
    await rm(empty, { recursive: true });
  });

  const said: string[] = [];
  const say = (line: string): void => void said.push(line);

  async function pending(): Promise<number> {
    const { rows } = await platform.pool.query<{ count: number }>(
      `SELECT count(*)::int AS count FROM tasks WHERE status = 'pending'`,
    );
    return rows[0]?.count ?? NaN;
  }

  /** Adds rows of uploads, some of them with their bytes. */
  async function addUploads(count: number, stored: number): Promise<void> {
    await mkdir(join(platform.settings['DATA_DIR'] ?? '', 'objects', 'uploads'), { recursive: true });
    for (let n = 0; n < count; n++) {
      const id = `upload_${ulid()}`;
      await platform.pool.query(
        `INSERT INTO uploads (id, account_id, api_key_id, content_type, bytes, expires_at)
          SELECT $1, account_id, id, 'image/png', 3, now() + interval '1 day' FROM api_keys LIMIT 1`,
        [id],
      );
      if (n < stored) await writeFile(join(platform.settings['DATA_DIR'] ?? '', 'objects', 'uploads', id), 'png');
    }
  }

  it('restored fails no task of processes that are connected, unless it is forced', async () => {
    const body = { model: 'gpt-image-2', prompt: 'slow [[latency=600s]]', size: '1:1' };
    expect((await platform.call('/v1/images/generations/async', { body })).status).toBe(202);
    expect(await waitUntil(async () => (await pending()) === 1, { timeoutMs: 30_000 })).toBe(true);
    await expect(restored([], platform.settings, say)).rejects.toThrow(
      /^2 processes are connected to the database \(APIs: 1, workers: 1\), .* stop them first/,
    );
    expect(await pending()).toBe(1);
    expect(await restored(['--force'], platform.settings, say)).toBe(0);
    expect(said[0]).toMatch(/^1 unfinished tasks were failed/);
  });

  it('objects repairs nothing in a folder that lacks every object, unless it is forced', async () => {
    await addUploads(12, 12);
    const wrong = { ...platform.settings, DATA_DIR: empty };
    const rows = async () => (await platform.pool.query('SELECT FROM uploads')).rowCount;
    await expect(objects(['--repair'], wrong, say)).rejects.toThrow(
      `The folder ${empty}/objects lacks 12 of 12 objects, so the settings may name the wrong store; nothing was repaired.`,
    );
    await expect(restored(['--force'], wrong, say)).rejects.toThrow('nothing was repaired');
    expect(await rows()).toBe(12);
    expect(await objects([], wrong, say)).toBe(12);
    expect(await objects(['--repair'], platform.settings, say)).toBe(0);
    expect(await rows()).toBe(12);
    expect(await objects(['--repair', '--force'], wrong, say)).toBe(0);
    expect(await rows()).toBe(0);
  });

  it.each([
    ['repairs 9 that are all missing', 9, 0, 0],
    ['repairs 10 of 20', 20, 10, 10],
    ['refuses to repair 11 of 20', 20, 9, 20],
  ])('objects %s', async (_, count, stored, left) => {
    await platform.pool.query('DELETE FROM uploads');
    await addUploads(count, stored);
    const done = objects(['--repair'], platform.settings, say);
    await (left === count ? expect(done).rejects.toThrow('lacks 11 of 20 objects') : done);
    expect((await platform.pool.query('SELECT FROM uploads')).rowCount).toBe(left);
  });
});
