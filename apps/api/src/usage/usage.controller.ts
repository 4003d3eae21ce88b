import { Controller, Get, Header, Query } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import { LabeledUsage } from '#billing/labeled-usage.js';
import { UsageRepository } from '#billing/usage.repository.js';
import type { UsageRow } from '#billing/usage.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { AppError } from '#contract/app-error.js';
import { overloaded } from '#contract/unavailable.js';
import { usageFiguresView, type UsageResponse } from '#contract/usage-view.js';
import { Caller } from '../auth/caller.decorator.js';
import { usageLabel, UsageQuery, usageTime } from './dto/usage-query.dto.js';
import { DescribeUsage } from './usage.openapi.js';

/** What the account, or the keys that the caller may see, used, and what it cost. */
@ApiTags('Usage')
@Controller('v1/usage')
export class PublicUsageController {
  constructor(
    private readonly usage: UsageRepository,
    private readonly labeled: LabeledUsage,
    private readonly catalogs: CatalogSource,
  ) {}

  @Get()
  @RouteConfig({ scope: 'tasks', counted: 'polls' })
  @Header('cache-control', 'no-store')
  @DescribeUsage()
  async read(@Caller() caller: Caller, @Query() query: UsageQuery): Promise<UsageResponse> {
    const time = usageTime(query, new Date());
    const { group, name } = usageLabel(query);
    const { currency } = this.catalogs.current;
    const rows = await this.rowsOf(caller, { ...time, group, name, currency }).catch((error: unknown) => {
      if (!(error instanceof AppError)) throw overloaded(error);
      throw error.param === 'from' ? error.about('start', error.message) : error;
    });
    return {
      object: 'usage',
      group_by: group,
      start: Math.floor(time.from.getTime() / 1_000),
      end: Math.floor(time.to.getTime() / 1_000),
      currency,
      data: rows.flatMap(({ time: day, group: of, ...figures }) =>
        day === null ? [] : [{ time: day.getTime() / 1_000, group: of, ...usageFiguresView(figures) }],
      ),
      groups: rows.flatMap(({ of, group: named, ...figures }) =>
        of === 'group' ? [{ group: named, ...usageFiguresView(figures) }] : [],
      ),
      total: usageFiguresView(rows.find(({ of }) => of === 'all')),
    };
  }

  /** A key that may not see all tasks of its account gets the usage of those whose keys it sees. */
  private async rowsOf(
    { accountId, own }: Caller,
    { group, name, ...time }: ReturnType<typeof usageTime> & ReturnType<typeof usageLabel> & { currency: string },
  ): Promise<UsageRow[]> {
    if (group === 'model' || group === 'key') {
      return await this.usage.read(accountId, { ...time, by: 'day', group, keyIds: own?.keyIds });
    }
    if (own !== undefined) {
      const text = `This API key only sees its own tasks, and usage by ${group} is that of the whole account.`;
      throw new AppError('endpoint_not_allowed', text, { param: 'group_by' });
    }
    return await this.labeled.read(accountId, { ...time, kind: group, name });
  }
}
