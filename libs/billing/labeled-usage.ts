import { Injectable } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { topLabels, usageOfLabels } from './labeled-usage.sql.js';
import { usageRows, type UsageStep } from './usage-rows.js';
import { UsageRepository } from './usage.repository.js';
import type { LabelGroup, UsageQuery, UsageRow } from './usage.js';

/** Days of usage by end user or by tag. */
export interface LabeledUsageQuery extends Pick<UsageQuery, 'from' | 'to' | 'currency'> {
  readonly kind: LabelGroup;
  /** Only this end user or tag; absent: those that spent most. */
  readonly name?: string | undefined;
}

/** Usage of an account by day and by end user, or by tag. */
@Injectable()
export class LabeledUsage {
  constructor(
    private readonly prisma: PrismaService,
    private readonly usage: UsageRepository,
  ) {}

  /**
   * Rows like those of UsageRepository: of one end user or tag, or of up to 100 that spent most on a day. All other usage
   * of the account is then the group null, except by tag, because a task may have several. The total is the account's.
   * Throws like UsageRepository.
   */
  async read(accountId: string, { kind, name, ...query }: LabeledUsageQuery): Promise<UsageRow[]> {
    const days = { accountId, kind, ...query };
    const names = name === undefined ? await topLabels(this.prisma.pool, days) : [name];
    const steps = await usageOfLabels(this.prisma.pool, { ...days, names });
    if (name !== undefined) return await usageRows(steps);
    const all = await this.usage.read(accountId, { ...query, by: 'day', group: 'provider' });
    const total = all.filter(({ of }) => of === 'all').map((row) => ({ ...row, p50Ms: null, p95Ms: null }));
    const others = kind === 'tag' ? [] : othersIn(all, steps);
    const rows = await usageRows([...others, ...steps].sort((a, b) => a.time.getTime() - b.time.getTime()));
    return [...rows.filter(({ of }) => of !== 'all'), ...total];
  }
}

const FIGURES = [
  ...([
    'images',
    'failed',
    'chats',
    'spend',
    'unpricedImages',
    'unpricedChats',
    'inputTokens',
    'outputTokens',
  ] as const),
];
type Sums = Record<(typeof FIGURES)[number], number>;

/** What is left of each day's usage without these groups, if anything is. */
function othersIn(all: readonly UsageRow[], groups: readonly UsageStep[]): UsageStep[] {
  const days = new Map<number, Sums>();
  const add = (time: Date, figures: Sums, sign: 1 | -1): void => {
    const day = days.get(time.getTime()) ?? (Object.fromEntries(FIGURES.map((name) => [name, 0])) as Sums);
    days.set(time.getTime(), day);
    for (const name of FIGURES) day[name] += sign * figures[name];
  };
  for (const row of all) if (row.time !== null) add(row.time, row, 1);
  for (const step of groups) add(step.time, step, -1);
  return [...days]
    .filter(([, sums]) => FIGURES.some((name) => sums[name] !== 0))
    .map(([time, sums]) => ({ ...sums, time: new Date(time), group: null, durations: null }));
}
