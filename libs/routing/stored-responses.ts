import { Injectable } from '@nestjs/common';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';
import { upsertResponses, type StoredResponseRow } from './stored-responses.sql.js';

export type { StoredResponseRow };

/** How long OpenAI stores a response. */
export const RESPONSE_DAYS = 30;
const BATCH = 1_000;

/** The provider that holds a response, and its key. */
export interface ResponseHolder {
  readonly provider: string;
  /** Name of the key; null for a server without keys. */
  readonly providerKey: string | null;
  /** Name of the server; null for a provider without a list of them. */
  readonly providerServer: string | null;
}

/** A response that a provider stores. */
export interface StoredResponse extends ResponseHolder {
  /** The name that the caller used. */
  readonly model: string;
  /** What a response that continues it begins with. */
  readonly tokens: number;
}

/** Whose responses may be read: those of an account, or only those of some of its keys. */
interface ResponseScope {
  readonly accountId: string;
  readonly own?: { readonly keyIds: readonly string[] } | undefined;
}

/** Which provider holds which response, for all processes. */
@Injectable()
export class StoredResponses {
  constructor(
    private readonly prisma: PrismaService,
    private readonly logger: Logger,
  ) {}

  /** The last row of a response counts. */
  async put(rows: readonly StoredResponseRow[]): Promise<void> {
    const last = new Map(rows.map((row) => [`${row.account_id}\n${row.id}`, row]));
    await upsertResponses(this.prisma.pool, [...last.values()]);
  }

  /** Undefined when it is unknown, expired, or not the reader's. */
  async find({ accountId, own }: ResponseScope, id: string): Promise<StoredResponse | undefined> {
    const keys = own === undefined ? {} : { apiKeyId: { in: inList(own.keyIds) } };
    const found = await this.prisma.storedResponse.findUnique({
      where: { accountId_id: { accountId, id }, expiresAt: { gt: new Date() }, ...keys },
      select: { model: true, provider: true, providerKey: true, providerServer: true, tokens: true },
    });
    return found ?? undefined;
  }

  /** When the oldest expired row became due for deletion; undefined when none is due. */
  async dueSince(): Promise<Date | undefined> {
    return (await this.oldestDue(new Date(), 0))?.expiresAt;
  }

  /** Removes all expired rows, in batches. Throws when the database fails; the next run continues. */
  async expire(): Promise<void> {
    const now = new Date();
    let last: { expiresAt: Date } | null;
    do {
      last = await this.oldestDue(now, BATCH - 1);
      const expiresAt = { lte: last?.expiresAt ?? now };
      const { count } = await this.prisma.storedResponse.deleteMany({ where: { expiresAt } });
      if (count > 0) this.logger.info('retention.responses_deleted', { count });
    } while (last !== null);
  }

  private async oldestDue(now: Date, skip: number): Promise<{ expiresAt: Date } | null> {
    const where = { expiresAt: { lte: now } };
    const orderBy = { expiresAt: 'asc' as const };
    return await this.prisma.storedResponse.findFirst({ where, orderBy, skip, select: { expiresAt: true } });
  }
}
