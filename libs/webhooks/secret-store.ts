import { Inject, Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import { ulid } from 'ulid';
import { POOL, type Queryable } from '#database/queryable.js';
import { TextSealer, type SealedText } from '#secrets/sealed-text.js';

/** For the TextSealer of this store. */
export const WEBHOOK_SECRETS = 'webhook secrets';
const SECRET_BYTES = 32;

/** A signing secret as its owner sees it. */
export interface WebhookSecret {
  readonly id: string;
  /** `whsec_` and base64. */
  readonly secret: string;
  readonly createdAt: Date;
  /** When it stops being valid; null for the current one. */
  readonly expiresAt: Date | null;
}

interface SecretRow extends SealedText {
  readonly id: string;
  readonly createdAt: Date;
  readonly expiresAt: Date | null;
}

const COLUMNS = `id, key_id AS "keyId", sealed, created_at AS "createdAt", expires_at AS "expiresAt"`;

/** The signing secrets of accounts: one that is current, and after a rotation the one before it for a while. */
@Injectable()
export class WebhookSecretStore {
  constructor(
    @Inject(POOL) private readonly database: Queryable,
    private readonly sealer: TextSealer,
  ) {}

  /** The secrets that are valid now, the current one first; an account that has none gets one. Throws UnreadableSecret. */
  async valid(accountId: string): Promise<[WebhookSecret, ...WebhookSecret[]]> {
    let rows = await this.read(accountId);
    if (rows[0]?.expiresAt !== null) {
      // Of two processes that do this at once one writes; both read what was written.
      await this.makeFirst(accountId);
      rows = await this.read(accountId);
    }
    const [current, ...older] = await Promise.all(rows.map((row) => this.open(accountId, row)));
    if (current === undefined) throw new Error('the account has no webhook secret');
    return [current, ...older];
  }

  /**
   * Makes a new secret. The one before stays valid for `overlapMs`; one that was on its way out ends at once, so that
   * there are never more than two. Throws when another rotation of the account happens at the same moment.
   */
  async rotate(accountId: string, overlapMs: number): Promise<WebhookSecret> {
    const { id, secret, sealed } = this.make();
    const { rows } = await this.database.query<{ createdAt: Date }>(
      `WITH ended AS (
        UPDATE webhook_secrets
        SET expires_at = CASE WHEN expires_at IS NULL THEN now() + $5 * interval '1 millisecond' ELSE now() END
        WHERE account_id = $2 AND (expires_at IS NULL OR expires_at > now()) RETURNING 1)
      INSERT INTO webhook_secrets (id, account_id, key_id, sealed)
      SELECT $1, $2, $3, $4 FROM (SELECT count(*) FROM ended) AS counted RETURNING created_at AS "createdAt"`,
      [id, accountId, sealed.keyId, sealed.sealed, overlapMs],
    );
    return { id, secret, createdAt: rows[0]?.createdAt ?? new Date(), expiresAt: null };
  }

  private async read(accountId: string): Promise<SecretRow[]> {
    const { rows } = await this.database.query<SecretRow>(
      `SELECT ${COLUMNS} FROM webhook_secrets WHERE account_id = $1 AND (expires_at IS NULL OR expires_at > now())
       ORDER BY expires_at DESC NULLS FIRST`,
      [accountId],
    );
    return rows;
  }

  private async makeFirst(accountId: string): Promise<void> {
    const { id, sealed } = this.make();
    await this.database.query(
      `INSERT INTO webhook_secrets (id, account_id, key_id, sealed) VALUES ($1, $2, $3, $4)
       ON CONFLICT (account_id) WHERE expires_at IS NULL DO NOTHING`,
      [id, accountId, sealed.keyId, sealed.sealed],
    );
  }

  private make(): { id: string; secret: string; sealed: SealedText } {
    const id = `whs_${ulid()}`;
    const secret = `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`;
    return { id, secret, sealed: this.sealer.seal(id, secret) };
  }

  /** A secret under the previous SECRET_KEY is sealed anew, so that this key can go one day. */
  private async open(accountId: string, row: SecretRow): Promise<WebhookSecret> {
    const { id, createdAt, expiresAt } = row;
    const secret = this.sealer.open(id, row);
    if (this.sealer.isOutdated(row)) {
      const { keyId, sealed } = this.sealer.seal(id, secret);
      await this.database.query(
        'UPDATE webhook_secrets SET key_id = $3, sealed = $4 WHERE id = $1 AND account_id = $2 AND key_id = $5',
        [id, accountId, keyId, sealed, row.keyId],
      );
    }
    return { id, secret, createdAt, expiresAt };
  }
}
