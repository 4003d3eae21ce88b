import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { waitUntil } from '#embedded/wait-until.js';
import { BatchSteps } from '#batches/batch-steps.repository.js';
import { BatchRepository } from '#batches/batch.repository.js';
import type { Batch, ClaimedLine, LineOutcome } from '#batches/batch.js';
import { loadConfig } from '#config/load-config.js';
import { DiskStore } from '#storage/disk-store.js';
import { uploadKey } from '#storage/object-key.js';
import { S3Store } from '#storage/s3-store.js';
import { StorageConfig } from '#storage/storage.config.js';
import { newBatchId, newFileId } from '#tasks/row/task-id.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { readLine } from '../../apps/api/src/batches/read-line.js';
import { WriteResults } from '../../apps/api/src/batches/write-results.js';
import { openTaskRoom, TEST_ACCOUNT, TEST_KEY, type TaskRoom } from '../support/task-room.js';

const HOUR_MS = 3_600_000;
const DONE: LineOutcome = { response: { status_code: 200, request_id: 'req_x', body: {} }, error: null };
const CANCELLED: LineOutcome = { response: null, error: { code: 'batch_cancelled', message: 'It was cancelled.' } };

/** What two processes do to a batch when one of them was slow. */
describe('the steps of a batch', () => {
  let room: TaskRoom;
  let steps: BatchSteps;
  let folder: string;
  beforeAll(async () => {
    room = await openTaskRoom();
    steps = new BatchSteps(room.database);
    folder = await mkdtemp(join(tmpdir(), 'darkroom-batch-steps-'));
  });
  afterAll(async () => {
    await room.close();
    await rm(folder, { recursive: true });
  });

  /** A batch with so many lines that wait. */
  async function add(count: number, changes: object = {}): Promise<Batch> {
    const id = newBatchId();
    await room.database.batch.create({
      data: {
        ...{ id, accountId: TEST_ACCOUNT, apiKeyId: TEST_KEY, endpoint: '/v1/images/generations' },
        ...{ inputFileId: newFileId(), status: 'in_progress', total: count, resultsKept: 3_600 },
        ...{ createdAt: new Date(), inProgressAt: new Date(), expiresAt: new Date(Date.now() + HOUR_MS), ...changes },
      },
    });
    const lines = Array.from({ length: count }, (_, at) => ({ line: at + 1, customId: `line-${at}` }));
    await steps.addLines(
      id,
      lines.map((line) => ({ ...line, position: 0, bytes: 1 })),
    );
    return await read(id);
  }

  async function read(id: string): Promise<Batch> {
    return (await room.database.batch.findUniqueOrThrow({ where: { id } })) as unknown as Batch;
  }

  async function claimOne(batchId: string): Promise<ClaimedLine> {
    const [line] = await steps.claim(batchId, 1);
    if (line === undefined) throw new Error('no line is left');
    return line;
  }

  it('stay with the process that holds one when the batch is canceled', async () => {
    const nextStepAt = new Date(Date.now() + HOUR_MS);
    const { id } = await add(1, { nextStepAt });
    const batch = await new BatchRepository(room.database).cancel({ accountId: TEST_ACCOUNT, own: undefined }, id);
    expect(batch).toMatchObject({ status: 'cancelling', nextStepAt });
  });

  it('tell a process whose line has ended that its task is nobody’s', async () => {
    const { id } = await add(1);
    const line = await claimOne(id);
    await steps.end(id, [{ line: line.line, taskId: null, outcome: CANCELLED }]);
    expect(await steps.submitted(id, line, { taskId: 'task_late' })).toBe(false);
    expect(await read(id)).toMatchObject({ completed: 0, failed: 1 });
  });

  it('note a task once, whoever found it, and no other one for the same line', async () => {
    const { id } = await add(1);
    const line = await claimOne(id);
    const noted = [
      await steps.submitted(id, line, { taskId: 'task_one' }),
      await steps.submitted(id, line, { taskId: 'task_one' }),
      await steps.submitted(id, line, { taskId: 'task_other' }),
    ];
    expect(noted).toEqual([true, true, false]);
    // Another process saw the line without a task.
    await steps.end(id, [{ line: line.line, taskId: null, outcome: CANCELLED }]);
    expect(await steps.hasUnfinished(id)).toBe(true);
    await steps.end(id, [{ line: line.line, taskId: 'task_one', outcome: DONE }]);
    expect(await read(id)).toMatchObject({ completed: 1, failed: 0 });
    expect(await steps.submitted(id, line, { taskId: 'task_one' })).toBe(true);
  });

  it('do not give a task that came too late to the next try of its line', async () => {
    const { id } = await add(1);
    const line = await claimOne(id);
    await steps.submitted(id, line, { taskId: 'task_first' });
    await steps.again(id, { line: line.line, taskId: 'task_first' });
    const next = await claimOne(id);
    expect(await steps.submitted(id, line, { taskId: 'task_first' })).toBe(false);
    expect(await steps.submitted(id, next, { taskId: 'task_second' })).toBe(true);
  });

  it('are shown by the first failed lines, for which no other ended line is read', async () => {
    const { id } = await add(3_000);
    const refused: LineOutcome = {
      ...DONE,
      response: { status_code: 400, request_id: 'req_x', body: '{"a":"\\u0000"}' },
    };
    const outcomes = new Map([
      [7, CANCELLED],
      [2_900, refused],
      [2_950, CANCELLED],
    ]);
    // The last one still waits.
    const ends = Array.from({ length: 2_999 }, (_, at) => ({
      ...{ line: at + 1, taskId: null },
      outcome: outcomes.get(at + 1) ?? DONE,
    }));
    await steps.end(id, ends);
    const { pool } = room.database;
    await pool.query('ANALYZE batch_lines');
    const batches = new BatchRepository(room.database);
    const scans = `SELECT idx_scan::int AS count FROM pg_stat_user_indexes WHERE indexrelname = 'batch_lines_failed'`;
    const isIndexRead = async (): Promise<boolean> => {
      expect(await batches.failedLines(id, 2)).toEqual([
        { line: 7, customId: 'line-6', outcome: CANCELLED },
        { line: 2_900, customId: 'line-2899', outcome: refused },
      ]);
      return ((await pool.query<{ count: number }>(scans)).rows[0]?.count ?? 0) > 0;
    };
    expect(await waitUntil(isIndexRead, { timeoutMs: 30_000 })).toBe(true);
  });

  it('take lines that were put off behind all others, and claimed ones first', async () => {
    const { id } = await add(4);
    const [first, second] = await steps.claim(id, 2);
    if (first === undefined || second === undefined) throw new Error('no line is left');
    await steps.putOff(id, first);
    expect((await steps.claim(id, 3)).map(({ line }) => line)).toEqual([2, 3, 4]);
    for (const line of await steps.claimed(id)) await steps.putOff(id, line);
    await steps.putOff(id, await claimOne(id));
    expect((await claimOne(id)).line).toBe(2);
  });

  describe('that write its results', () => {
    /** A batch whose lines have all ended with an image. */
    async function addEnded(count: number): Promise<Batch> {
      const { id } = await add(count);
      const lines = await steps.claim(id, count);
      await steps.end(
        id,
        lines.map(({ line }) => ({ line, taskId: null, outcome: DONE })),
      );
      await steps.finalize(id, { outputFileId: newFileId(), errorFileId: newFileId() });
      return await read(id);
    }

    async function linesOf({ outputFileId }: Batch): Promise<number> {
      const { stream } = await new DiskStore(folder).open(uploadKey(outputFileId ?? ''));
      return (await text(stream)).trimEnd().split('\n').length;
    }

    const results = () => new WriteResults(steps, new UploadRepository(room.database), new DiskStore(folder));

    it('leave the files as they are once another process has ended the batch', async () => {
      const batch = await addEnded(3);
      await results().write(batch);
      await expect(results().write(batch)).rejects.toThrow('the batch has ended');
      expect(await linesOf(batch)).toBe(3);
    });

    it('store no file that has not all of its lines', async () => {
      const batch = await addEnded(3);
      await results().write(batch);
      // A process that had begun to write before another one ended the batch.
      await room.sql(`UPDATE batches SET status = 'finalizing', ended_at = NULL WHERE id = $1`, [batch.id]);
      await expect(results().write(batch)).rejects.toThrow('0 of 3 lines');
      expect(await linesOf(batch)).toBe(3);
      expect(await read(batch.id)).toMatchObject({ status: 'finalizing' });
    });
  });

  it('hold few responses of chats while they are written', async () => {
    let most = 0;
    class Watched extends BatchSteps {
      override async ended(...page: Parameters<BatchSteps['ended']>): ReturnType<BatchSteps['ended']> {
        const lines = await super.ended(...page);
        most = Math.max(most, JSON.stringify(lines).length);
        return lines;
      }
    }
    const watched = new Watched(room.database);
    const { id } = await add(20, { endpoint: '/v1/responses' });
    const body = JSON.stringify({ text: 'x'.repeat(1_000_000) });
    const outcome = { response: { status_code: 200, request_id: 'req_x', body }, error: null };
    for (let line = 1; line <= 20; line++) await steps.end(id, [{ line, taskId: null, outcome }]);
    await steps.finalize(id, { outputFileId: newFileId(), errorFileId: newFileId() });
    const store = new DiskStore(folder);
    const batch = await read(id);
    await new WriteResults(watched, new UploadRepository(room.database), store).write(batch);
    expect(most).toBeLessThanOrEqual(10_000_000);
    const { stream } = await store.open(uploadKey(batch.outputFileId ?? ''));
    expect((await text(stream)).trimEnd().split('\n')).toHaveLength(20);
  });

  it('read no whole file for a line from a store that ignores ranges', async () => {
    const megabytes = 64;
    let sent = 0;
    const server = createServer((_request, response) => {
      response.writeHead(200, { 'content-length': megabytes * 1_048_576 });
      const piece = Buffer.alloc(1_048_576, 0x20);
      const send = (): void => {
        while (sent < megabytes) {
          sent++;
          if (!response.write(piece)) return void response.once('drain', send);
        }
        response.end();
      };
      send();
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const access = { S3_ACCESS_KEY_ID: 'a', S3_SECRET_ACCESS_KEY: 'b', S3_REGION: 'us-east-1', S3_BUCKET: 'darkroom' };
    const [config] = loadConfig([StorageConfig] as const, { STORAGE: 's3', S3_ENDPOINT: endpoint, ...access });
    const store = new S3Store(config);
    try {
      const line = { position: 1_000, bytes: 50 };
      await expect(readLine(store, { inputFileId: newFileId() }, line)).rejects.toThrow('the range of the line');
      expect(sent).toBeLessThan(megabytes);
    } finally {
      store.close();
      server.closeAllConnections();
      server.close();
    }
  });
});
