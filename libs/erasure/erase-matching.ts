import { Injectable } from '@nestjs/common';
import type { Role } from '#accounts/person-rules.js';
import { AppError } from '#contract/app-error.js';
import type { TaskErasureView } from '#contract/task-receipt.js';
import { unixSeconds } from '#contract/image-result.js';
import { jsonOf } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { newErasureId } from '#tasks/row/task-id.js';
import type { OwnTasks, TaskScope } from '#tasks/row/task.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { CancelTask } from '#tasks/states/cancel-task.js';
import { DeletedTasks, type ErasureFilter } from '#tasks/states/deleted-tasks.js';
import { Logger } from '#telemetry/logger.js';
import { latestErasures, type ErasureRow } from './erasures.sql.js';

/** Tasks that are deleted at a time; of one request in one round, so that others get their turn. */
const BATCH = 200;
const BATCHES_PER_ROUND = 25;
/** Unfinished requests of an account, and those that are read at a time. */
const MAX_OPEN = 20;
const REQUESTS = 100;

/** Those that a list has. */
const LATEST = 20;

/** A request, and what it matches. */
export interface KnownErasure extends TaskErasureView {
  readonly filter: ErasureFilter;
}

/** The filter as its row holds it: times in ms since 1970. */
type StoredFilter = Omit<ErasureFilter, 'before'> & { readonly before: number };

/**
 * Requests to delete all tasks that match. The request is a row; workers walk through the tasks, newest first, and write
 * down how far they got.
 */
@Injectable()
export class EraseMatching {
  constructor(
    private readonly prisma: PrismaService,
    private readonly tasks: DeletedTasks,
    private readonly cancelTask: CancelTask,
    private readonly config: TasksConfig,
    private readonly logger: Logger,
  ) {}

  /**
   * `role`: of the person who requests it; undefined for a key that no person made. Throws AppError `not_permitted` for
   * what only an owner may delete, and `concurrency_limit_exceeded` while the account has too many that are not finished.
   */
  async request(
    { accountId, own, role }: TaskScope & { readonly role: Role | undefined },
    filter: ErasureFilter,
  ): Promise<TaskErasureView> {
    if (role !== undefined && role !== 'owner' && own === undefined && !isNarrow(filter)) {
      throw new AppError(
        'not_permitted',
        'Only an owner can delete tasks of the whole account without an end user or a tag.',
      );
    }
    const open = await this.prisma.erasure.count({ where: { accountId, selectedAt: null } });
    if (open >= MAX_OPEN) {
      throw new AppError('concurrency_limit_exceeded', `An account can have ${MAX_OPEN} deletions in progress.`, {
        retryAfter: 10,
      });
    }
    const stored: StoredFilter = { ...filter, before: filter.before.getTime() };
    const row = await this.prisma.erasure.create({
      data: { id: newErasureId(), accountId, scope: jsonOf(scopeOf(own)), filter: jsonOf(stored) },
    });
    this.logger.info('erasure.requested', { accountId });
    return viewOf(row, true);
  }

  /** Undefined when there is none, or its tasks are not those that this caller sees. */
  async find({ accountId, own }: TaskScope, id: string): Promise<TaskErasureView | undefined> {
    const row = await this.prisma.erasure.findUnique({ where: { id, accountId } });
    if (row === null) return undefined;
    if (own !== undefined && !covers(own, ownOf(row))) return undefined;
    return await this.view(accountId, row);
  }

  /** The newest ones whose tasks this caller sees. */
  async latest({ accountId, own }: TaskScope): Promise<KnownErasure[]> {
    const rows = await latestErasures(this.prisma, { accountId, own }, LATEST);
    return await Promise.all(
      rows.map(async (row) => ({ ...(await this.view(accountId, row)), filter: filterIn(row.filter) })),
    );
  }

  /**
   * One round over all unfinished requests: one that fails keeps none of the others. Throws when the database fails; the
   * next round continues.
   */
  async run(): Promise<void> {
    let page: StoredErasure[] = [];
    do {
      page = await this.prisma.erasure.findMany({
        where: { selectedAt: null, id: { gt: page.at(-1)?.id ?? '' } },
        orderBy: { id: 'asc' },
        take: REQUESTS,
      });
      for (const row of page) await this.tryToWalk(row);
    } while (page.length === REQUESTS);
    const keptMs = this.config.taskRetentionHours * 3_600_000;
    await this.prisma.erasure.deleteMany({ where: { selectedAt: { lt: new Date(Date.now() - keptMs) } } });
  }

