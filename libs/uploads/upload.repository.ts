import { Injectable } from '@nestjs/common';
import { lockAccount } from '#accounts/accounts.sql.js';
import { AppError } from '#contract/app-error.js';
import { overloaded } from '#contract/unavailable.js';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { ownerOfKey, uploadKey } from '#storage/object-key.js';
import { countStoredInputs, forgetStoredInputs, storedInputBytes } from '#tasks/retention/stored-inputs.js';

const HOUR_MS = 3_600_000;

/** An uploaded image, or a file of a batch, that was stored. */
export interface NewUpload {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly contentType: string;
  readonly bytes: number;
  /** Width times height as the file declares them; null when unknown. */
  readonly pixels: number | null;
  /** Of a file; absent for a reference image. */
  readonly purpose?: FilePurpose;
  /** Of a file, as its sender calls it. */
  readonly fileName?: string;
}

/** What a file is for: the requests of a batch, or its results. */
type FilePurpose = 'batch' | 'batch_output';

/** A file of a batch. */
export interface StoredFile {
  readonly id: string;
  readonly bytes: number;
  readonly purpose: FilePurpose;
  readonly fileName: string;
  readonly createdAt: Date;
  readonly expiresAt: Date;
}

/** The files that a reader may see: those of its account, or only those of some keys. */
interface FileScope {
  readonly accountId: string;
  readonly own?: { readonly keyIds: readonly string[] } | undefined;
}

/** Which files to list. */
interface FileQuery {
  readonly limit: number;
  /** Id of the last file of the page before. */
  readonly after?: string | undefined;
  readonly purpose?: string | undefined;
  readonly ascending: boolean;
}

/** What is known of an upload without reading it. */
export type KnownUpload = Pick<NewUpload, 'bytes' | 'pixels' | 'contentType'>;

/** Images that were stored with a request, before its task has a row. */
interface NewInputs {
  readonly taskId: string;
  readonly accountId: string;
  readonly bytes: number;
}

/** The limits for all uploads of an account, and for the images that are stored with its requests. */
export interface UploadLimits {
  readonly retentionHours: number;
  /** Most bytes of unexpired uploads and stored reference images per account; 0 = any number. */
  readonly bytesPerAccount: number;
}

