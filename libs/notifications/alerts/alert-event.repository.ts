import { Injectable } from '@nestjs/common';
import { decodeTime, encodeTime, monotonicFactory } from 'ulid';
import { ALERT_KINDS, type AlertKind, type AlertMessage, type AlertMessageType } from '#contract/alert-message.js';
import { PrismaService } from '#database/prisma.service.js';
import { NewDeliveries } from '../deliveries/new-deliveries.js';
import { lockEnabledRule, type AlertRule } from './alert-rule.repository.js';
import { firingText, resolvedText, sentText, type AlertReading } from './alert-words.js';
import { clearMinutes, type AlertStep, type OpenAlert } from './next-alert-step.js';

const DAY_MS = 86_400_000;
const BATCH = 1_000;
const nextId = monotonicFactory();

interface Retention {
  readonly auditLogRetentionDays: number;
}

/** An alert that fires or has fired. */
export interface AlertEvent {
  readonly id: string;
  readonly kind: AlertKind;
  readonly state: 'firing' | 'resolved';
  readonly name: string;
  readonly title: string;
  readonly text: string;
  readonly path: string;
  readonly startedAt: Date;
  readonly firedAt: Date | null;
  readonly resolvedAt: Date | null;
  /** Since when somebody takes care of it, and their name; null = nobody does. */
  readonly acknowledgedAt: Date | null;
  readonly acknowledgedBy: string | null;
  /** Since when the value has been clear (well below the lowest threshold). */
  readonly clearSince: Date | null;
  /** How long it must stay clear before the alert resolves. */
  readonly clearMinutes: number;
}

/** An open alert, as the evaluation reads it. */
export interface OpenAlertRow extends OpenAlert {
  readonly id: string;
  readonly subject: string;
  readonly name: string;
  readonly title: string;
  readonly version: number;
}

/** The alerts of accounts. Each change is one conditional update, committed together with its messages. */
@Injectable()
export class AlertEventRepository {
  constructor(
    private readonly prisma: PrismaService,
    private readonly deliveries: NewDeliveries,
  ) {}

  /** Newest first; `after` is the id of the last alert on the previous page. */
  async list(
    accountId: string,
    query: {
      readonly kinds: readonly AlertKind[];
      readonly state?: AlertEvent['state'] | undefined;
      readonly after?: string | undefined;
      readonly limit: number;
    },
  ): Promise<AlertEvent[]> {
    const { kinds, state, after, limit } = query;
    const rows = await this.prisma.alertEvent.findMany({
      where: {
        accountId,
        kind: { in: [...kinds] },
        state: state ?? { not: 'pending' },
        ...(state === 'firing' && { resolvedAt: null }),
        ...(after !== undefined && { id: { lt: after } }),
      },
      orderBy: { id: 'desc' },
      take: limit,
    });
    return rows.flatMap(alertEventOf);
  }

  /**
   * Notes who takes care of a firing alert, so that it is not repeated. Returns the alert, and whether that changed it:
   * the first one stays. Undefined when the account has no such alert that fires.
   */
  async acknowledge(
    accountId: string,
    { id, kinds, by }: { readonly id: string; readonly kinds: readonly AlertKind[]; readonly by: string },
  ): Promise<{ readonly alert: AlertEvent; readonly changed: boolean } | undefined> {
    const where = { id, accountId, kind: { in: [...kinds] }, state: 'firing' };
    const { count } = await this.prisma.alertEvent.updateMany({
      where: { ...where, acknowledgedAt: null },
      data: { acknowledgedAt: new Date(), acknowledgedBy: by },
    });
    const row = await this.prisma.alertEvent.findFirst({ where });
    const [alert] = row === null ? [] : alertEventOf(row);
    return alert && { alert, changed: count === 1 };
  }

  /** The open alerts of a rule. */
  async open({ accountId, kind }: AlertRule): Promise<OpenAlertRow[]> {
    const rows = await this.prisma.alertEvent.findMany({ where: { accountId, kind, resolvedAt: null } });
    return rows.map(openAlertOf);
  }

  /** Creates a pending alert; undefined when another worker created it, or its rule was turned off. */
  async begin({ accountId, kind }: AlertRule, reading: AlertReading, now: Date): Promise<OpenAlertRow | undefined> {
    const { subject, name, title, path } = reading;
    const before = await this.prisma.alertEvent.count({
      where: { accountId, kind, subject, id: { gt: `ale_${encodeTime(now.getTime() - DAY_MS)}` } },
    });
    const row = {
      id: `ale_${nextId()}`,
      accountId,
      kind,
      subject,
      name,
      title,
      path,
      state: 'pending',
      level: 0,
      text: firingText(reading),
      startedAt: now,
      clearMinutes: clearMinutes(before),
      version: 0,
    };
    const created = await this.prisma.$transaction(async (transaction) => {
      // Turning the rule off either happened before, or also closes the alert created here.
      if (!(await lockEnabledRule(transaction, accountId, kind))) return false;
      return (await transaction.alertEvent.createMany({ data: row, skipDuplicates: true })).count === 1;
    });
    return created ? openAlertOf({ ...row, notifiedAt: null, acknowledgedAt: null, clearSince: null }) : undefined;
  }

