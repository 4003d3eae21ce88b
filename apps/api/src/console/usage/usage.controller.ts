import { Get, Query, type StreamableFile } from '@nestjs/common';
import { ApiProperty, ApiQuery, ApiResponse } from '@nestjs/swagger';
import { CatalogueSource } from '#catalogue/catalogue-source.js';
import { decimalOf } from '#contract/money.js';
import { USAGE_GROUPS } from '#tasks/sweep.sql.js';
import { TaskFigures } from '#tasks/task-figures.js';
import { ConsoleController } from '../console-controller.js';
import { csvFile } from '../csv.js';
import { Session } from '../session.decorator.js';
import { UsageQuery, usageSpan } from './dto/usage-query.dto.js';

class UsageView {
  @ApiProperty({ format: 'date-time' })
  time!: string;

  @ApiProperty({ type: String, nullable: true, description: 'Null: no provider was called.' })
  group!: string | null;

  @ApiProperty({ type: 'integer' })
  pictures!: number;

  @ApiProperty({ type: 'integer' })
  failed!: number;

  @ApiProperty({ example: '1.200000' })
  spend!: string;

  @ApiProperty({ type: 'integer', nullable: true })
  p50_ms!: number | null;

  @ApiProperty({ type: 'integer', nullable: true })
  p95_ms!: number | null;
}

class UsageListView {
  @ApiProperty({ type: [UsageView] })
  data!: UsageView[];

  @ApiProperty({ example: 'USD' })
  currency!: string;
}

const rounded = (ms: number | null): number | null => (ms === null ? null : Math.round(ms));

/** What the account has generated, from the tasks that are still kept. */
@ConsoleController('Usage')
@ApiQuery({ name: 'from', required: false, schema: { type: 'string' } })
@ApiQuery({ name: 'to', required: false, schema: { type: 'string' } })
@ApiQuery({ name: 'by', required: false, enum: ['day', 'hour'] })
@ApiQuery({ name: 'group', required: false, enum: USAGE_GROUPS })
export class UsageController {
  constructor(
    private readonly figures: TaskFigures,
    private readonly source: CatalogueSource,
  ) {}

  @Get('usage')
  @ApiResponse({ status: 200, type: UsageListView })
  async usage(@Session() { accountId }: Session, @Query() query: UsageQuery): Promise<UsageListView> {
    const { currency } = this.source.current;
    const { by, group: groupedBy } = query;
    const asked = { ...usageSpan(query, new Date()), by, group: groupedBy, currency };
    const rows = await this.figures.usage(accountId, asked);
    const data = rows.map(({ time, group, images, failed, spend, p50Ms, p95Ms }) => ({
      ...{ time: time.toISOString(), group, pictures: images, failed, spend: decimalOf(spend) },
      ...{ p50_ms: rounded(p50Ms), p95_ms: rounded(p95Ms) },
    }));
    return { data, currency };
  }

  @Get('usage.csv')
  @ApiResponse({ status: 200, description: 'The same as comma-separated text.' })
  async table(@Session() session: Session, @Query() query: UsageQuery): Promise<StreamableFile> {
    const { data, currency } = await this.usage(session, query);
    return csvFile('darkroom-usage.csv', [
      ['time', 'group', 'pictures', 'failed', 'spend', 'currency', 'p50_ms', 'p95_ms'],
      ...data.map(({ time, group, pictures, failed, spend, p50_ms, p95_ms }) => [
        ...[time, group, pictures, failed, spend, currency, p50_ms, p95_ms],
      ]),
    ]);
  }
}
