import { Body, Get, HttpCode, Post, Query, Res, type StreamableFile } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiQuery, ApiResponse } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { AuditLog } from '#accounts/audit-log.js';
import { CatalogSource } from '#catalog/catalog-source.js';
import { decimalOf } from '#contract/money.js';
import { TOKEN_CLASSES } from '#contract/token-classes.js';
import { FailedTasks } from '#tasks/reading/failed-tasks.js';
import type { TaskScope } from '#tasks/row/task.js';
import { ApiPage } from '../../common/query-fields.js';
import { RequestId } from '../../common/request.decorators.js';
import { ConsoleController } from '../console-controller.js';
import { csvFile } from '../csv.js';
import { Allow } from '../abilities.guard.js';
import { Session } from '../session.decorator.js';
import {
  ApiTaskFilter,
  CONSOLE_STATES,
  ManyTasksBody,
  ManyTasksQuery,
  NamedTasksBody,
  TaskExportQuery,
  TaskIdsQuery,
} from './dto/task-query.dto.js';
import { DeletedTasksView, ManyTasksView, OpenFailuresView } from './dto/task-views.dto.js';
import { ImageArchive, MAX_TASKS } from './image-archive.js';
import { ManyTasks, MAX_EXPORTED, type ManyOutcome } from './many-tasks.js';
import { VisibleTasks } from './visible-tasks.js';

const HEAD = [
  ...['id', 'created_at', 'finished_at', 'status', 'error', 'reason', 'model', 'provider', 'key', 'size', 'resolution'],
  ...['duration_ms', 'cost', 'currency', 'prompt'],
  ...TOKEN_CLASSES.flatMap((name) => [`${name}_tokens`, `${name}_cost`]),
];

/** Bulk actions on all tasks that match a filter and that the user may see, and downloads of several. */
@ConsoleController('Tasks')
export class ManyTasksController {
  constructor(
    private readonly many: ManyTasks,
    private readonly archive: ImageArchive,
    private readonly failed: FailedTasks,
    private readonly source: CatalogSource,
    private readonly audit: AuditLog,
  ) {}

  @Get('tasks.csv')
  @Allow('tasks.read')
  @ApiQuery({ name: 'status', required: false, enum: CONSOLE_STATES })
  @ApiTaskFilter()
  @ApiResponse({ status: 200, description: `The newest ${MAX_EXPORTED} tasks as CSV.` })
  async table(
    @Session() session: Session,
    @VisibleTasks() scope: TaskScope,
    @Query() filter: TaskExportQuery,
  ): Promise<StreamableFile> {
    const rows = await this.many.export(scope, filter);
    await this.audit.recordOnce(session, 'tasks.exported', undefined, { count: rows.length });
    return csvFile('darkroom-tasks.csv', [
      HEAD,
      ...rows.map((row) => [
        ...[row.id, row.created_at, row.finished_at, row.status, row.error?.code ?? null, row.error?.message ?? null],
        ...[row.model, row.provider, row.key.name, row.size, row.resolution],
        row.finished_at === null ? null : Date.parse(row.finished_at) - Date.parse(row.created_at),
        ...[row.cost?.amount ?? null, row.cost?.currency ?? null, row.prompt],
        ...TOKEN_CLASSES.flatMap((name) => {
          const { tokens = null, amount = null } = row.cost?.token_costs?.find((one) => one.class === name) ?? {};
          return [tokens, amount];
        }),
      ]),
    ]);
  }

  @Get('tasks/images.zip')
  @Allow('tasks.read')
  @ApiQuery({
    name: 'ids',
    description: `1 to ${MAX_TASKS} task IDs, separated by commas.`,
    schema: { type: 'string' },
  })
  @ApiResponse({
    status: 200,
    description: 'The stored images of the tasks, named after their prompts, up to 2 GB.',
    content: { 'application/zip': { schema: { type: 'string', format: 'binary' } } },
  })
  async images(
    @VisibleTasks() scope: TaskScope,
    @Query() { ids }: TaskIdsQuery,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const images = await this.archive.images(scope, ids);
    void reply.type('application/zip').header('content-disposition', 'attachment; filename="darkroom-images.zip"');
    // Tells a page whether the download would begin.
    void reply.send(reply.request.method === 'HEAD' ? '' : this.archive.pack(images, reply));
  }