  /**
   * Applies a step and writes its messages. Without a `reading` the alert keeps its text. False when another worker
   * applied a step first.
   */
  async applyStep(
    rule: AlertRule,
    alert: OpenAlertRow,
    { step, reading, level, now }: { step: AlertStep; reading: AlertReading | undefined; level: number; now: Date },
  ): Promise<boolean> {
    const { id, version, startedAt } = alert;
    if (step === 'drop') return (await this.prisma.alertEvent.deleteMany({ where: { id, version } })).count === 1;
    const messageType = STEP_MESSAGES[step];
    const words =
      step === 'resolve'
        ? { text: resolvedText(startedAt, now) }
        : reading && { title: reading.title, text: firingText(reading), path: reading.path };
    return await this.prisma.$transaction(async (transaction) => {
      const [changed] = await transaction.alertEvent.updateManyAndReturn({
        where: { id, version },
        data: {
          ...words,
          version: version + 1,
          ...(messageType === 'alert.firing' && { level: Math.max(level, alert.level), notifiedAt: now }),
          ...(step === 'fire' && { state: 'firing', firedAt: now }),
          ...(step === 'raise' && { clearSince: null }),
          ...(step === 'begin_clearing' && { clearSince: now }),
          ...(step === 'stop_clearing' && { clearSince: null }),
          ...(step === 'resolve' && { state: 'resolved', resolvedAt: now }),
        },
      });
      if (changed === undefined) return false;
      if (messageType === undefined) return true;
      const message = messageOf(messageType, rule.kind, changed, now);
      await this.deliveries.addMessages(transaction, rule.accountId, message, rule.channelIds);
      return true;
    });
  }

  /** Closes all open alerts of a rule that was turned off, without messages. */
  async close(accountId: string, kind: AlertKind): Promise<void> {
    const open = { accountId, kind, resolvedAt: null };
    await this.prisma.alertEvent.deleteMany({ where: { ...open, state: 'pending' } });
    await this.prisma.alertEvent.updateMany({
      where: open,
      data: { state: 'resolved', resolvedAt: new Date(), text: 'The alert was turned off.', version: { increment: 1 } },
    });
  }

  /** Deletes the alerts of a deleted account. */
  async removeAll(accountId: string): Promise<void> {
    await this.prisma.alertEvent.deleteMany({ where: { accountId } });
  }

  /** When the oldest alert that has ended became due for deletion; undefined when none is due. */
  async dueSince({ auditLogRetentionDays }: Retention): Promise<Date | undefined> {
    const keptMs = auditLogRetentionDays * DAY_MS;
    const oldest = await this.prisma.alertEvent.findFirst({
      where: { id: { lt: `ale_${encodeTime(Date.now() - keptMs)}` }, state: 'resolved' },
      orderBy: { id: 'asc' },
      select: { id: true },
    });
    return oldest === null ? undefined : new Date(decodeTime(oldest.id.slice('ale_'.length)) + keptMs);
  }

  /** Deletes resolved alerts past their retention, by the time in their ids. Throws when the database fails. */
  async expire({ auditLogRetentionDays }: Retention): Promise<void> {
    const before = `ale_${encodeTime(Date.now() - auditLogRetentionDays * DAY_MS)}`;
    const { alertEvent } = this.prisma;
    const oldest = { orderBy: { id: 'asc' }, skip: BATCH - 1, select: { id: true } } as const;
    let last: { readonly id: string } | null;
    do {
      last = await alertEvent.findFirst({ where: { id: { lt: before }, state: 'resolved' }, ...oldest });
      // A range of the index: with a limit, the planner may join the batch with the whole table.
      const due = { id: last === null ? { lt: before } : { lte: last.id }, state: 'resolved' };
      await alertEvent.deleteMany({ where: due });
    } while (last !== null);
  }
}

/** The message that each step sends; other steps send none. */
const STEP_MESSAGES: Readonly<Partial<Record<AlertStep, AlertMessageType>>> = {
  fire: 'alert.firing',
  raise: 'alert.firing',
  repeat: 'alert.firing',
  resolve: 'alert.resolved',
};

type EventRow = Omit<AlertEvent, 'kind' | 'state'> & { readonly kind: string; readonly state: string };

/** Empty for a kind that only a later version has. */
function alertEventOf(row: EventRow): AlertEvent[] {
  const kind = ALERT_KINDS.find((name) => name === row.kind);
  return kind === undefined ? [] : [{ ...row, kind, state: row.state === 'resolved' ? 'resolved' : 'firing' }];
}

function openAlertOf({ state, ...row }: Omit<OpenAlertRow, 'state'> & { readonly state: string }): OpenAlertRow {
  return { ...row, state: state === 'pending' ? 'pending' : 'firing' };
}

interface MessageRow {
  readonly id: string;
  readonly name: string;
  readonly title: string;
  readonly text: string;
  readonly path: string;
  readonly startedAt: Date;
  readonly resolvedAt: Date | null;
  readonly version: number;
}

function messageOf(type: AlertMessageType, kind: AlertKind, row: MessageRow, now: Date): AlertMessage {
  const { id, name, title, text, path, startedAt, resolvedAt, version } = row;
  return {
    // Each change has its own version, so a message that is sent twice has the same id both times.
    id: `${id.replace('ale_', 'evt_')}_${version}`,
    object: 'event',
    type,
    created_at: Math.floor(now.getTime() / 1_000),
    timestamp: now.toISOString(),
    data: {
      alert_id: id,
      kind,
      subject: name,
      text: sentText(text, startedAt, resolvedAt),
      url: path,
      title: type === 'alert.resolved' ? `Resolved: ${title}` : title,
      started_at: startedAt.toISOString(),
      resolved_at: resolvedAt?.toISOString() ?? null,
    },
  };
}

/** The message that tests a channel. */
export function testMessage(id: string, now: Date): AlertMessage {
  return {
    id: `evt_${id}`,
    object: 'event',
    type: 'alert.test',
    created_at: Math.floor(now.getTime() / 1_000),
    timestamp: now.toISOString(),
    data: {
      alert_id: null,
      kind: null,
      subject: null,
      started_at: null,
      resolved_at: null,
      title: 'Test alert from Darkroom',
      text: 'This channel works. Alerts of your account will arrive here.',
      url: '/console/alerts',
    },
  };
}
