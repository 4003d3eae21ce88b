import { Delete, Get, Headers, HttpCode, Param, Post, Query, Redirect, Res, UseInterceptors } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiExtraModels, ApiQuery, ApiResponse, getSchemaPath } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import type { IncomingHttpHeaders } from 'node:http';
import { AuditLog } from '#accounts/audit-log.js';
import { TASK_ORDERS } from '#tasks/reading/task-list-store.js';
import type { TaskScope } from '#tasks/row/task.js';
import { AccountTasks } from './account-tasks.js';
import { ConsoleCaller } from './console-caller.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { RetryTask } from './retry-task.js';
import { OwnTasks } from './own-tasks.js';
import { Session } from '../session.decorator.js';
import { TaskLogInterceptor } from './task-log.interceptor.js';
import { Thumbnails } from './thumbnails.js';
import { VisibleTasks, type TaskViewer } from './visible-tasks.js';
import {
  ApiOutcomeFilter,
  ApiTaskFilter,
  CONSOLE_STATES,
  ConsoleTaskQuery,
  OutcomeQuery,
  TaskExportQuery,
} from './dto/task-query.dto.js';
import {
  AcceptedTaskView,
  ConsoleTaskPage,
  ConsoleTaskView,
  OutcomesView,
  PartialPictureView,
  TaskCountView,
} from './dto/task-views.dto.js';
import { TaskIdParam } from '../../common/params.js';
import { RequestId } from '../../common/request.decorators.js';
import { ApiPage } from '../../common/query-fields.js';
import { requestMark } from '../../images/request-mark.js';

/** The account's tasks, or a member's own: search, view, cancel, retry. */
@ConsoleController('Tasks', 'tasks')
@Allow('tasks.read')
export class ConsoleTasksController {
  constructor(
    private readonly tasks: AccountTasks,
    private readonly own: OwnTasks,
    private readonly again: RetryTask,
    private readonly callers: ConsoleCaller,
    private readonly audit: AuditLog,
    private readonly thumbnails: Thumbnails,
  ) {}

  @Get()
  @ApiPage()
  @ApiQuery({ name: 'order', required: false, enum: TASK_ORDERS })
  @ApiQuery({ name: 'status', required: false, enum: CONSOLE_STATES })
  @ApiQuery({ name: 'favorites', required: false, description: 'Only favorites.', schema: { type: 'boolean' } })
  @ApiQuery({
    name: 'images',
    required: false,
    description: 'Only completed tasks whose images are stored; not with a `status`.',
    schema: { type: 'boolean' },
  })
  @ApiTaskFilter()
  @ApiResponse({ status: 200, type: ConsoleTaskPage })
  async list(@VisibleTasks() scope: TaskScope, @Query() query: ConsoleTaskQuery): Promise<ConsoleTaskPage> {
    return await this.tasks.list(scope, query);
  }

  @Get('count')
  @ApiQuery({ name: 'status', required: false, enum: CONSOLE_STATES })
  @ApiTaskFilter()
  @ApiResponse({ status: 200, type: TaskCountView })
  async count(@VisibleTasks() scope: TaskScope, @Query() filter: TaskExportQuery): Promise<TaskCountView> {
    const counted = await this.tasks.count(scope, filter);
    return {
      count: counted?.count ?? null,
      has_more: counted?.hasMore ?? true,
      sortable: counted?.isRankable ?? false,
    };
  }

  @Get('outcomes')
  @ApiQuery({ name: 'status', required: false, enum: CONSOLE_STATES })
  @ApiOutcomeFilter()
  @ApiResponse({
    status: 200,
    type: OutcomesView,
    description: 'Among the newest 5,000 tasks, or 1,000 of a member’s own.',
  })
  async outcomes(@VisibleTasks() scope: TaskScope, @Query() filter: OutcomeQuery): Promise<OutcomesView> {
    const { providers, errors, hasMoreOfProviders, hasMoreOfErrors } = await this.tasks.countByOutcome(scope, filter);
    return {
      providers: [...providers],
      errors: [...errors],
      more_providers: hasMoreOfProviders,
      more_errors: hasMoreOfErrors,
    };
  }

