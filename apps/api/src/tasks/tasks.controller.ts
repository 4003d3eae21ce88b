import {
  Body,
  Controller,
  Delete,
  Get,
  Header,
  HttpCode,
  Param,
  Post,
  Query,
  Res,
  UseInterceptors,
} from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { RouteConfig } from '@nestjs/platform-fastify';
import type { FastifyReply } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { unavailable } from '#contract/unavailable.js';
import type { ImageTaskView } from '#contract/image-task-view.js';
import type { TaskBatchResponse, TaskListResponse, TaskResponse, TaskView } from '#contract/task-view.js';
import type { DeletedTaskResponse, TaskErasureView } from '#contract/task-receipt.js';
import { EraseMatching } from '#erasure/erase-matching.js';
import { TaskEstimates } from '#tasks/admission/task-estimates.js';
import { isTaskId } from '#tasks/row/task-id.js';
import { TaskListStore } from '#tasks/reading/task-list-store.js';
import { TaskStore } from '#tasks/reading/task-store.js';
import { isDeleted, taskDeleted, type TaskSummary } from '#tasks/row/task.js';
import { Caller } from '../auth/caller.decorator.js';
import { IdParam, TaskIdParam } from '../common/params.js';
import { TellCost } from '../common/tell-cost.js';
import { CancelOwnTask } from './cancel-own-task.js';
import { DeleteOwnTask } from './delete-own-task.js';
import { FollowTask } from './follow-task.js';
import { deletionOf, DeleteQuery } from './dto/delete-query.dto.js';
import { ListQuery } from './dto/list-query.dto.js';
import { PollQuery } from './dto/poll-query.dto.js';
import { TaskHeadersInterceptor } from './task-headers.interceptor.js';
import { TaskIdsPipe } from './task-ids.pipe.js';
import { TaskLinks } from '#answers/task-links.js';
import { TaskViews } from '#answers/task-views.js';
import { timelineOf } from '#answers/task-timeline.js';
import {
  DescribeCancel,
  DescribeDelete,
  DescribeDeleteMany,
  DescribeErasure,
  DescribeImageTask,
  DescribeTask,
  DescribeTaskBatch,
  DescribeTaskEvents,
  DescribeTaskList,
} from './tasks.openapi.js';

const COUNTS_AS_POLL = RouteConfig({ scope: 'tasks', counted: 'polls' });

/** The tasks that a caller's key may see: read, wait, follow, list, cancel, delete. */
@ApiTags('Tasks')
@Controller()
export class TasksController {
  constructor(
    private readonly tasks: TaskStore,
    private readonly lists: TaskListStore,
    private readonly links: TaskLinks,
    private readonly views: TaskViews,
    private readonly follow: FollowTask,
    private readonly cancelTask: CancelOwnTask,
    private readonly deleteTask: DeleteOwnTask,
    private readonly erasures: EraseMatching,
    private readonly estimates: TaskEstimates,
    private readonly costs: TellCost,
  ) {}

  @Get('v1/tasks')
  @COUNTS_AS_POLL
  @Header('cache-control', 'no-store')
  @DescribeTaskList()
  async list(@Caller() caller: Caller, @Query() query: ListQuery): Promise<TaskListResponse> {
    const { end_user: endUser, ...filters } = query;
    const page = await this.lists.list(caller, { ...filters, endUser, kept: true }).catch(unreadable);
    const data = await this.views.of(page.tasks);
    const next = page.hasMore ? (data.at(-1)?.id ?? null) : null;
    return { object: 'list', data, has_more: page.hasMore, next };
  }

  @Post('v1/tasks/batch')
  @COUNTS_AS_POLL
  @HttpCode(200)
  @Header('cache-control', 'no-store')
  @DescribeTaskBatch()
  async batch(@Caller() caller: Caller, @Body(TaskIdsPipe) ids: string[]): Promise<TaskBatchResponse> {
    const stored = await this.tasks.findAll(caller, ids.filter(isTaskId)).catch(unreadable);
    const found = stored.filter((task) => !isDeleted(task));
    const views = new Map((await this.views.of(found)).map((view) => [view.id, view]));
    return {
      code: 200,
      data: ids.flatMap((id) => views.get(id) ?? []),
      missing: ids.filter((id) => !views.has(id)),
    };
  }

