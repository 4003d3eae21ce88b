import { Inject, Injectable } from '@nestjs/common';
import { BatchRepository } from '#batches/batch.repository.js';
import { hasChats, type Batch, type BatchScope, type LineOutcome } from '#batches/batch.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { AppError } from '#contract/app-error.js';
import { decimalOf } from '#contract/money.js';
import { uploadKey } from '#storage/object-key.js';
import type { ObjectStore } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import { UploadRepository, type StoredFile } from '#uploads/upload.repository.js';
import { rawLines } from '../../batches/raw-lines.js';
import { missingFile } from '../../batches/send-file.js';
import type {
  BatchFileName,
  ConsoleBatchPage,
  ConsoleBatchRow,
  ConsoleBatchView,
  FailedLineView,
} from './dto/batch-views.dto.js';

const MAX_FAILED = 20;

/** What is shown of a failed line, wherever it is kept. */
interface FailedLine {
  readonly customId: string;
  readonly outcome: LineOutcome;
}

type Files = ReadonlyMap<string, StoredFile>;

/** Batches as the users of their account see them. */
@Injectable()
export class ShownBatches {
  constructor(
    private readonly batches: BatchRepository,
    private readonly uploads: UploadRepository,
    private readonly catalogs: CatalogSource,
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
  ) {}

  async list(scope: BatchScope, page: { limit: number; after?: string | undefined }): Promise<ConsoleBatchPage> {
    const { batches, hasMore } = await this.batches.list(scope, page);
    const inputs = await this.uploads.filesAmong(
      scope.accountId,
      batches.map(({ inputFileId }) => inputFileId),
    );
    const data = batches.map((batch) => this.row(batch, inputs));
    return { data, has_more: hasMore, next: hasMore ? (batches.at(-1)?.id ?? null) : null };
  }

  /** Throws AppError `not_found` when the scope has no such batch. */
  async find(scope: BatchScope, id: string): Promise<ConsoleBatchView> {
    return await this.view(known(await this.batches.find(scope, id)));
  }

  /** Throws the same. */
  async cancel(scope: BatchScope, id: string): Promise<ConsoleBatchView> {
    return await this.view(known(await this.batches.cancel(scope, id)));
  }

  /** Throws the same, and `file_not_found`. */
  async file(scope: BatchScope, id: string, name: BatchFileName): Promise<StoredFile> {
    const batch = known(await this.batches.find(scope, id));
    const fileId = idsOf(batch)[name];
    const file = fileId === null ? undefined : (await this.uploads.filesAmong(batch.accountId, [fileId])).get(fileId);
    if (file === undefined) throw missingFile();
    return file;
  }

  private async view(batch: Batch): Promise<ConsoleBatchView> {
    const ids = idsOf(batch);
    const known = Object.values(ids).flatMap((id) => (id === null ? [] : [id]));
    const files = await this.uploads.filesAmong(batch.accountId, known);
    const names = (Object.keys(ids) as BatchFileName[]).filter((name) => files.has(ids[name] ?? ''));
    return {
      ...this.row(batch, files),
      problems: [...(batch.problems ?? [])],
      failed_lines: (await this.failedLines(batch, files)).map(failedLineView),
      files: names,
    };
  }

  private row(batch: Batch, files: Files): ConsoleBatchRow {
    const { currency } = this.catalogs.current;
    return {
      id: batch.id,
      status: batch.status,
      endpoint: batch.endpoint,
      file_name: files.get(batch.inputFileId)?.fileName ?? null,
      total: batch.total,
      completed: batch.completed,
      failed: batch.failed,
      spent: hasChats(batch) ? null : { amount: decimalOf(Number(batch.spentMicros)), currency },
      created_at: batch.createdAt.toISOString(),
      expires_at: batch.expiresAt.toISOString(),
      ended_at: batch.endedAt?.toISOString() ?? null,
    };
  }

  /** From the rows of the lines while there are any, and then from the file of errors. */
  private async failedLines(batch: Batch, files: Files): Promise<FailedLine[]> {
    if (batch.failed === 0) return [];
    if (batch.endedAt === null) return await this.batches.failedLines(batch.id, MAX_FAILED);
    const file = files.get(batch.errorFileId ?? '');
    if (file === undefined) return [];
    const { stream } = await this.store.open(uploadKey(file.id));
    const failed: FailedLine[] = [];
    // Ends the stream, too.
    for await (const { text } of rawLines(stream as AsyncIterable<Buffer>, Infinity)) {
      const { custom_id: customId, ...outcome } = JSON.parse(String(text)) as LineOutcome & { custom_id: string };
      failed.push({ customId, outcome });
      if (failed.length === MAX_FAILED) break;
    }
    return failed;
  }
}

function idsOf({ endedAt, inputFileId, outputFileId, errorFileId }: Batch): Record<BatchFileName, string | null> {
  // The files of results are named before they are written.
  const isWritten = endedAt !== null;
  return { input: inputFileId, output: isWritten ? outputFileId : null, errors: isWritten ? errorFileId : null };
}

function failedLineView({ customId, outcome: { response, error } }: FailedLine): FailedLineView {
  const body: unknown = typeof response?.body === 'string' ? JSON.parse(response.body) : response?.body;
  const told = error ?? (body as { readonly error?: ErrorShape } | null | undefined)?.error;
  // A chat's error is its provider's, of any shape.
  const { code, message } = typeof told === 'object' ? told : {};
  return {
    custom_id: customId,
    code: typeof code === 'string' ? code : 'error',
    message: typeof message === 'string' ? message : 'The request failed.',
  };
}

interface ErrorShape {
  readonly code?: unknown;
  readonly message?: unknown;
}

function known(batch: Batch | undefined): Batch {
  if (batch === undefined) throw new AppError('not_found', 'There is no batch with this ID.', { param: 'id' });
  return batch;
}