  @Get(':taskId')
  @UseInterceptors(TaskLogInterceptor)
  @ApiResponse({ status: 200, type: ConsoleTaskView })
  async find(@VisibleTasks() scope: TaskViewer, @Param() { taskId }: TaskIdParam): Promise<ConsoleTaskView> {
    return await this.own.view(scope, await this.own.findAny(scope, taskId));
  }

  @Get(':taskId/events')
  @ApiExtraModels(PartialPictureView)
  @ApiResponse({
    status: 200,
    description:
      'Server-sent events `task.updated` (a ConsoleTaskView) and `partial` (a PartialPictureView), until the task ends.',
    content: {
      'text/event-stream': {
        schema: {
          anyOf: [{ $ref: getSchemaPath(ConsoleTaskView) }, { $ref: getSchemaPath(PartialPictureView) }],
        },
      },
    },
  })
  async events(
    @VisibleTasks() scope: TaskViewer,
    @Param() { taskId }: TaskIdParam,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    this.own.follow(scope, await this.own.find(scope, taskId), reply);
  }

  @Get(':taskId/thumbnail')
  @Redirect()
  @ApiResponse({
    status: 302,
    description: 'To the thumbnail, which is created if the task has none; if that takes long or fails, to the image.',
  })
  async thumbnail(@VisibleTasks() scope: TaskScope, @Param() { taskId }: TaskIdParam): Promise<{ url: string }> {
    return { url: await this.thumbnails.urlOf(scope.accountId, await this.own.find(scope, taskId)) };
  }

  @Post(':taskId/cancel')
  @Allow('tasks.create')
  @RouteConfig({ bodyless: true })
  @UseInterceptors(TaskLogInterceptor)
  @HttpCode(200)
  @ApiResponse({ status: 200, type: ConsoleTaskView })
  async cancel(
    @Session() session: Session,
    @VisibleTasks() scope: TaskViewer,
    @Param() { taskId }: TaskIdParam,
  ): Promise<ConsoleTaskView> {
    const task = await this.own.cancel(scope, taskId);
    await this.audit.record(session, 'task.cancelled', task.id);
    return await this.own.view(scope, task);
  }

  @Post(':taskId/favorite')
  @Allow('tasks.create')
  @RouteConfig({ bodyless: true })
  @UseInterceptors(TaskLogInterceptor)
  @HttpCode(200)
  @ApiResponse({
    status: 200,
    type: ConsoleTaskView,
    description: 'Keeps the images for as long as the task is a favorite.',
  })
  async favor(@VisibleTasks() scope: TaskViewer, @Param() { taskId }: TaskIdParam): Promise<ConsoleTaskView> {
    return await this.own.view(scope, await this.own.setFavorite(scope, taskId, true));
  }

  @Delete(':taskId/favorite')
  @Allow('tasks.create')
  @UseInterceptors(TaskLogInterceptor)
  @ApiResponse({ status: 200, type: ConsoleTaskView })
  async unfavor(@VisibleTasks() scope: TaskViewer, @Param() { taskId }: TaskIdParam): Promise<ConsoleTaskView> {
    return await this.own.view(scope, await this.own.setFavorite(scope, taskId, false));
  }

  @Post(':taskId/again')
  @Allow('tasks.create')
  @RouteConfig({ bodyless: true })
  @UseInterceptors(TaskLogInterceptor)
  @HttpCode(202)
  @ApiResponse({ status: 202, type: AcceptedTaskView })
  async runAgain(
    @Session() session: Session,
    @VisibleTasks() scope: TaskScope,
    @Param() { taskId }: TaskIdParam,
    @RequestId() requestId: string,
    @Headers() headers: IncomingHttpHeaders,
  ): Promise<AcceptedTaskView> {
    await this.own.find(scope, taskId);
    const request = { requestId, mark: requestMark(headers) };
    const { task, attached } = await this.again.run(session.accountId, taskId, () => this.callers.of(session), request);
    // A repeated request has created nothing.
    if (!attached) await this.audit.record(session, 'task.made_again', task.id, { from: taskId });
    return { task_id: task.id };
  }
}
