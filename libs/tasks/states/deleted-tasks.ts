import { Injectable } from '@nestjs/common';
import { decodeTime } from 'ulid';
import { definedFields, inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { ownerOfKey, resultKey, RESULT_EXTENSIONS, thumbnailKey } from '#storage/object-key.js';
import {
  deleteTasks,
  expiredTasks,
  isUploadUnused,
  markErased,
  taskToErase,
  tasksToErase,
  type DeletedTask,
  type ErasedContents,
  type TaskToErase,
} from '../row/delete-task.sql.js';
import { sentKeys, toImages } from '../row/task-columns.js';
import type { Lease, OwnTasks, TaskScope } from '../row/task.js';
import { labeledTasks, labelOf } from '../row/task-labels.sql.js';
import { endedTasksOf, tasksOf } from '../row/task-scope.js';
import type { TaskStatus } from '../row/task-status.js';
import { TasksConfig } from '../row/tasks.config.js';
import { TaskEvents } from './task-events.js';
import { forgetStoredInputs } from '../retention/stored-inputs.js';

/** A worker that has lost its task, and can't say that it has stopped, stops when it next renews its lease; what it was storing takes no longer than this. */
const STORING_MS = 10_000;
/** Attempts before the last one whose late objects are looked for. Older workers have long stopped. */
const LATE_ATTEMPTS = 2;
/** How far the clocks of the API, which dates uploads, and the database may be apart. */
const CLOCKS_APART_MS = 60_000;

/** The objects of a deleted task. */
export interface DeletedObjects {
  readonly accountId: string;
  /** Keys of its own objects, which may or may not exist. */
  readonly keys: readonly string[];
  /** Keys of uploads that it named, which go with it if it is the last one that needs them; none if it expired. */
  readonly uploads: readonly string[];
  /** No worker can store another one. */
  readonly isFinal: boolean;
  readonly images: readonly { readonly sha256: string }[];
  readonly inputs: number;
}

/** When a task was deleted, and when the last of its contents was gone. */
export interface Erasure {
  readonly deletedAt: Date;
  readonly erasedAt: Date | null;
  readonly contents: ErasedContents | null;
}

/** Which of a caller's tasks to delete. */
export interface ErasureFilter {
  /** Only tasks created before this time. */
  readonly before: Date;
  readonly status?: TaskStatus | undefined;
  readonly endUser?: string | undefined;
  readonly tag?: string | undefined;
}

/** A page of tasks to delete. */
interface MatchingTasks {
  readonly tasks: readonly { readonly id: string; readonly isPending: boolean }[];
  /** Where the next page begins; null: this was the last one. */
  readonly next: string | null;
}

/** Tasks that were deleted: their rows stay for the ledger, and say so. */
@Injectable()
export class DeletedTasks {
  constructor(
    private readonly prisma: PrismaService,
    private readonly events: TaskEvents,
    private readonly config: TasksConfig,
  ) {}

  /**
   * Deletes ended tasks: nobody can read them any more, and their texts are gone. Returns the ids of those that were not
   * deleted before. Their objects are for `toErase`.
   */
  async mark(ids: readonly string[]): Promise<string[]> {
    if (ids.length === 0) return [];
    const deleted = await deleteTasks(this.prisma.pool, ids);
    for (const id of deleted) this.events.publishChanged(id);
    return deleted;
  }

  /** Deletes tasks whose lifetime is over, up to a number of them; returns how many. */
  async markExpired(limit: number): Promise<number> {
    const due = await expiredTasks(this.prisma.pool, limit);
    await this.mark(due);
    return due.length;
  }

  /** Tasks of a scope that match and were not deleted. `cursor`: `next` of the page before. */
  async matching(
    { accountId, own }: TaskScope,
    filter: ErasureFilter,
    cursor: string | null,
    limit: number,
  ): Promise<MatchingTasks> {
    const { before, status, endUser, tag } = filter;
    const [time = '', id = ''] = cursor?.split(' ') ?? [];
    const after = cursor === null ? undefined : { id, createdAt: new Date(time) };
    const label = labelOf(filter);
    const page = { accountId, since: undefined, until: before, after, order: 'newest' } as const;
    const places =
      label === undefined
        ? await this.newest(page, partsOf(own, status), limit)
        : await labeledTasks(this.prisma.pool, { ...page, ...label }, limit);
    const where = {
      ...definedFields({ accountId, status, endUser }),
      ...(tag !== undefined && { tags: { has: tag } }),
      id: { in: inList(places.map((place) => place.id)) },
      deletedAt: null,
      ...tasksOf(own),
    };
    const rows = await this.prisma.task.findMany({ where, select: { id: true, status: true } });
    return { tasks: rows.map(foundTask), next: nextOf(places, limit) };
  }

  /** A page of the tasks in some parts, newest first, whether they match or not: so its effort has a bound. */
  private async newest({ accountId, until, after }: PageOfTasks, parts: readonly object[], limit: number) {
    const found = new Map<string, Place>();
    for (const part of parts) {
      const rows = await this.prisma.task.findMany({
        where: {
          ...part,
          accountId,
          // An index can start only from the time.
          AND: [
            { createdAt: { lt: until, ...(after && { lte: after.createdAt }) } },
            ...(after ? [{ NOT: { createdAt: after.createdAt, id: { gte: after.id } } }] : []),
          ],
        },
        orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
        take: limit,
        select: { id: true, createdAt: true },
      });
      for (const row of rows) found.set(row.id, row);
    }
    const places = [...found.values()];
    places.sort((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || (a.id < b.id ? 1 : -1));
    return places.slice(0, limit);
  }

  /** A page of deleted tasks whose objects may still exist, oldest first. */
  async toErase(after: DeletedTask | undefined, limit: number): Promise<DeletedTask[]> {
    return await tasksToErase(this.prisma.pool, after, limit);
  }

  /** Since when the oldest of them is deleted; undefined when there is none. */
  async erasureDueSince(): Promise<Date | undefined> {
    const [oldest] = await tasksToErase(this.prisma.pool, undefined, 1);
    return oldest && new Date(oldest.deletedAt);
  }

  /** The objects of a deleted task; undefined once they are erased. */
  async objectsOf(id: string): Promise<DeletedObjects | undefined> {
    const row = await taskToErase(this.prisma.pool, id);
    if (row === undefined) return undefined;
    const images = toImages(row.images);
    const sent = sentKeys(row);
    const own = sent.filter((key) => ownerOfKey(key).id === id);
    return {
      accountId: row.accountId,
      keys: [...images.flatMap(({ key }) => [key, thumbnailKey(key)]), ...own, ...lateKeys(row)],
      uploads: row.isByItself ? [] : sent.filter((key) => ownerOfKey(key).id !== id),
      isFinal:
        row.status === 'completed' ||
        row.attempt === 0 ||
        row.workerStopped ||
        row.endedMs > this.config.leaseMs + STORING_MS,
      images,
      inputs: own.length,
    };
  }

  /** Whether a deleted task was the last one that needs the upload. */
  async isUploadUnused(accountId: string, key: string, taskId: string): Promise<boolean> {
    const { id, ulid } = ownerOfKey(key);
    const since = new Date(decodeTime(ulid) - CLOCKS_APART_MS);
    return await isUploadUnused(this.prisma.pool, { id, accountId, key, since }, taskId);
  }

  /**
   * The worker of an ended task stores nothing more of it. True when the task is deleted, so that its erasure can end
   * now; after a later deletion, it ends at once.
   */
  async workerStopped({ id, attempt }: Lease): Promise<boolean> {
    const rows = await this.prisma.task.updateManyAndReturn({
      where: { id, attempt, status: { not: 'pending' } },
      data: { workerStopped: true },
      select: { deletedAt: true },
    });
    return rows.some(({ deletedAt }) => deletedAt !== null);
  }

  /** No longer counts its reference images in the quota of its account: they are about to be deleted. */
  async forgetInputs(id: string): Promise<void> {
    await forgetStoredInputs(this.prisma, [id]);
  }

  /** Its objects are deleted. */
  async finish(id: string, contents: ErasedContents): Promise<void> {
    await markErased(this.prisma.pool, id, contents);
  }

  /** The erasure of a deleted task; undefined when the scope has no such task, or it was not deleted. */
  async erasureOf({ accountId, own }: TaskScope, id: string): Promise<Erasure | undefined> {
    const where = { id, accountId, ...tasksOf(own), deletedAt: { not: null } };
    if ((await this.prisma.task.count({ where })) === 0) return undefined;
    const row = await this.prisma.taskErasure.findUnique({ where: { taskId: id } });
    if (row === null || row.deletedAt === null) return undefined;
    return {
      deletedAt: row.deletedAt,
      erasedAt: row.erasedAt,
      contents: row.erased as ErasedContents | null,
    };
  }

  /** Whether this is the id of a deleted task, of any account: for links, whose holder knows the id. */
  async isDeleted(id: string): Promise<boolean> {
    return (await this.prisma.task.count({ where: { id, deletedAt: { not: null } } })) === 1;
  }
}

/** A task's place in the order of time. */
interface Place {
  readonly id: string;
  readonly createdAt: Date;
}

interface PageOfTasks {
  readonly accountId: string;
  readonly until: Date;
  /** The last place of the page before. */
  readonly after: Place | undefined;
}

/** Parts that have an index each, like those of lists; unfinished tasks first, so that none that ends meanwhile is missed. */
function partsOf(own: OwnTasks | undefined, status: TaskStatus | undefined): object[] {
  const unfinished = { finishedAt: null, ...tasksOf(own) };
  if (status === 'pending') return [unfinished];
  if (own !== undefined) return [...(status === undefined ? [unfinished] : []), ...endedTasksOf(own)];
  return [status === 'failed' || status === 'cancelled' ? { status } : {}];
}

function foundTask({ id, status }: { readonly id: string; readonly status: string }): MatchingTasks['tasks'][number] {
  return { id, isPending: status === 'pending' };
}

/** The place of a page's last row; null: the page is the last one. */
function nextOf(rows: readonly Place[], limit: number): string | null {
  const last = rows.at(-1);
  return last === undefined || rows.length < limit ? null : `${last.createdAt.toISOString()} ${last.id}`;
}

/**
 * Keys under which attempts may have stored images that the row does not name: those of a cancelled or failed task, or of
 * a worker that lost it. They are few, so they are deleted by name: not every store may be listed.
 */
function lateKeys({ id, status, attempt, n }: TaskToErase): string[] {
  if (status === 'completed' && attempt < 2) return [];
  const first = Math.max(1, attempt - LATE_ATTEMPTS);
  const attempts = Array.from({ length: Math.max(0, attempt - first + 1) }, (_, index) => first + index);
  return attempts.flatMap((one) =>
    Array.from({ length: n }).flatMap((_, index) =>
      RESULT_EXTENSIONS.map((extension) => resultKey(id, one, extension, index)),
    ),
  );
}
