import { Inject, Injectable } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import type { UploadResponse } from '#contract/upload-response.js';
import { MAX_KEPT_IMAGE_BYTES } from '#images/limits.js';
import { contentTypeOf } from '#images/sniff.js';
import { uploadKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { LinkSigner } from '#storage/signed-link.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { newUploadId } from '#tasks/row/task-id.js';
import { UploadRepository } from '#uploads/upload.repository.js';
import { callerOf, type Caller } from '../auth/caller.js';
import { BodyReservation, BodyMemory } from '../common/fastify/body-memory.js';
import { sourceOf } from '../common/source-of.js';
import { formsOnly } from '../common/fastify/accept-bodies.js';
import { PixelWatch } from '../images/pixel-watch.js';
import { storeInput } from '../images/store-input.js';
import { FILE_PART, readUploadForm } from './upload-form.js';
import { UploadsConfig } from '../common/uploads.config.js';

/** The file, and room for the rest of the form. */
const MAX_FORM_BYTES = MAX_KEPT_IMAGE_BYTES + 1_048_576;
/** The response to an upload, and the names of ignored parts. */
export interface KeptImage {
  readonly answer: UploadResponse;
  readonly ignored: readonly string[];
}

/** Stores an image that its account can reference in later requests. */
@Injectable()
export class KeepImage {
  constructor(
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly uploads: UploadRepository,
    private readonly signer: LinkSigner,
    private readonly config: UploadsConfig,
    private readonly memory: BodyMemory,
  ) {}

  /**
   * Rejects an upload before it is sent when the account's quota is full. Throws AppError `upload_quota_exceeded` or
   * `server_is_overloaded`.
   */
  async assertRoom({ accountId }: Caller): Promise<void> {
    await this.uploads.assertRoom(accountId, this.config);
  }

  /** `signal` aborts an upload when the caller disconnects. Throws AppError, and then leaves nothing behind. */
  async keep(request: FastifyRequest, signal: AbortSignal): Promise<KeptImage> {
    const { accountId, keyId: apiKeyId } = callerOf(request);
    // A body of another type is rejected earlier; this covers an empty request without a type.
    if (!/^multipart\/form-data\b/i.test(request.headers['content-type'] ?? '')) throw formsOnly();
    const id = newUploadId();
    const key = uploadKey(id);
    const hold = new BodyReservation(this.memory, sourceOf(request));
    const watch = new PixelWatch(FILE_PART);
    const source = { payload: request.raw, maxBytes: MAX_FORM_BYTES, hold };
    try {
      const { stored, fileName, ignored } = await readUploadForm(source, tooLarge, (stream) =>
        storeInput(this.store, stream as AsyncIterable<Buffer>, {
          key,
          param: FILE_PART,
          limit: { bytes: MAX_KEPT_IMAGE_BYTES, error: tooLarge },
          signal,
          watch,
          mustBeWhole: true,
        }),
      );
      signal.throwIfAborted();
      const contentType = contentTypeOf(stored.type);
      const { createdAt, expiresAt } = await this.uploads.insert(
        { id, accountId, apiKeyId, contentType, bytes: stored.bytes, pixels: watch.pixels ?? null },
        this.config,
      );
      const answer = {
        id,
        url: this.signer.signUpload(id, Math.floor(expiresAt.getTime() / 1_000)),
        filename: fileName,
        content_type: contentType,
        bytes: stored.bytes,
        created_at: Math.floor(createdAt.getTime() / 1_000),
      };
      return { answer, ignored };
    } catch (error) {
      // An object that can't be deleted now is collected as an orphan.
      await this.store.delete(key).catch(() => undefined);
      throw error;
    }
  }
}

function tooLarge(): AppError {
  return new AppError('request_too_large', `file is larger than ${MAX_KEPT_IMAGE_BYTES / 1e6} MB`, {
    param: FILE_PART,
  });
}
