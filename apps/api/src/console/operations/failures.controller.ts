import { Body, Get, HttpCode, Post, Query } from '@nestjs/common';
import { ApiQuery, ApiResponse } from '@nestjs/swagger';
import { AppError } from '#contract/app-error.js';
import { AuditLog } from '#accounts/audit-log.js';
import { FailedTasks } from '#tasks/reading/failed-tasks.js';
import { RequestId } from '../../common/request.decorators.js';
import { ApiPage } from '../../common/query-fields.js';
import { ConsoleController } from '../console-controller.js';
import { ApiDays, daysAgo, FailedTasksQuery, FailuresQuery } from './dto/failure-query.dto.js';
import {
  FailedTaskPage,
  failedTaskView,
  FailureListView,
  groupView,
  MAX_RETRIED,
  RetryBody,
  RetryView,
  retryView,
} from './dto/failure-views.dto.js';
import { Allow } from '../abilities.guard.js';
import { Session } from '../session.decorator.js';
import { RetryFailedTasks, notRetryableReason, type RetryOutcome } from '../tasks/retry-failed-tasks.js';

/** Why failed provider tests can't be retried. */
const TEST_AGAIN = 'Provider test. Use Test to run it again.';

/** Failed tasks of all accounts, and their retries. Prompts belong to their accounts and are not shown. */
@ConsoleController('Operation', 'failures')
@Allow('installation.manage')
export class FailuresController {
  constructor(
    private readonly failed: FailedTasks,
    private readonly retries: RetryFailedTasks,
    private readonly audit: AuditLog,
  ) {}

  @Get()
  @ApiDays()
  @ApiResponse({ status: 200, type: FailureListView })
  async groups(@Query() { days }: FailuresQuery): Promise<FailureListView> {
    const { groups, hasMore } = await this.failed.groups(daysAgo(days));
    const data = groups.map((group) =>
      groupView(group, group.providerTest ? TEST_AGAIN : notRetryableReason(group.code)),
    );
    return { data, has_more: hasMore };
  }

  @Get('tasks')
  @ApiDays()
  @ApiQuery({ name: 'code', schema: { type: 'string' } })
  @ApiQuery({
    name: 'provider',
    required: false,
    description: 'Absent = no provider was called.',
    schema: { type: 'string' },
  })
  @ApiQuery({ name: 'model', schema: { type: 'string' } })
  @ApiQuery({ name: 'provider_test', required: false, schema: { type: 'string', enum: ['true', 'false'] } })
  @ApiPage()
  @ApiResponse({ status: 200, type: FailedTaskPage })
  async tasks(@Query() { days, provider, provider_test: test, ...query }: FailedTasksQuery): Promise<FailedTaskPage> {
    const kind = { provider: provider ?? null, providerTest: test === 'true', since: daysAgo(days) };
    const { tasks, hasMore } = await this.failed.page({ ...query, ...kind });
    const next = hasMore ? (tasks.at(-1)?.id ?? null) : null;
    return { data: tasks.map(failedTaskView), has_more: hasMore, next };
  }

  @Post('retry')
  @HttpCode(200)
  @ApiResponse({ status: 200, type: RetryView, description: 'Each failed task is retried at most once.' })
  async retry(
    @Session() session: Session,
    @Body() body: RetryBody,
    @RequestId() requestId: string,
  ): Promise<RetryView> {
    const { ids, next } = await this.chosen(body);
    const outcome = await this.retries.run(ids, requestId);
    await this.log(session, outcome);
    return retryView(outcome, next);
  }

  /** Throws AppError when the body does not say what to retry. */
  private async chosen({ tasks, code, provider, model, days, after }: RetryBody) {
    if (tasks) return { ids: tasks, next: null };
    if (!code || !model) throw new AppError('missing_required_parameter', 'Specify either tasks, or code and model');
    const kind = { code, provider: provider ?? null, model, since: daysAgo(days), open: true };
    const page = await this.failed.page({ ...kind, limit: MAX_RETRIED, after: after ?? undefined });
    const ids = page.tasks.map(({ id }) => id);
    return { ids, next: page.hasMore ? (ids.at(-1) ?? null) : null };
  }

  /** Also records the retries in the accounts that pay for them, without the operator's name, whom they don't know. */
  private async log(session: Session, { retried, refused }: RetryOutcome): Promise<void> {
    if (retried.length === 0) return;
    const action = 'tasks.redriven';
    await this.audit.record(session, action, undefined, { count: retried.length, refused: refused.length });
    const counts = new Map<string, number>();
    for (const one of retried) counts.set(one.accountId, (counts.get(one.accountId) ?? 0) + 1);
    counts.delete(session.accountId);
    for (const [owner, count] of counts) {
      await this.audit.write({ accountId: owner, personId: null, action, details: { count, by: 'operator' } });
    }
  }
}