  /** Since when the oldest unfinished request waits; undefined when there is none. */
  async dueSince(): Promise<Date | undefined> {
    const oldest = await this.prisma.erasure.findFirst({ where: { selectedAt: null }, orderBy: { id: 'asc' } });
    return oldest?.createdAt;
  }

  private async view(accountId: string, row: ErasureRow): Promise<TaskErasureView> {
    const { selectedAt } = row;
    if (selectedAt === null) return viewOf(row, true);
    const where = { accountId, deletedAt: { lte: selectedAt }, erasedAt: null };
    return viewOf(row, (await this.prisma.taskErasure.count({ where })) > 0);
  }

  /** The time now, and not before any mark: the database rounds the time of a mark to whole ms, and this one is cut. */
  private async afterAllMarks(): Promise<Date> {
    return new Date((await this.prisma.now()).getTime() + 1);
  }

  private async tryToWalk(row: StoredErasure): Promise<void> {
    try {
      await this.walk(row);
    } catch (error) {
      this.logger.warn('erasure.not_walked', { accountId: row.accountId, error });
    }
  }

  private async walk(row: StoredErasure): Promise<void> {
    const filter = filterIn(row.filter);
    const scope = { accountId: row.accountId, own: ownOf(row) ?? undefined };
    let { cursor } = row;
    for (let batch = 0; batch < BATCHES_PER_ROUND; batch++) {
      const page = await this.tasks.matching(scope, filter, cursor, BATCH);
      for (const { id, isPending } of page.tasks) if (isPending) await this.cancelTask.cancel(scope, id);
      const deleted = await this.tasks.mark(page.tasks.map(({ id }) => id));
      // First: a request that says it is completed has counted all.
      if (deleted.length > 0) {
        const data = { deleted: { increment: deleted.length } };
        await this.prisma.erasure.update({ where: { id: row.id }, data });
      }
      const { count } = await this.prisma.erasure.updateMany({
        where: { id: row.id, cursor, selectedAt: null },
        data: { cursor: page.next ?? cursor, selectedAt: page.next === null ? await this.afterAllMarks() : null },
      });
      // Another worker is faster, or this was the last one.
      if (count === 0 || page.next === null) return;
      cursor = page.next;
    }
  }
}

/** Whether something is left when all that match are gone: of all statuses and times, one after the other, nothing is. */
function isNarrow({ endUser, tag }: ErasureFilter): boolean {
  return endUser !== undefined || tag !== undefined;
}

interface StoredErasure {
  readonly id: string;
  readonly accountId: string;
  readonly scope: unknown;
  readonly filter: unknown;
  readonly cursor: string | null;
}

function scopeOf(own: OwnTasks | undefined): { own: OwnTasks | null } {
  return { own: own === undefined ? null : { keyIds: own.keyIds, personId: own.personId } };
}

function ownOf({ scope }: Pick<StoredErasure, 'scope'>): OwnTasks | null {
  return (scope as { readonly own: OwnTasks | null }).own;
}

/** Whether a reader sees all tasks of a request, as `latestErasures` has it: a rotation has given it more keys than it had. */
function covers({ personId, keyIds }: OwnTasks, requested: OwnTasks | null): boolean {
  if (requested === null) return false;
  if (requested.personId !== null && requested.personId !== personId) return false;
  return requested.keyIds.every((id) => keyIds.includes(id));
}

function filterIn(stored: unknown): ErasureFilter {
  const { before, ...filter } = stored as StoredFilter;
  return { ...filter, before: new Date(before) };
}

function viewOf({ id, deleted, createdAt }: Omit<ErasureRow, 'selectedAt'>, isOpen: boolean): TaskErasureView {
  return {
    id,
    object: 'task.erasure',
    status: isOpen ? 'in_progress' : 'completed',
    deleted,
    created: unixSeconds(createdAt),
  };
}