/** The rows of uploads. Reads for a caller name an account, and return nothing of other accounts. */
@Injectable()
export class UploadRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** Adds a row. Throws AppError `upload_quota_exceeded` or `server_is_overloaded`; then there is no row. */
  async insert(upload: NewUpload, limits: UploadLimits): Promise<{ createdAt: Date; expiresAt: Date }> {
    const { accountId, bytes } = upload;
    const row = await answered(
      this.prisma.$transaction(async (transaction) => {
        await lockAccount(transaction, accountId);
        const most = limits.bytesPerAccount;
        if (most > 0 && (await keptBytes(transaction, accountId)) + bytes > most) return undefined;
        const createdAt = new Date();
        const expiresAt = new Date(createdAt.getTime() + limits.retentionHours * HOUR_MS);
        return await transaction.upload.create({ data: { ...upload, createdAt, expiresAt } });
      }),
    );
    if (row === undefined) throw quotaExceeded(limits);
    return row;
  }

  /** Checks for quota before the upload is sent. Throws AppError `upload_quota_exceeded` or `server_is_overloaded`. */
  async assertRoom(accountId: string, limits: UploadLimits): Promise<void> {
    if (limits.bytesPerAccount === 0) return;
    const kept = await answered(keptBytes(this.prisma, accountId));
    if (kept >= limits.bytesPerAccount) throw quotaExceeded(limits);
  }

  /**
   * Counts images that were stored with a request, until the task forgets them. Throws AppError `upload_quota_exceeded`
   * or `server_is_overloaded`; then they are not counted, and the caller deletes them.
   */
  async countInputs({ taskId, accountId, bytes }: NewInputs, limits: UploadLimits): Promise<void> {
    const fit = await answered(
      this.prisma.$transaction(async (transaction) => {
        await lockAccount(transaction, accountId);
        const most = limits.bytesPerAccount;
        if (most > 0 && (await keptBytes(transaction, accountId)) + bytes > most) return false;
        await countStoredInputs(transaction, taskId, accountId, bytes);
        return true;
      }),
    );
    if (!fit) throw quotaExceeded(limits);
  }

  /** No longer counts the images of a request that was not accepted. Throws when the database fails. */
  async forgetInputs(taskId: string): Promise<void> {
    await forgetStoredInputs(this.prisma, [taskId]);
  }

  /** The account's unexpired reference images among these, by id. Throws AppError `server_is_overloaded`. */
  async find(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, KnownUpload>> {
    if (ids.length === 0) return new Map();
    const where = { accountId, id: { in: [...ids] }, purpose: null, expiresAt: { gt: new Date() } };
    const rows = await answered(
      this.prisma.upload.findMany({ where, select: { id: true, bytes: true, pixels: true, contentType: true } }),
    );
    return new Map(rows.map(({ id, ...known }) => [id, known]));
  }

  /** Adds a file of results, which no quota refuses, or leaves it as it is. Throws when the database fails. */
  async addResults(file: NewUpload, keptMs: number): Promise<void> {
    const createdAt = new Date();
    const expiresAt = new Date(createdAt.getTime() + keptMs);
    await this.prisma.upload.createMany({ data: [{ ...file, createdAt, expiresAt }], skipDuplicates: true });
  }

  /** A file that its reader may see and that has not expired. Throws AppError `server_is_overloaded`. */
  async file(scope: FileScope, id: string): Promise<StoredFile | undefined> {
    const row = await answered(this.prisma.upload.findFirst({ where: { ...filesOf(scope), id } }));
    return row === null ? undefined : toFile(row);
  }

  /** The account's files among these that have not expired, by id. Throws AppError `server_is_overloaded`. */
  async filesAmong(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, StoredFile>> {
    const where = { ...filesOf({ accountId }), id: { in: [...ids] } };
    const rows = await answered(this.prisma.upload.findMany({ where }));
    return new Map(rows.map((row) => [row.id, toFile(row)]));
  }

  /** Files that their reader may see, newest first unless `ascending`. Throws AppError `server_is_overloaded`. */
  async files(
    scope: FileScope,
    { limit, after, purpose, ascending }: FileQuery,
  ): Promise<{ readonly files: StoredFile[]; readonly hasMore: boolean }> {
    const from = after === undefined ? {} : { id: ascending ? { gt: after } : { lt: after } };
    const where = { ...filesOf(scope), ...from, ...(purpose !== undefined && { purpose }) };
    const orderBy = { id: ascending ? ('asc' as const) : ('desc' as const) };
    const rows = await answered(this.prisma.upload.findMany({ where, orderBy, take: limit + 1 }));
    return { files: rows.slice(0, limit).map(toFile), hasMore: rows.length > limit };
  }

  /** Whether there was such a file, which is now gone; its object is left. Throws AppError `server_is_overloaded`. */
  async removeFile(scope: FileScope, id: string): Promise<boolean> {
    const { count } = await answered(this.prisma.upload.deleteMany({ where: { ...filesOf(scope), id } }));
    return count > 0;
  }

  /** The object keys that belong to an upload. Throws when the database fails. */
  async known(keys: readonly string[]): Promise<ReadonlySet<string>> {
    const ids = [...new Set(keys.map((key) => ownerOfKey(key).id))];
    const rows = await this.prisma.upload.findMany({ where: { id: { in: ids } }, select: { id: true } });
    return new Set(rows.map(({ id }) => uploadKey(id)));
  }

  /** Ids of uploads that expired before a time, the oldest first. */
  async expired(before: Date, limit: number): Promise<string[]> {
    const where = { expiresAt: { lt: before } };
    const orderBy = { expiresAt: 'asc' as const };
    const rows = await this.prisma.upload.findMany({ where, orderBy, take: limit, select: { id: true } });
    return rows.map(({ id }) => id);
  }

  /** When the oldest of the uploads expired that expired before a time; undefined when there is none. */
  async oldestExpired(before: Date): Promise<Date | undefined> {
    const where = { expiresAt: { lt: before } };
    const orderBy = { expiresAt: 'asc' as const };
    return (await this.prisma.upload.findFirst({ where, orderBy, select: { expiresAt: true } }))?.expiresAt;
  }

  /** A page of all uploads, by id. */
  async page(after: string, limit: number): Promise<string[]> {
    const where = { id: { gt: after } };
    const orderBy = { id: 'asc' as const };
    const rows = await this.prisma.upload.findMany({ where, orderBy, take: limit, select: { id: true } });
    return rows.map(({ id }) => id);
  }

  async remove(ids: readonly string[]): Promise<void> {
    await this.prisma.upload.deleteMany({ where: { id: { in: [...ids] } } });
  }
}

function filesOf({ accountId, own }: FileScope) {
  const keys = own === undefined ? {} : { apiKeyId: { in: inList(own.keyIds) } };
  return { accountId, ...keys, purpose: { not: null }, expiresAt: { gt: new Date() } };
}

function toFile(
  row: Omit<StoredFile, 'purpose' | 'fileName'> & { purpose: string | null; fileName: string | null },
): StoredFile {
  const { id, bytes, createdAt, expiresAt, fileName } = row;
  return { id, bytes, createdAt, expiresAt, fileName: fileName ?? '', purpose: row.purpose as FilePurpose };
}

/** Bytes of an account's uploads that have not expired, and of the images that are stored with its requests. */
async function keptBytes(database: Pick<PrismaService, 'upload' | 'storedInputs'>, accountId: string): Promise<number> {
  const where = { accountId, expiresAt: { gt: new Date() } };
  const { _sum: sum } = await database.upload.aggregate({ where, _sum: { bytes: true } });
  return (sum.bytes ?? 0) + (await storedInputBytes(database, accountId));
}

function quotaExceeded({ bytesPerAccount }: UploadLimits): AppError {
  const most = `${bytesPerAccount / 1e6} MB`;
  return new AppError(
    'upload_quota_exceeded',
    `The unexpired uploads and stored reference images of this account are limited to ${most}.`,
  );
}

async function answered<T>(answer: Promise<T>): Promise<T> {
  return answer.catch((cause: unknown) => {
    throw overloaded(cause);
  });
}
