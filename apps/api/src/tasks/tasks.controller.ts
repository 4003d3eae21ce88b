import { Controller, Get, HttpCode, Post, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import type { TaskView } from '#contract/task-view.js';
import { TaskEstimates } from '#tasks/task-estimates.js';
import { isTaskId } from '#tasks/task-id.js';
import { TaskStore } from '#tasks/task-store.js';
import type { TaskSummary } from '#tasks/task.js';
import { callerOf } from '../auth/api-key.guard.js';
import { batchBody } from './batch-body.js';
import { CancelOwnTask } from './cancel-own-task.js';
import { FollowTask } from './follow-task.js';
import { wantsTimeline } from './include-query.js';
import { listQuery } from './list-query.js';
import { TaskLinks } from '#answers/task-links.js';
import { timelineOf } from '#answers/task-timeline.js';
import {
  DescribeCancel,
  DescribeTask,
  DescribeTaskBatch,
  DescribeTaskEvents,
  DescribeTaskList,
} from './tasks.openapi.js';
import { waitQuery } from './wait-query.js';

/** Seconds between polls of a task that still runs. */
const POLL_SECONDS = '3';
const COUNTS_AS_POLL = RouteConfig({ scope: 'tasks', counted: 'polls' });

@ApiTags('Tasks')
@Controller('v1/tasks')
export class TasksController {
  constructor(
    private readonly tasks: TaskStore,
    private readonly links: TaskLinks,
    private readonly follow: FollowTask,
    private readonly cancelTask: CancelOwnTask,
    private readonly estimates: TaskEstimates,
  ) {}

  @Get()
  @COUNTS_AS_POLL
  @DescribeTaskList()
  async list(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const page = await this.tasks.list(callerOf(request).accountId, listQuery(request.query)).catch(unavailable);
    const data = await this.links.views(page.tasks);
    const next = page.hasMore ? (data.at(-1)?.id ?? null) : null;
    void reply.header('cache-control', 'no-store').send({ object: 'list', data, has_more: page.hasMore, next });
  }

  @Post('batch')
  @COUNTS_AS_POLL
  @HttpCode(200)
  @DescribeTaskBatch()
  async batch(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const ids = batchBody(request.body);
    const found = await this.tasks.findAll(callerOf(request).accountId, ids.filter(isTaskId)).catch(unavailable);
    const views = new Map((await this.links.views(found)).map((view) => [view.id, view]));
    void reply.header('cache-control', 'no-store').send({
      code: 200,
      data: ids.flatMap((id) => views.get(id) ?? []),
      missing: ids.filter((id) => !views.has(id)),
    });
  }

  @Get(':taskId')
  @COUNTS_AS_POLL
  @DescribeTask()
  async find(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const waitMs = waitQuery(request.query);
    const withTimeline = wantsTimeline(request.query);
    const found = await this.own(request, (accountId, id) => this.tasks.find(accountId, id));
    const task = waitMs > 0 && isRead(request) ? await this.follow.changed(found, waitMs, reply) : found;
    if (!withTimeline) return this.answer(task, reply);
    const history = await this.tasks.history(callerOf(request).accountId, task.id).catch(unavailable);
    await this.answer(task, reply, history === undefined ? {} : { timeline: timelineOf(history) });
  }

  @Get(':taskId/events')
  @COUNTS_AS_POLL
  @DescribeTaskEvents()
  async events(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    const task = await this.own(request, (accountId, id) => this.tasks.find(accountId, id));
    void reply.header('x-task-id', task.id);
    if (isRead(request)) this.follow.stream(task, (await this.estimates.places([task])).get(task.id), reply);
    else void reply.type('text/event-stream; charset=utf-8').header('cache-control', 'no-store').send();
  }

  @Post(':taskId/cancel')
  @RouteConfig({ bodyless: true, scope: 'images', counted: 'polls' })
  @HttpCode(200)
  @DescribeCancel()
  async cancel(@Req() request: FastifyRequest, @Res() reply: FastifyReply): Promise<void> {
    await this.answer(await this.own(request, (accountId, id) => this.cancelTask.cancel(accountId, id)), reply);
  }

  /** What `lookUp` finds for the caller. Throws the one AppError `task_not_found` for whatever is not theirs. */
  private async own(
    request: FastifyRequest,
    lookUp: (accountId: string, id: string) => Promise<TaskSummary | undefined>,
  ): Promise<TaskSummary> {
    const { taskId } = request.params as { taskId: string };
    const task = isTaskId(taskId) ? await lookUp(callerOf(request).accountId, taskId).catch(unavailable) : undefined;
    if (task === undefined) throw new AppError('task_not_found', 'There is no such task.');
    request.taskId = task.id;
    return task;
  }

  private async answer(task: TaskSummary, reply: FastifyReply, more: Partial<TaskView> = {}): Promise<void> {
    // Only a task that waits has a place to ask for; everything else is answered at once.
    const [data] = task.phase === 'queued' ? await this.links.views([task]) : [this.links.view(task)];
    if (task.status === 'pending') void reply.header('retry-after', POLL_SECONDS);
    void reply
      .header('cache-control', 'no-store')
      .header('x-task-id', task.id)
      .send({ code: 200, data: { ...data, ...more } });
  }
}

/** HEAD takes the same way as GET, but nobody waits for a body that is not sent. */
function isRead(request: FastifyRequest): boolean {
  return request.method === 'GET';
}

function unavailable(cause: unknown): never {
  throw new AppError('server_is_overloaded', 'Tasks cannot be read right now. Please try again shortly.', {
    retryAfter: 2,
    cause,
  });
}