  @Get('v1/tasks/:taskId')
  @COUNTS_AS_POLL
  @UseInterceptors(TaskHeadersInterceptor)
  @DescribeTask()
  async find(
    @Caller() caller: Caller,
    @Param() { taskId }: TaskIdParam,
    @Query() { wait = 0, include }: PollQuery,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<TaskResponse> {
    const found = await this.named(taskId, (id) => this.tasks.find(caller, id));
    const isHeld = wait > 0 && isRead(reply);
    const task = isHeld ? kept(await this.follow.changed(found, wait * 1_000, reply)) : found;
    const history = include === undefined ? undefined : await this.tasks.history(caller, task.id).catch(unreadable);
    if (isRead(reply)) await this.costs.tell(task, reply);
    return await this.answer(task, history === undefined ? {} : { timeline: timelineOf(history) });
  }

  /** For clients of sub2api, which build this path from the task's id. */
  @Get('v1/images/tasks/:taskId')
  @COUNTS_AS_POLL
  @UseInterceptors(TaskHeadersInterceptor)
  @DescribeImageTask()
  async findImageTask(
    @Caller() caller: Caller,
    @Param() { taskId }: TaskIdParam,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ImageTaskView> {
    const task = await this.named(taskId, (id) => this.tasks.find(caller, id));
    const view = this.links.imageTask(task);
    if (view === undefined) throw notFound();
    if (isRead(reply)) await this.costs.tell(task, reply);
    return view;
  }

  @Get('v1/tasks/:taskId/events')
  @COUNTS_AS_POLL
  @DescribeTaskEvents()
  async events(@Caller() caller: Caller, @Param() { taskId }: TaskIdParam, @Res() reply: FastifyReply): Promise<void> {
    const task = await this.named(taskId, (id) => this.tasks.find(caller, id));
    void reply.header('x-task-id', task.id);
    if (isRead(reply)) this.follow.stream(task, (await this.estimates.positions([task])).get(task.id), reply);
    else void reply.type('text/event-stream; charset=utf-8').header('cache-control', 'no-store').send();
  }

  @Post('v1/tasks/:taskId/cancel')
  @RouteConfig({ bodyless: true, scope: 'images', counted: 'polls' })
  @HttpCode(200)
  @UseInterceptors(TaskHeadersInterceptor)
  @DescribeCancel()
  async cancel(@Caller() caller: Caller, @Param() { taskId }: TaskIdParam): Promise<TaskResponse> {
    return await this.answer(await this.named(taskId, (id) => this.cancelTask.cancel(caller, id)));
  }

  @Delete('v1/tasks')
  @RouteConfig({ bodyless: true, scope: 'images', counted: 'polls' })
  @HttpCode(202)
  @Header('cache-control', 'no-store')
  @DescribeDeleteMany()
  async deleteMany(@Caller() caller: Caller, @Query() query: DeleteQuery): Promise<TaskErasureView> {
    return await this.erasures.request(caller, deletionOf(query)).catch(unreadable);
  }

  @Get('v1/erasures/:id')
  @COUNTS_AS_POLL
  @Header('cache-control', 'no-store')
  @DescribeErasure()
  async findErasure(@Caller() caller: Caller, @Param() { id }: IdParam): Promise<TaskErasureView> {
    const found = await this.erasures.find(caller, id).catch(unreadable);
    if (found === undefined) throw new AppError('not_found', 'There is no deletion with this ID.');
    return found;
  }

  @Delete('v1/tasks/:taskId')
  @RouteConfig({ bodyless: true, scope: 'images', counted: 'polls' })
  @Header('cache-control', 'no-store')
  @DescribeDelete()
  async delete(
    @Caller() caller: Caller,
    @Param() { taskId }: TaskIdParam,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<DeletedTaskResponse> {
    const receipt = isTaskId(taskId) ? await this.deleteTask.delete(caller, taskId).catch(unreadable) : undefined;
    if (receipt === undefined) throw notFound();
    reply.request.taskId = taskId;
    void reply.header('x-task-id', taskId).code(receipt === null ? 202 : 200);
    return { id: taskId, object: 'task.deleted', deleted: true, receipt };
  }

  /**
   * The caller's task from `lookUp`. Throws the same AppError `task_not_found` for an unknown task and for one that the
   * caller may not see, and `task_deleted` for one that was deleted.
   */
  private async named(taskId: string, lookUp: (id: string) => Promise<TaskSummary | undefined>): Promise<TaskSummary> {
    const task = isTaskId(taskId) ? await lookUp(taskId).catch(unreadable) : undefined;
    if (task === undefined) throw notFound();
    return kept(task);
  }

  private async answer(task: TaskSummary, more: Pick<TaskView, 'timeline'> = {}): Promise<TaskResponse> {
    const [view = this.links.view(task)] = await this.views.of([task]);
    return { code: 200, data: { ...view, ...more } };
  }
}

/** Throws AppError `task_deleted`. */
function kept(task: TaskSummary): TaskSummary {
  if (isDeleted(task)) throw taskDeleted(task.id);
  return task;
}

function notFound(): AppError {
  return new AppError('task_not_found', 'Task not found.');
}

/** HEAD is routed like GET, but does not wait, because it sends no body. */
function isRead({ request }: FastifyReply): boolean {
  return request.method === 'GET';
}

function unreadable(cause: unknown): never {
  if (cause instanceof AppError) throw cause;
  throw unavailable('Tasks cannot be read right now. Please try again shortly.', {
    retryAfter: 2,
    cause,
  });
}
