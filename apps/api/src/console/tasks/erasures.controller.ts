import { Body, Get, Header, HttpCode, Param, Post } from '@nestjs/common';
import { ApiResponse } from '@nestjs/swagger';
import { AuditLog } from '#accounts/audit-log.js';
import { AppError } from '#contract/app-error.js';
import { EraseMatching, type KnownErasure } from '#erasure/erase-matching.js';
import { Receipts } from '#erasure/receipts.js';
import type { TaskScope } from '#tasks/row/task.js';
import { isTaskId } from '#tasks/row/task-id.js';
import type { ErasureFilter } from '#tasks/states/deleted-tasks.js';
import { TaskIdParam } from '../../common/params.js';
import { Allow } from '../abilities.guard.js';
import { ConsoleController } from '../console-controller.js';
import { Session } from '../session.decorator.js';
import { assertTyped } from '../team/dto/team-bodies.dto.js';
import { ErasureBody, ErasureListView, ErasureView, TaskReceiptView } from './dto/erasures.dto.js';
import { VisibleTasks } from './visible-tasks.js';

/** Deletions of all tasks that match, how far they are, and the proof that a task is gone. */
@ConsoleController('Tasks')
export class ErasuresController {
  constructor(
    private readonly erasures: EraseMatching,
    private readonly receipts: Receipts,
    private readonly audit: AuditLog,
  ) {}

  @Get('erasures')
  @Allow('tasks.create')
  @ApiResponse({ status: 200, type: ErasureListView })
  async list(@VisibleTasks() scope: TaskScope): Promise<ErasureListView> {
    return { data: (await this.erasures.latest(scope)).map(viewOf) };
  }

  @Post('erasures')
  @Allow('tasks.create')
  @HttpCode(202)
  @ApiResponse({ status: 202, type: ErasureView, description: 'Deletes the tasks in the background.' })
  async request(
    @Session() session: Session,
    @VisibleTasks() scope: TaskScope,
    @Body() body: ErasureBody,
  ): Promise<ErasureView> {
    const filter = filterOf(body);
    if (isForAll(filter)) assertMayDeleteAll(session, body);
    const requested = await this.erasures.request({ ...scope, role: session.role }, filter);
    const { status, end_user, tag, before } = filterView(filter);
    await this.audit.record(session, 'tasks.deletion_requested', requested.id, { status, end_user, tag, before });
    return viewOf({ ...requested, filter });
  }

  @Get('tasks/:taskId/receipt')
  @Allow('tasks.read')
  @Header('cache-control', 'no-store')
  @ApiResponse({ status: 200, type: TaskReceiptView })
  async receipt(@VisibleTasks() scope: TaskScope, @Param() { taskId }: TaskIdParam): Promise<TaskReceiptView> {
    const receipt = isTaskId(taskId) ? await this.receipts.of(scope, taskId) : undefined;
    if (receipt === undefined) throw new AppError('task_not_found', 'There is no deleted task with this ID.');
    return { receipt };
  }
}

/** Nothing that was accepted after the request. */
function filterOf({ status, end_user: endUser, tag, before }: ErasureBody): ErasureFilter {
  const now = new Date();
  const until = typeof before === 'string' && Date.parse(before) < now.getTime() ? new Date(before) : now;
  return { before: until, status: status ?? undefined, endUser: endUser ?? undefined, tag: tag ?? undefined };
}

/** A time alone leaves nothing that was accepted before it. */
function isForAll({ status, endUser, tag }: ErasureFilter): boolean {
  return status === undefined && endUser === undefined && tag === undefined;
}

/** Throws AppError unless an owner has typed the name of the account. */
function assertMayDeleteAll({ role, accountName }: Session, { all, before, name }: ErasureBody): void {
  if (all !== true && typeof before !== 'string') {
    throw new AppError('missing_required_parameter', 'Say which tasks to delete, or all.', { param: 'all' });
  }
  if (role !== 'owner') throw new AppError('not_permitted', 'Only an owner can delete all tasks of the account.');
  assertTyped(name ?? '', accountName);
}

function viewOf({ id, status, deleted, created, filter }: KnownErasure): ErasureView {
  return { id, status, deleted, created_at: new Date(created * 1_000).toISOString(), filter: filterView(filter) };
}

function filterView({ status, endUser, tag, before }: ErasureFilter): ErasureView['filter'] {
  return {
    ...(status !== undefined && { status }),
    ...(endUser !== undefined && { end_user: endUser }),
    ...(tag !== undefined && { tag }),
    before: before.toISOString(),
  };
}
