import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { PrismaService } from '#database/prisma.service.js';
import { inTransaction } from '#database/in-transaction.js';
import type { Caller } from '../auth/caller.js';
import { UploadsConfig } from './uploads.config.js';

/** An image that was stored to be kept. */
export interface NewUpload {
  readonly id: string;
  readonly contentType: string;
  readonly bytes: number;
}

/** Bytes of an account's uploads that have not expired. */
const KEPT = 'SELECT COALESCE(sum(bytes), 0)::bigint FROM uploads WHERE account_id = $1 AND expires_at > now()';

/** The rows of kept images. Whoever asks names an account, and sees nothing of another's. */
@Injectable()
export class UploadStore {
  /** Bytes an account may have that have not expired; 0 = any number. */
  private readonly bytesPerAccount: number;

  constructor(
    private readonly prisma: PrismaService,
    config: UploadsConfig,
  ) {
    this.bytesPerAccount = config.bytesPerAccount;
  }

  /** Throws AppError `upload_quota_exceeded` or `server_is_overloaded`; then there is no row. */
  async insert(upload: NewUpload, caller: Caller, hours: number): Promise<{ createdAt: Date; expiresAt: Date }> {
    const row = await this.answered(
      inTransaction(this.prisma.pool, async (client) => {
        // Of two uploads at once the second must count the first.
        await client.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [caller.accountId]);
        const { rows } = await client.query<{ created_at: Date; expires_at: Date }>(
          `INSERT INTO uploads (account_id, id, api_key_id, content_type, bytes, expires_at)
           SELECT $1, $2, $3, $4, $5::int, now() + $6 * interval '1 hour'
           WHERE $7::bigint = 0 OR (${KEPT}) + $5::int <= $7::bigint RETURNING created_at, expires_at`,
          [
            ...[caller.accountId, upload.id, caller.keyId, upload.contentType, upload.bytes, hours],
            this.bytesPerAccount,
          ],
        );
        return rows[0];
      }),
    );
    if (row === undefined) throw this.quotaExceeded();
    return { createdAt: row.created_at, expiresAt: row.expires_at };
  }

  /** Spares an account without any room the sending. Throws AppError `upload_quota_exceeded` or `server_is_overloaded`. */
  async assertRoom({ accountId }: Caller): Promise<void> {
    if (this.bytesPerAccount === 0) return;
    const { rows } = await this.query<{ kept: string }>(`SELECT (${KEPT}) AS kept`, [accountId]);
    if (Number(rows[0]?.kept) >= this.bytesPerAccount) throw this.quotaExceeded();
  }

  /** Bytes of those of the uploads that are the account's and not over, by id. Throws AppError `server_is_overloaded`. */
  async find(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string, number>> {
    if (ids.length === 0) return new Map();
    const { rows } = await this.query<{ id: string; bytes: number }>(
      'SELECT id, bytes FROM uploads WHERE account_id = $1 AND id = ANY($2) AND expires_at > now()',
      [accountId, ids],
    );
    return new Map(rows.map(({ id, bytes }) => [id, bytes]));
  }

  private async query<T extends object>(text: string, values: unknown[]): Promise<{ rows: T[] }> {
    return this.answered(this.prisma.pool.query<T>(text, values));
  }

  private quotaExceeded(): AppError {
    const most = `${this.bytesPerAccount / 1e6} MB`;
    return new AppError('upload_quota_exceeded', `The uploads of this account may take ${most} until they expire.`);
  }

  private async answered<T>(answer: Promise<T>): Promise<T> {
    return answer.catch((cause: unknown) => {
      throw new AppError('server_is_overloaded', 'The service cannot take requests right now.', {
        retryAfter: 2,
        cause,
      });
    });
  }
}
