import { Body, Controller, HttpCode, Param, Post, UseInterceptors } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { RouteConfig } from '@nestjs/platform-fastify';
import { TaskLinks } from '#answers/task-links.js';
import { AuditLog } from '#accounts/audit-log.js';
import { AppError } from '#contract/app-error.js';
import type { TaskResponse } from '#contract/task-view.js';
import { unavailable } from '#contract/unavailable.js';
import { isTaskId } from '#tasks/row/task-id.js';
import type { TaskSummary } from '#tasks/row/task.js';
import { ApproveTask, type Approver } from '#tasks/states/approve-task.js';
import { Caller } from '../auth/caller.decorator.js';
import { TaskIdParam } from '../common/params.js';
import { RejectBody } from './dto/reject-body.dto.js';
import { TaskHeadersInterceptor } from './task-headers.interceptor.js';
import { DescribeApprove, DescribeReject } from './decide-task.openapi.js';

/** Approval of other keys' requests, for keys with the permission `approve`. */
@ApiTags('Tasks')
@Controller()
export class DecideTaskController {
  constructor(
    private readonly decide: ApproveTask,
    private readonly links: TaskLinks,
    private readonly audit: AuditLog,
  ) {}

  @Post('v1/tasks/:taskId/approve')
  @RouteConfig({ bodyless: true, scope: 'approve', counted: 'polls' })
  @HttpCode(200)
  @UseInterceptors(TaskHeadersInterceptor)
  @DescribeApprove()
  async approve(@Caller() caller: Caller, @Param() { taskId }: TaskIdParam): Promise<TaskResponse> {
    const task = await named(taskId, (id) => this.decide.approve(caller, id, approverOf(caller)));
    await this.record(caller, 'task.approved', task);
    return { code: 200, data: this.links.view(task) };
  }

  @Post('v1/tasks/:taskId/reject')
  @RouteConfig({ scope: 'approve', counted: 'polls' })
  @HttpCode(200)
  @UseInterceptors(TaskHeadersInterceptor)
  @DescribeReject()
  async reject(
    @Caller() caller: Caller,
    @Param() { taskId }: TaskIdParam,
    @Body() { reason }: RejectBody,
  ): Promise<TaskResponse> {
    const by = approverOf(caller);
    const task = await named(taskId, (id) => this.decide.reject(caller, id, by, reason ?? undefined));
    await this.record(caller, 'task.rejected', task, typeof reason === 'string' ? { reason } : {});
    return { code: 200, data: this.links.view(task) };
  }

  private async record(
    { accountId, keyId }: Caller,
    action: 'task.approved' | 'task.rejected',
    { id: target }: TaskSummary,
    details: Readonly<Record<string, unknown>> = {},
  ): Promise<void> {
    await this.audit.write({ accountId, personId: null, action, target, details: { ...details, key: keyId } });
  }
}

function approverOf({ keyId, originalKeyId }: Caller): Approver {
  return { id: keyId, originalKeyId };
}

/** Throws AppError `task_not_found` for an unknown task and for one that the caller may not see. */
async function named(taskId: string, decide: (id: string) => Promise<TaskSummary | undefined>): Promise<TaskSummary> {
  const task = isTaskId(taskId) ? await decide(taskId).catch(undecidable) : undefined;
  if (task === undefined) throw new AppError('task_not_found', 'Task not found.');
  return task;
}

function undecidable(cause: unknown): never {
  if (cause instanceof AppError) throw cause;
  throw unavailable('The task cannot be changed right now. Please try again shortly.', { retryAfter: 2, cause });
}
