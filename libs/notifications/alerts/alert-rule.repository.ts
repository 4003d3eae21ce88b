import { Injectable } from '@nestjs/common';
import { ALERT_KINDS, type AlertKind } from '#contract/alert-message.js';
import { PrismaService } from '#database/prisma.service.js';
import type { Transaction } from '#database/queryable.js';
import { ALERTS, type AlertSettings } from './alert-settings.js';

/** When an account is alerted, and on which channels. */
export interface AlertRule extends AlertSettings {
  readonly accountId: string;
  readonly kind: AlertKind;
  readonly enabled: boolean;
  /** Empty: all channels of the account. */
  readonly channelIds: readonly string[];
}

/** The alert rules of accounts: one of each kind, off until it is turned on. */
@Injectable()
export class AlertRuleRepository {
  constructor(private readonly prisma: PrismaService) {}

  /** One rule per kind, as saved, or else off with the default settings. */
  async list(accountId: string, kinds: readonly AlertKind[]): Promise<AlertRule[]> {
    const rows = (await this.prisma.alertRule.findMany({ where: { accountId } })).flatMap(ruleOf);
    return kinds.map(
      (kind) =>
        rows.find((row) => row.kind === kind) ?? {
          accountId,
          kind,
          enabled: false,
          channelIds: [],
          ...ALERTS[kind].defaults,
        },
    );
  }

  /** The saved rule of an account if it is on. */
  async enabled(accountId: string, kind: AlertKind): Promise<AlertRule | undefined> {
    const row = await this.prisma.alertRule.findUnique({
      where: { accountId_kind: { accountId, kind }, enabled: true },
    });
    return row === null ? undefined : ruleOf(row)[0];
  }

  async save({ accountId, kind, thresholds, channelIds, ...rest }: AlertRule): Promise<void> {
    const data = { ...rest, thresholds: [...thresholds], channelIds: [...channelIds] };
    await this.prisma.alertRule.upsert({
      where: { accountId_kind: { accountId, kind } },
      create: { accountId, kind, ...data },
      update: data,
    });
  }

  /** Turns on what a new account should watch; rules that are already saved stay as they are. */
  async turnOnUsual(accountId: string, kinds: readonly AlertKind[]): Promise<void> {
    const data = kinds.flatMap((kind) => {
      const { defaults, onAtSetup } = ALERTS[kind];
      if (onAtSetup === undefined) return [];
      const settings = { ...defaults, ...onAtSetup };
      return [{ accountId, kind, enabled: true, channelIds: [], ...settings, thresholds: [...settings.thresholds] }];
    });
    await this.prisma.alertRule.createMany({ data, skipDuplicates: true });
  }

  /** Deletes the rules of a deleted account. */
  async removeAll(accountId: string): Promise<void> {
    await this.prisma.alertRule.deleteMany({ where: { accountId } });
  }

  /** Removes a deleted channel from rules. A rule left without channels sends to all of them. */
  async forgetChannel(accountId: string, channelId: string): Promise<void> {
    const rules = await this.prisma.alertRule.findMany({ where: { accountId, channelIds: { has: channelId } } });
    for (const { kind, channelIds } of rules) {
      await this.prisma.alertRule.update({
        where: { accountId_kind: { accountId, kind } },
        data: { channelIds: channelIds.filter((id) => id !== channelId) },
      });
    }
  }

  /** Claims the rules that are due, each for one worker: the first to update `evaluatedAt`. */
  async *takeDue(everyMs: number): AsyncGenerator<AlertRule> {
    const due = { enabled: true, evaluatedAt: { lte: new Date(Date.now() - everyMs) } };
    for (const row of await this.prisma.alertRule.findMany({ where: due })) {
      const { accountId, kind, evaluatedAt } = row;
      const { count } = await this.prisma.alertRule.updateMany({
        where: { accountId, kind, enabled: true, evaluatedAt },
        data: { evaluatedAt: new Date() },
      });
      if (count === 1) yield* ruleOf(row);
    }
  }
}

/** Locks a rule until the transaction ends; false when it is off. */
export async function lockEnabledRule(transaction: Transaction, accountId: string, kind: AlertKind): Promise<boolean> {
  const on = await transaction.alertRule.updateMany({
    where: { accountId, kind, enabled: true },
    data: { enabled: true },
  });
  return on.count === 1;
}

type RuleRow = Omit<AlertRule, 'kind'> & { readonly kind: string };

/** Empty for a kind that only a later version has. */
function ruleOf(row: RuleRow): AlertRule[] {
  const kind = ALERT_KINDS.find((name) => name === row.kind);
  return kind === undefined ? [] : [{ ...row, kind }];
}