  @Get('tasks/open-failures')
  @Allow('tasks.read_all')
  @ApiResponse({
    status: 200,
    type: OpenFailuresView,
    description: 'Number of tasks of the account that failed today (UTC) and can be retried.',
  })
  async openFailures(@Session() { accountId }: Session): Promise<OpenFailuresView> {
    return { count: await this.failed.countOpen(accountId, new Date(new Date().setUTCHours(0, 0, 0, 0))) };
  }

  @Post('tasks/cancel')
  @Allow('tasks.create')
  @RouteConfig({ bodyless: true })
  @HttpCode(200)
  @DryRun()
  @ApiPage()
  @ApiTaskFilter()
  @ApiResponse({
    status: 200,
    type: ManyTasksView,
    description: 'Cancels up to 100 matching pending tasks, newest first, or the named ones.',
  })
  async cancel(
    @Session() session: Session,
    @VisibleTasks() scope: TaskScope,
    @Query() { dry_run: dryRun, ...chosen }: ManyTasksQuery,
    @Body() { tasks }: ManyTasksBody,
  ): Promise<ManyTasksView> {
    const outcome = await this.many.cancel(scope, { ...chosen, ids: tasks ?? undefined }, dryRun === 'true');
    return await this.answer(session, 'tasks.cancelled', outcome, dryRun === 'true');
  }

  @Post('tasks/retry')
  @Allow('tasks.retry')
  @RouteConfig({ bodyless: true })
  @HttpCode(200)
  @DryRun()
  @ApiPage()
  @ApiTaskFilter()
  @ApiResponse({
    status: 200,
    type: ManyTasksView,
    description:
      'Retries up to 100 matching failed tasks that have not been retried, newest first, or the named ones, each with its original key.',
  })
  async retry(
    @Session() session: Session,
    @VisibleTasks() scope: TaskScope,
    @Query() { dry_run: dryRun, ...chosen }: ManyTasksQuery,
    @Body() { tasks }: ManyTasksBody,
    @RequestId() requestId: string,
  ): Promise<ManyTasksView> {
    const target = { ...chosen, ids: tasks ?? undefined };
    const outcome =
      dryRun === 'true' ? await this.many.previewRetry(scope, target) : await this.many.retry(scope, target, requestId);
    return await this.answer(session, 'tasks.redriven', outcome, dryRun === 'true');
  }

  @Post('tasks/delete')
  @Allow('tasks.create')
  @HttpCode(200)
  @ApiResponse({
    status: 200,
    type: DeletedTasksView,
    description: 'Deletes the named tasks for good; pending ones are canceled first.',
  })
  async delete(
    @Session() session: Session,
    @VisibleTasks() scope: TaskScope,
    @Body() { tasks }: NamedTasksBody,
  ): Promise<DeletedTasksView> {
    const ids = await this.many.delete(scope, tasks);
    const target = ids.length === 1 ? ids[0] : undefined;
    if (ids.length > 0) await this.audit.record(session, 'tasks.deleted', target, { count: ids.length });
    return { count: ids.length };
  }

  private async answer(
    session: Session,
    action: 'tasks.cancelled' | 'tasks.redriven',
    { ids, first, refused, next, cost, unpriced }: ManyOutcome,
    isDry: boolean,
  ): Promise<ManyTasksView> {
    if (!isDry && ids.length > 0) await this.audit.record(session, action, undefined, { count: ids.length });
    return {
      count: ids.length,
      first: first.map(({ id, ...task }) => ({ task_id: id, ...task })),
      refused: refused.map(({ id, reason: { code, message, retryAfter } }) => {
        return { task_id: id, code, message, retry_after: retryAfter ?? null };
      }),
      has_more: next !== null,
      next,
      cost: cost === null ? null : { amount: decimalOf(cost), currency: this.source.current.currency },
      unpriced,
    };
  }
}

function DryRun(): MethodDecorator {
  const description = '`true`: return what would be done without doing it.';
  return ApiQuery({ name: 'dry_run', required: false, enum: ['true', 'false'], description });
}
