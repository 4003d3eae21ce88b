import { Injectable } from '@nestjs/common';
import { encodeTime, monotonicFactory } from 'ulid';
import { jsonOf, objectOf } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import type { AuditAction } from './audit-actions.js';

const BATCH = 1_000;
const DAY_MS = 86_400_000;

/** One change may be several entries of the same millisecond; they keep their order. */
const nextId = monotonicFactory();

/** Something that somebody did. */
export interface AuditEvent {
  readonly accountId: string;
  /** Null when nobody of the account did it; a command says `via: 'command'` in the details. */
  readonly personId: string | null;
  readonly action: AuditAction;
  readonly target?: string;
  /** Enough to tell it later, names of that time among it; never a secret. */
  readonly details?: Readonly<Record<string, unknown>>;
}

type Actor = Pick<AuditEvent, 'accountId' | 'personId'>;

/** An audit event as it is shown. */
export interface AuditEntry {
  readonly id: string;
  /** Null when no member of the account did it. */
  readonly person: { readonly id: string; readonly name: string; readonly email: string } | null;
  /** An AuditAction of this version, or of another. */
  readonly action: string;
  readonly target: string | null;
  readonly details: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
}

/** Newest first; whether there are older entries that match. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[];
  readonly hasMore: boolean;
}

/** What is asked of an account's log; what is absent matches everything. */
export interface AuditQuery {
  /** Id of the last entry of the page before. */
  readonly after?: string | undefined;
  /** Id of a person, or NOBODY. */
  readonly who?: string | undefined;
  readonly actions?: readonly string[] | undefined;
  readonly limit: number;
}

/** Stands for whoever is nobody of the account. */
const NOBODY = 'nobody';

/** Who did what. Entries are never changed, and removed when their time is over. */
@Injectable()
export class AuditLog {
  constructor(private readonly prisma: PrismaService) {}

  async write({ accountId, personId, action, target, details = {} }: AuditEvent): Promise<void> {
    await this.prisma.auditEntry.create({
      data: {
        ...{ id: `audit_${nextId()}`, accountId, personId, action, target: target ?? null },
        details: jsonOf(details),
      },
    });
  }

  /** What a signed-in user did. */
  async record(by: Actor, action: AuditAction, target?: string, details: object = {}): Promise<void> {
    const { accountId, personId } = by;
    await this.write({ accountId, personId, action, ...(target !== undefined && { target }), details: { ...details } });
  }

  /** Like `write`, but not when the same was done to the same target within the last `quietMs`. */
  async writeSeldom(event: AuditEvent, quietMs: number): Promise<void> {
    const { accountId, action, target = null } = event;
    const since = `audit_${encodeTime(Date.now() - quietMs)}`;
    const same = await this.prisma.auditEntry.findFirst({ where: { accountId, id: { gt: since }, action, target } });
    if (same === null) await this.write(event);
  }

  /** Removes the entries whose time is over, which their ids begin with. Throws when the database fails. */
  async expire({ auditLogRetentionDays }: { readonly auditLogRetentionDays: number }): Promise<void> {
    const before = `audit_${encodeTime(Date.now() - auditLogRetentionDays * DAY_MS)}`;
    let count: number;
    do {
      ({ count } = await this.prisma.auditEntry.deleteMany({ where: { id: { lt: before } }, limit: BATCH }));
    } while (count === BATCH);
  }

  /** One page of an account's entries, newest first. */
  async list(accountId: string, { after, who, actions, limit }: AuditQuery): Promise<AuditPage> {
    const rows = await this.prisma.auditEntry.findMany({
      where: {
        accountId,
        ...(after !== undefined && { id: { lt: after } }),
        ...(who !== undefined && { personId: who === NOBODY ? null : who }),
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
      // The address of somebody who was deleted is gone.
      people.map(({ deletedAt, email, ...person }) => [
        person.id,
        { ...person, email: deletedAt === null ? email : '' },
      ]),
    );
    const entries = rows.slice(0, limit).map(({ id, personId, action, target, details, createdAt }) => ({
      ...{ id, action, target, createdAt, person: byId.get(personId ?? '') ?? null },
      details: objectOf(details),
    }));
    return { entries, hasMore: rows.length > limit };
  }
}
