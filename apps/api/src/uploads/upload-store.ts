import { AppError } from '#contract/app-error.js';
import type { Database } from '#database/database.js';
import type { Caller } from '../auth/caller.js';

/** An image that was stored to be kept. */
export interface NewUpload {
  readonly id: string;
  readonly contentType: string;
  readonly bytes: number;
}

/** The rows of kept images. Whoever asks names an account, and sees nothing of another's. */
export class UploadStore {
  constructor(private readonly database: Database) {}

  /** Throws AppError `server_is_overloaded`; then there is no row. */
  async insert(upload: NewUpload, caller: Caller, hours: number): Promise<{ createdAt: Date; expiresAt: Date }> {
    const { rows } = await this.query<{ created_at: Date; expires_at: Date }>(
      `INSERT INTO uploads (id, account_id, api_key_id, content_type, bytes, expires_at)
       VALUES ($1, $2, $3, $4, $5, now() + $6 * interval '1 hour') RETURNING created_at, expires_at`,
      [upload.id, caller.accountId, caller.keyId, upload.contentType, upload.bytes, hours],
    );
    const row = rows[0];
    if (row === undefined) throw new Error('the database did not answer with the row');
    return { createdAt: row.created_at, expiresAt: row.expires_at };
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
    return this.database.pool.query<T>(text, values).catch((cause: unknown) => {
      throw new AppError('server_is_overloaded', 'The service cannot take requests right now.', {
        retryAfter: 2,
        cause,
      });
    });
  }
}
