import { Injectable } from '@nestjs/common';
import { decodeTime, encodeTime, monotonicFactory } from 'ulid';
import { definedFields, jsonOf, objectOf } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Transaction } from '#database/queryable.js';
import { lockAccount } from './accounts.sql.js';
import type { AuditAction } from './audit-actions.js';

const BATCH = 1_000;
const DAY_MS = 86_400_000;
/** What users can repeat at will, and what changes nothing, makes one entry in this time. */
const QUIET_MS = 900_000;
const PREFIX = 'audit_';
/** The largest time of a ULID. */
const LAST_TIME = 2 ** 48 - 1;

/** One change may write several entries in the same millisecond; monotonic ids keep their order. */
const nextId = monotonicFactory();

/** An action to record. */
export interface AuditEvent {
  readonly accountId: string;
  /** Null when it was not done by a person of the account; commands add `via: 'command'` to the details. */
  readonly personId: string | null;
  readonly action: AuditAction;
  readonly target?: string;
  /** Enough to describe it later, including names as they were then; never a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
}

interface Retention {
  readonly auditLogRetentionDays: number;
}

type Actor = Pick<AuditEvent, 'accountId' | 'personId'>;

/** An entry of the audit log as the API shows it. */
export interface AuditEntry {
  readonly id: string;
  /** Null when it was not done by a person of the account. */
  readonly person: { readonly id: string; readonly name: string; readonly email: string } | null;
  /** An AuditAction of this version or of another. */
  readonly action: string;
  readonly target: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
}

/** One page, newest first; `hasMore`: whether older entries match. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly hasMore: boolean;
}

/** Filter of an account's log; absent fields match everything. */
export interface AuditQuery {
  /** Id of the last entry of the previous page. */
  readonly after?: string | undefined;
  /** Id of a person, or NO_USER. */
  readonly who?: string | undefined;
  readonly actions?: readonly string[] | undefined;
  /** Recorded at or after this time, and before the second one. */
  readonly since?: Date | undefined;
  readonly until?: Date | undefined;
  readonly limit: number;
}

/** Stands for everything that no person of the account did. */
const NO_USER = 'nobody';

/** The audit log. Entries never change, and are removed when their retention has ended. */
@Injectable()
export class AuditLog {
  constructor(private readonly prisma: PrismaService) {}

  /** `transaction`: the one of what the event is about, if there is one. */
  async write(event: AuditEvent, transaction?: Transaction): Promise<void> {
    await this.insert(transaction ?? this.prisma, event);
  }

  /** Records an action of a signed-in user. */
  async record(by: Actor, action: AuditAction, target?: string, details: object = {}): Promise<void> {
    const { accountId, personId } = by;
    await this.write({ accountId, personId, action, ...(target !== undefined && { target }), details: { ...details } });
  }

  /**
   * Like `record`, for what a user can repeat at will, such as exports: the same action of the same user on the same
   * target makes one entry in 15 minutes, so that other entries are not pushed out of view.
   */
  async recordOnce(by: Actor, action: AuditAction, target?: string, details: object = {}): Promise<void> {
    const { accountId, personId } = by;
    const event = { accountId, personId, action, ...(target !== undefined && { target }), details: { ...details } };
    await this.writeOncePer(event, QUIET_MS);
  }

  /** Like `write`, but skips an action of the same user on the same target recorded within the last `quietMs`. */
  async writeOncePer(event: AuditEvent, quietMs: number): Promise<void> {
    const { accountId, personId, action, target = null } = event;
    const since = PREFIX + encodeTime(Date.now() - quietMs);
    const where = { accountId, personId, id: { gt: since }, action, target };
    if ((await this.prisma.auditEntry.findFirst({ where })) !== null) return;
    await this.prisma.$transaction(async (transaction) => {
      // Otherwise simultaneous events would each find nothing, and each write an entry.
      await lockAccount(transaction, accountId);
      if ((await transaction.auditEntry.findFirst({ where })) === null) await this.insert(transaction, event);
    });
  }

  /** When the oldest entry became due for deletion; undefined when none is due. */
  async dueSince({ auditLogRetentionDays }: Retention): Promise<Date | undefined> {
    const oldest = await this.prisma.auditEntry.findFirst({
      where: { id: { lt: idOfDaysAgo(auditLogRetentionDays) } },
      orderBy: { id: 'asc' },
      select: { id: true },
    });
    return oldest === null
      ? undefined
      : new Date(decodeTime(oldest.id.slice(PREFIX.length)) + auditLogRetentionDays * DAY_MS);
  }

  /** Removes expired entries; their ids begin with their time. Throws when the database fails. */
  async expire({ auditLogRetentionDays }: Retention): Promise<void> {
    const before = idOfDaysAgo(auditLogRetentionDays);
    const { auditEntry } = this.prisma;
    const oldest = { orderBy: { id: 'asc' }, skip: BATCH - 1, select: { id: true } } as const;
    let last: { readonly id: string } | null;
    do {
      last = await auditEntry.findFirst({ where: { id: { lt: before } }, ...oldest });
      // A range of the index: with a limit, the planner may join the batch with the whole table.
      await auditEntry.deleteMany({ where: { id: last === null ? { lt: before } : { lte: last.id } } });
    } while (last !== null);
  }

  /** One page of an account's entries, newest first. */
  async list(accountId: string, { after, who, actions, since, until, limit }: AuditQuery): Promise<AuditPage> {
    // Ids begin with their time, and every index ends with them.
    const ends = [after, until && idOf(until)].filter((end) => end !== undefined).sort();
    const rows = await this.prisma.auditEntry.findMany({
      where: {
        accountId,
        id: definedFields({ gte: since && idOf(since), lt: ends[0] }),
        ...(who !== undefined && { personId: who === NO_USER ? null : who }),
        ...(actions !== undefined && { action: { in: [...actions] } }),
      },
      orderBy: { id: 'desc' },
      take: limit + 1,
    });
    const ids = new Set(rows.flatMap(({ personId }) => personId ?? []));
    const people = await this.prisma.person.findMany({
      where: { id: { in: [...ids] } },
      select: { id: true, name: true, email: true, deletedAt: true },
    });
    const byId = new Map(
      // Deleted people no longer have an address.
      people.map(({ deletedAt, email, ...person }) => [
        person.id,
        { ...person, email: deletedAt === null ? email : '' },
      ]),
    );
    const entries = rows.slice(0, limit).map(({ id, personId, action, target, details, createdAt }) => ({
      id,
      action,
      target,
      createdAt,
      person: byId.get(personId ?? '') ?? null,
      details: objectOf(details),
    }));
    return { entries, hasMore: rows.length > limit };
  }

  private async insert(
    client: Pick<PrismaService, 'auditEntry'>,
    { accountId, personId, action, target, details = {} }: AuditEvent,
  ): Promise<void> {
    await client.auditEntry.create({
      data: {
        id: PREFIX + nextId(),
        accountId,
        personId,
        action,
        target: target ?? null,
        details: jsonOf(details),
      },
    });
  }
}

/** The id that an entry of so many days ago would begin with. */
function idOfDaysAgo(days: number): string {
  return idOf(new Date(Date.now() - days * DAY_MS));
}

/** The id that an entry of this time would begin with. */
function idOf(time: Date): string {
  return PREFIX + encodeTime(Math.min(Math.max(0, time.getTime()), LAST_TIME));
}
