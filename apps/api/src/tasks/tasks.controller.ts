import { Controller, Get, Inject, Req, Res } from '@nestjs/common';
import { RouteConfig } from '@nestjs/platform-fastify';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { taskView, type TaskView } from '#contract/task-view.js';
import { isTaskId } from '#tasks/task-id.js';
import { TaskStore } from '#tasks/task-store.js';
import type { TaskSummary } from '#tasks/task.js';
import { callerOf } from '../auth/api-key.guard.js';
import { listQuery } from './list-query.js';
import { TaskLinks } from './task-links.js';
import { DescribeTask, DescribeTaskList } from './tasks.openapi.js';

/** Seconds between polls of a task that still runs. */
const POLL_SECONDS = '3';
const COUNTS_AS_POLL = RouteConfig({ counted: 'polls' });

@ApiTags('Tasks')
@Controller('v1/tasks')
export class TasksController {
  constructor(
    @Inject(TaskStore) private readonly tasks: TaskStore,
    @Inject(TaskLinks) private readonly links: TaskLinks,
  ) {}

  @Get()
  @COUNTS_AS_POLL
  @DescribeTaskList()
  async list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const page = await this.tasks.list(callerOf(request).accountId, listQuery(request.query)).catch(unavailable);
    const data = page.tasks.map((task) => this.view(task));
    const next = page.hasMore ? (data.at(-1)?.id ?? null) : null;
    void reply.header('cache-control', 'no-store').send({ object: 'list', data, has_more: page.hasMore, next });
  }

  @Get(':taskId')
  @COUNTS_AS_POLL
  @DescribeTask()
  async find(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const { taskId } = request.params as { taskId: string };
    const task = isTaskId(taskId)
      ? await this.tasks.find(callerOf(request).accountId, taskId).catch(unavailable)
      : undefined;
    if (task === undefined) throw new AppError('task_not_found', 'There is no such task.');
    request.taskId = task.id;
    if (task.status === 'pending') void reply.header('retry-after', POLL_SECONDS);
    void reply
      .header('cache-control', 'no-store')
      .header('x-task-id', task.id)
      .send({ code: 200, data: this.view(task) });
  }

  private view(task: TaskSummary): TaskView {
    return taskView(task, (image) => this.links.linkTo(task, image));
  }
}

function unavailable(cause: unknown): never {
  throw new AppError('server_is_overloaded', 'Tasks cannot be read right now. Please try again shortly.', {
    retryAfter: 2,
    cause,
  });
}
