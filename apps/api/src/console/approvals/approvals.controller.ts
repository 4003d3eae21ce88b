import { Body, Get, HttpCode, Param, Post, UseInterceptors } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { RouteConfig } from '@nestjs/platform-fastify';
import { AuditLog } from '#accounts/audit-log.js';
import { AppError } from '#contract/app-error.js';
import { isTaskId } from '#tasks/row/task-id.js';
import type { TaskSummary } from '#tasks/row/task.js';
import { ApproveTask } from '#tasks/states/approve-task.js';
import { TaskIdParam } from '../../common/params.js';
import { RejectBody } from '../../tasks/dto/reject-body.dto.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { Session } from '../session.decorator.js';
import { ConsoleTaskView } from '../tasks/dto/task-views.dto.js';
import { OwnTasks } from '../tasks/own-tasks.js';
import { TaskLogInterceptor } from '../tasks/task-log.interceptor.js';
import { VisibleTasks, type TaskViewer } from '../tasks/visible-tasks.js';
import { ApprovalCountView, ApprovalListView } from './dto/approval-views.dto.js';
import { ShownApprovals } from './shown-approvals.js';

/** Requests above a price: owners and admins of the account approve or reject them. */
@ConsoleController('Tasks')
@Allow('tasks.approve')
export class ApprovalsController {
  constructor(
    private readonly approvals: ShownApprovals,
    private readonly decide: ApproveTask,
    private readonly tasks: OwnTasks,
    private readonly audit: AuditLog,
  ) {}

  @Get('approvals')
  @ApiResponse({ status: 200, type: ApprovalListView })
  async list(@Session() { accountId }: Session): Promise<ApprovalListView> {
    return await this.approvals.list(accountId);
  }

  @Get('approvals/count')
  @ApiResponse({ status: 200, type: ApprovalCountView })
  async count(@Session() { accountId }: Session): Promise<ApprovalCountView> {
    return { count: await this.approvals.count(accountId) };
  }

  @Post('tasks/:taskId/approve')
  @RouteConfig({ bodyless: true })
  @UseInterceptors(TaskLogInterceptor)
  @HttpCode(200)
  @ApiResponse({
    status: 200,
    type: ConsoleTaskView,
    description: 'The task takes its place in the queue as if it had arrived now. 409 if it is not held, or no longer.',
  })
  async approve(
    @Session() session: Session,
    @VisibleTasks() viewer: TaskViewer,
    @Param() { taskId }: TaskIdParam,
  ): Promise<ConsoleTaskView> {
    const task = known(
      isTaskId(taskId) ? await this.decide.approve(viewer, taskId, { id: session.personId }) : undefined,
    );
    await this.audit.record(session, 'task.approved', task.id);
    return await this.tasks.view(viewer, task);
  }

  @Post('tasks/:taskId/reject')
  @UseInterceptors(TaskLogInterceptor)
  @HttpCode(200)
  @ApiResponse({
    status: 200,
    type: ConsoleTaskView,
    description:
      'The task fails with `approval_rejected`, and its reserve is refunded. 409 if it is not held, or no longer.',
  })
  async reject(
    @Session() session: Session,
    @VisibleTasks() viewer: TaskViewer,
    @Param() { taskId }: TaskIdParam,
    @Body() { reason }: RejectBody,
  ): Promise<ConsoleTaskView> {
    const by = { id: session.personId };
    const task = known(
      isTaskId(taskId) ? await this.decide.reject(viewer, taskId, by, reason ?? undefined) : undefined,
    );
    await this.audit.record(session, 'task.rejected', task.id, typeof reason === 'string' ? { reason } : {});
    return await this.tasks.view(viewer, task);
  }
}

function known(task: TaskSummary | undefined): TaskSummary {
  if (task === undefined) throw new AppError('task_not_found', 'Task not found.');
  return task;
}
