import { Inject, Injectable } from '@nestjs/common';
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import { uploadKey } from '#storage/object-key.js';
import { StorageError, type ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { newFileId } from '#tasks/row/task-id.js';
import { UploadRepository, type StoredFile } from '#uploads/upload.repository.js';
import { callerOf } from '../auth/caller.js';
import { formsOnly } from '../common/fastify/accept-bodies.js';
import { BodyMemory, BodyReservation } from '../common/fastify/body-memory.js';
import { discardRest } from '../common/request-stream.js';
import { sourceOf } from '../common/source-of.js';
import { UploadsConfig } from '../common/uploads.config.js';
import { FILE_PART, readUploadForm } from '../uploads/upload-form.js';
import { DEFAULT_KEPT_SECONDS, keptSeconds } from './file-lifetime.js';

/** OpenAI's limit. */
const MAX_FILE_BYTES = 200_000_000;
/** The file, and room for the rest of the form. */
const MAX_FORM_BYTES = MAX_FILE_BYTES + 1_048_576;
const CONTENT_TYPE = 'application/jsonl';
const TEXTS = ['purpose', 'expires_after[anchor]', 'expires_after[seconds]'] as const;
type Texts = ReadonlyMap<string, string>;

/** Stores the input file of a batch as it arrives. */
@Injectable()
export class KeepFile {
  constructor(
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly uploads: UploadRepository,
    private readonly config: UploadsConfig,
    private readonly memory: BodyMemory,
  ) {}

  /**
   * The file, and the names of ignored parts. `signal` aborts when the caller disconnects. Throws AppError, and then
   * leaves nothing behind.
   */
  async keep(
    request: FastifyRequest,
    signal: AbortSignal,
  ): Promise<{ readonly file: StoredFile; readonly ignored: readonly string[] }> {
    const { accountId, keyId: apiKeyId } = callerOf(request);
    // Before a file is sent in vain.
    await this.uploads.assertRoom(accountId, this.config).catch((error: unknown) => {
      discardRest(request.raw);
      throw error;
    });
    if (!/^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '')) throw formsOnly();
    const id = newFileId();
    const key = uploadKey(id);
    const hold = new BodyReservation(this.memory, sourceOf(request));
    const source = { payload: request.raw, maxBytes: MAX_FORM_BYTES, hold };
    const put = (stream: Readable) => this.put(key, stream as AsyncIterable<Buffer>, signal);
    try {
      const { stored, fileName, texts, ignored } = await readUploadForm(source, tooLarge, put, TEXTS);
      signal.throwIfAborted();
      assertPurpose(texts.get('purpose'));
      const file = { id, bytes: stored, purpose: 'batch' as const, fileName };
      const row = { ...file, accountId, apiKeyId, contentType: CONTENT_TYPE, pixels: null };
      const limits = { ...this.config, retentionHours: secondsIn(texts) / 3_600 };
      return { file: { ...file, ...(await this.uploads.insert(row, limits)) }, ignored };
    } catch (error) {
      // An object that can't be deleted now is collected as an orphan.
      await this.store.delete(key).catch(() => undefined);
      throw error;
    }
  }

  private async put(key: string, stream: AsyncIterable<Buffer>, signal: AbortSignal): Promise<number> {
    const body = Readable.from(withinLimit(stream), { objectMode: false });
    const { bytes } = await this.store.put(key, body, { contentType: CONTENT_TYPE, signal }).catch((cause: unknown) => {
      if (!(cause instanceof StorageError)) throw cause;
      throw unavailable('Files cannot be stored right now. Please try again shortly.', { retryAfter: 5, cause });
    });
    if (bytes === 0) throw new AppError('invalid_value', 'file is empty', { param: FILE_PART });
    return bytes;
  }
}

async function* withinLimit(pieces: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let bytes = 0;
  for await (const piece of pieces) {
    bytes += piece.length;
    if (bytes > MAX_FILE_BYTES) throw tooLarge();
    yield piece;
  }
}

function assertPurpose(purpose: string | undefined): void {
  if (purpose === 'batch') return;
  const param = 'purpose';
  if (purpose === undefined)
    throw new AppError('missing_required_parameter', "Missing required parameter: 'purpose'.", { param });
  const images = 'Upload images to /v1/uploads/images: requests take their IDs as file_id.';
  throw new AppError('invalid_value', `purpose must be batch. ${images}`, { param });
}

function secondsIn(texts: Texts): number {
  const anchor = texts.get('expires_after[anchor]');
  const seconds = texts.get('expires_after[seconds]');
  if (anchor === undefined && seconds === undefined) return DEFAULT_KEPT_SECONDS;
  const number = seconds !== undefined && /^\d{1,9}$/.test(seconds) ? Number(seconds) : seconds;
  return keptSeconds({ anchor, seconds: number }, 'expires_after');
}

function tooLarge(): AppError {
  const text = `file is larger than ${MAX_FILE_BYTES / 1e6} MB`;
  return new AppError('request_too_large', text, { param: FILE_PART });
}
