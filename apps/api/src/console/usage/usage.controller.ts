import { Get, Query, type StreamableFile } from '@nestjs/common';
import { ApiProperty, ApiQuery, ApiResponse } from '@nestjs/swagger';
import { ApiKeyRepository } from '#accounts/api-key.repository.js';
import { AuditLog } from '#accounts/audit-log.js';
import { UsageRepository } from '#billing/usage.repository.js';
import { LabeledUsage } from '#billing/labeled-usage.js';
import { LABEL_GROUPS, USAGE_GROUPS, type UsageFigures, type UsageGroup, type UsageRow } from '#billing/usage.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { AppError } from '#contract/app-error.js';
import { UsageFiguresView, usageFiguresView } from '#contract/usage-view.js';
import { TaskFigures } from '#tasks/reading/task-figures.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { csvFile } from '../csv.js';
import { LatencyView, latencyView } from '../dto/latency-view.dto.js';
import { Session } from '../session.decorator.js';
import { labelIn, UsageQuery, usageSpan } from './dto/usage-query.dto.js';

const NO_GROUP = 'Null = no provider was called; by end user: all others, and usage without one.';

class ConsoleFiguresView extends UsageFiguresView {
  @ApiProperty({ type: 'integer', nullable: true, description: 'Of completed tasks.' })
  p50_ms!: number | null;

  @ApiProperty({ type: 'integer', nullable: true })
  p95_ms!: number | null;
}

class UsageView extends ConsoleFiguresView {
  @ApiProperty({ format: 'date-time' })
  time!: string;

  @ApiProperty({ type: String, nullable: true, description: NO_GROUP })
  group!: string | null;
}

class UsageGroupView extends ConsoleFiguresView {
  @ApiProperty({ type: String, nullable: true, description: NO_GROUP })
  group!: string | null;
}

/** Filter values for usage, in a stable order: the catalog's, and keys by age. */
class UsageNamesView implements Record<UsageGroup, string[]> {
  @ApiProperty({ type: [String] })
  model!: string[];

  @ApiProperty({ type: [String] })
  key!: string[];

  @ApiProperty({ type: [String] })
  provider!: string[];
}

class UsageListView {
  @ApiProperty({ type: [UsageView] })
  data!: UsageView[];

  @ApiProperty({ type: [UsageGroupView], description: 'Totals of each group.' })
  groups!: UsageGroupView[];

  @ApiProperty({ type: UsageNamesView })
  names!: UsageNamesView;

  @ApiProperty({
    type: String,
    nullable: true,
    format: 'date-time',
    description: 'First day with data; null if there is none.',
  })
  since!: string | null;

  @ApiProperty({ description: 'Overall totals.' })
  total!: ConsoleFiguresView;

  @ApiProperty({ example: 'USD' })
  currency!: string;
}

/** Appended last, because scripts may read the older columns by position. */
const LATER_COLUMNS = ['chats', 'input_tokens', 'output_tokens', 'unpriced_images', 'unpriced_chats'];
const rounded = (ms: number | null): number | null => (ms === null ? null : Math.round(ms));

function figuresView(figures: UsageFigures | undefined): ConsoleFiguresView {
  const { p50Ms = null, p95Ms = null } = figures ?? {};
  return { ...usageFiguresView(figures), p50_ms: rounded(p50Ms), p95_ms: rounded(p95Ms) };
}

/** The account's usage, per UTC day or per hour. */
@ConsoleController('Usage')
@Allow('usage.read')
@ApiQuery({ name: 'from', required: false, schema: { type: 'string' } })
@ApiQuery({ name: 'to', required: false, schema: { type: 'string' } })
@ApiQuery({ name: 'by', required: false, enum: ['day', 'hour'] })
@ApiQuery({
  name: 'group',
  required: false,
  enum: [...USAGE_GROUPS, ...LABEL_GROUPS],
  description: '`end_user` and `tag` list the 100 that spent most, by day, and without other filters.',
})
@ApiQuery({ name: 'model', required: false, schema: { type: 'string' } })
@ApiQuery({ name: 'key', required: false, description: 'Name of keys.', schema: { type: 'string' } })
@ApiQuery({ name: 'provider', required: false, schema: { type: 'string' } })
@ApiQuery({ name: 'end_user', required: false, description: 'Identifier of an end user.', schema: { type: 'string' } })
@ApiQuery({ name: 'tag', required: false, schema: { type: 'string' } })
export class UsageController {
  constructor(
    private readonly figures: UsageRepository,
    private readonly labeled: LabeledUsage,
    private readonly source: CatalogSource,
    private readonly keys: ApiKeyRepository,
    private readonly audit: AuditLog,
    private readonly tasks: TaskFigures,
  ) {}

  @Get('usage')
  @ApiResponse({ status: 200, type: UsageListView })
  async usage(@Session() { accountId }: Session, @Query() query: UsageQuery): Promise<UsageListView> {
    const { currency } = this.source.current;
    const [rows, since, names] = await Promise.all([
      this.rowsOf(accountId, query),
      this.figures.since(accountId),
      this.namesOf(accountId),
    ]);
    return {
      data: rows.flatMap(({ time, group, ...figures }) =>
        time === null ? [] : [{ time: time.toISOString(), group, ...figuresView(figures) }],
      ),
      groups: rows.flatMap(({ of, group, ...figures }) => (of === 'group' ? [{ group, ...figuresView(figures) }] : [])),
      total: figuresView(rows.find(({ of }) => of === 'all')),
      names,
      since: since?.toISOString() ?? null,
      currency,
    };
  }

  private async rowsOf(accountId: string, query: UsageQuery): Promise<UsageRow[]> {
    const { currency } = this.source.current;
    const span = usageSpan(query, new Date());
    const label = labelIn(query);
    if (label !== undefined) return await this.labeled.read(accountId, { ...span, ...label, currency });
    const group = USAGE_GROUPS.find((one) => one === query.group) ?? 'model';
    return await this.figures.read(accountId, { ...query, ...span, group, currency });
  }

  private async namesOf(accountId: string): Promise<UsageNamesView> {
    const { models, providers } = this.source.current;
    const keys = await this.keys.list(accountId);
    const key = [...new Set(keys.reverse().map(({ name }) => name))];
    return { model: [...models.keys()], key, provider: [...providers.keys()] };
  }

  @Get('usage/latency')
  @ApiResponse({ status: 200, type: LatencyView })
  async latency(@Session() { accountId }: Session, @Query() query: UsageQuery): Promise<LatencyView> {
    const label = labelIn(query);
    if (label !== undefined) {
      throw new AppError('invalid_value', `Latency is not kept by ${label.kind}.`, { param: label.kind });
    }
    const { model, key, provider } = query;
    return latencyView(await this.tasks.latency({ accountId, ...usageSpan(query, new Date()), model, key, provider }));
  }

  @Get('usage.csv')
  @ApiResponse({ status: 200, description: 'The same data as CSV.' })
  async table(@Session() session: Session, @Query() query: UsageQuery): Promise<StreamableFile> {
    const { data, currency } = await this.usage(session, query);
    await this.audit.recordOnce(session, 'usage.exported', undefined, { ...query });
    return csvFile('darkroom-usage.csv', [
      ['time', 'group', 'images', 'failed', 'spend', 'currency', 'p50_ms', 'p95_ms'].concat(LATER_COLUMNS),
      ...data.map((row) => [
        ...[row.time, row.group, row.images, row.failed, row.spend, currency, row.p50_ms, row.p95_ms],
        ...[row.chats, row.input_tokens, row.output_tokens, row.unpriced_images, row.unpriced_chats],
      ]),
    ]);
  }
}
