import { Inject, Injectable } from '@nestjs/common';
import { Readable } from 'node:stream';
import { BatchSteps } from '#batches/batch-steps.repository.js';
import { hasChats, isSuccess, type Batch, type EndedLine } from '#batches/batch.js';
import { uploadKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { UploadRepository } from '#uploads/upload.repository.js';

const CONTENT_TYPE = 'application/jsonl';
/** Lines in memory at a time; a chat may have a response of 1 MB. */
const PAGE = 500;
const PAGE_OF_CHATS = 8;

/** A file of results. */
interface ResultFile {
  readonly id: string | null;
  readonly name: 'output' | 'error';
  /** How many lines it has. */
  readonly lines: number;
}

/** Writes the results of an ended batch to its two files, a page of lines at a time. */
@Injectable()
export class WriteResults {
  constructor(
    private readonly steps: BatchSteps,
    private readonly uploads: UploadRepository,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
  ) {}

  /**
   * Ends the batch. May be repeated: it writes the same files. Throws when the database or the store fails, or another
   * process has ended the batch: then the files stay as that one wrote them.
   */
  async write(batch: Batch): Promise<void> {
    const { outputFileId, errorFileId, completed, failed } = batch;
    await this.steps.finish(batch, {
      outputFileId: await this.file(batch, { id: outputFileId, name: 'output', lines: completed }),
      errorFileId: await this.file(batch, { id: errorFileId, name: 'error', lines: failed }),
    });
  }

  /** Null for a file without lines, which is not written. */
  private async file(batch: Batch, { id, name, lines }: ResultFile): Promise<string | null> {
    if (id === null || lines === 0) return null;
    if (!(await this.steps.goOn(batch.id))) throw new Error('the batch has ended');
    const body = Readable.from(this.lines(batch, { name, lines }), { objectMode: false });
    const { bytes } = await this.store.put(uploadKey(id), body, { contentType: CONTENT_TYPE });
    const { accountId, apiKeyId, resultsKept } = batch;
    const fileName = `${batch.id}_${name}.jsonl`;
    const file = { id, accountId, apiKeyId, contentType: CONTENT_TYPE, bytes, pixels: null, fileName };
    await this.uploads.addResults({ ...file, purpose: 'batch_output' }, resultsKept * 1_000);
    return id;
  }

  /** All or none: whoever ends the batch deletes its lines, and a file that breaks off here is not stored. */
  private async *lines(batch: Batch, { name, lines }: Pick<ResultFile, 'name' | 'lines'>): AsyncGenerator<Buffer> {
    const { id } = batch;
    const size = hasChats(batch) ? PAGE_OF_CHATS : PAGE;
    let after = 0;
    let written = 0;
    for (;;) {
      const page = await this.steps.ended(id, after, size);
      const last = page.at(-1);
      if (last === undefined) break;
      const wanted = page.filter(({ outcome }) => isSuccess(outcome) === (name === 'output'));
      yield Buffer.from(wanted.map((line) => textOf(id, line)).join(''));
      written += wanted.length;
      after = last.line;
      await this.steps.goOn(id);
    }
    if (written !== lines) throw new Error(`${written} of ${lines} lines of the results are left`);
  }
}

function textOf(batchId: string, { line, customId, outcome }: EndedLine): string {
  const id = `batch_req_${batchId.slice('batch_'.length)}_${line}`;
  const { response } = outcome;
  if (typeof response?.body !== 'string') return `${JSON.stringify({ id, custom_id: customId, ...outcome })}\n`;
  // As its provider wrote it: numbers keep their digits.
  const { status_code: status, request_id: requestId, body } = response;
  const head = JSON.stringify({ id, custom_id: customId, response: { status_code: status, request_id: requestId } });
  return `${head.slice(0, -2)},"body":${body}},"error":null}\n`;
}
