import { Injectable } from '@nestjs/common';
import { inList } from '#database/prisma-values.js';
import { PrismaService } from '#database/prisma.service.js';
import { ORDER_COLUMNS, toInputs, toOrder } from '../row/task-columns.js';
import type { TaskInput, TaskOrder } from '../row/task.js';
import { TasksConfig } from '../row/tasks.config.js';

/** Where a reference image or mask came from, as far as the account's people may see it. */
export interface SentImage {
  /** Host of the URL that it was fetched from; null: it came with the request, and was stored. */
  readonly host: string | null;
  /** Whether its object was deleted before the task's other objects. */
  readonly isDeleted: boolean;
}

/** What the account's own people see of a task beyond what polls show. */
export interface TaskDetail {
  readonly id: string;
  readonly prompt: string;
  readonly keyId: string;
  readonly keyName: string;
  /** Whether a thumbnail is stored beside its image. */
  readonly hasThumbnail: boolean;
  /** When its images and reference images were deleted; null while they are kept. */
  readonly objectsDeletedAt: Date | null;
  /** Reference images of the request. */
  readonly inputs: readonly SentImage[];
  readonly mask: SentImage | null;
  /** Drawing over the first image. */
  readonly markup: SentImage | null;
  /** The failed task that it retries. */
  readonly retryOf: string | null;
  /** The person who ordered it in the console; null: it was a key's holder, or the person no longer exists. */
  readonly orderedBy: { readonly id: string; readonly name: string } | null;
  /** Retention keeps its images and its row. */
  readonly isFavorite: boolean;
  /** The provider that was called last; null: none was. */
  readonly provider: string | null;
  /** Number of provider calls so far. */
  readonly calls: number;
  /** The task that a failed one was retried as. */
  readonly retriedAs: string | null;
  /** Identifier of the end user; null without one. */
  readonly endUser: string | null;
  readonly tags: readonly string[];
  /** When a waiting task is tried next; null when unknown, or when it waits for no retry. */
  readonly nextTryAt: Date | null;
}

/** Reads what polls leave out, for tasks of one account. */
@Injectable()
export class TaskDetails {
  /** Most calls to providers that a task may have. */
  readonly mostCalls: number;

  constructor(
    private readonly prisma: PrismaService,
    { maxProviderStarts }: TasksConfig,
  ) {
    this.mostCalls = maxProviderStarts;
  }

  /** Details by task id; prompts are cut to `promptLength` code points. */
  async of(accountId: string, ids: readonly string[], promptLength: number): Promise<Map<string, TaskDetail>> {
    const rows = await this.prisma.task.findMany({
      where: { id: { in: inList(ids) }, accountId },
      select: {
        id: true,
        prompt: true,
        apiKeyId: true,
        retryOf: true,
        hasThumbnail: true,
        objectsDeletedAt: true,
        inputs: true,
        mask: true,
        orderedBy: true,
        favoritedAt: true,
        provider: true,
        providerStarts: true,
        nextTryAt: true,
        endUser: true,
        tags: true,
        status: true,
      },
    });
    const [names, people, again] = await Promise.all([
      this.keyNames(rows.map(({ apiKeyId }) => apiKeyId)),
      this.personNames(rows.flatMap(({ orderedBy }) => orderedBy ?? [])),
      this.retriesOf(
        accountId,
        rows.flatMap(({ id, status }) => (status === 'failed' ? id : [])),
      ),
    ]);
    return new Map(
      rows.map(({ prompt, apiKeyId: keyId, inputs: sent, mask: sentMask, orderedBy, favoritedAt, ...row }) => {
        const { inputs, mask } = toInputs({ inputs: sent, mask: sentMask });
        const { providerStarts: calls, status: _, ...columns } = row;
        const detail = {
          ...columns,
          prompt: cut(prompt, promptLength),
          keyId,
          keyName: names.get(keyId) ?? '',
          calls,
          inputs: inputs.map(sentImage),
          mask: mask === null || mask.markup ? null : sentImage(mask),
          markup: mask?.markup ? sentImage(mask) : null,
          orderedBy: people.get(orderedBy ?? '') ?? null,
          isFavorite: favoritedAt !== null,
          retriedAs: again.get(row.id) ?? null,
        };
        return [row.id, detail];
      }),
    );
  }

  /** Undefined when the account has no such task, or it was deleted. `isOpenFailure`: it failed, and was not retried yet. */
  async order(accountId: string, id: string): Promise<(TaskOrder & { readonly isOpenFailure: boolean }) | undefined> {
    const select = { ...ORDER_COLUMNS, status: true };
    const row = await this.prisma.task.findUnique({ where: { id, accountId, deletedAt: null }, select });
    if (row === null) return undefined;
    const isOpenFailure = row.status === 'failed' && !(await this.retriesOf(accountId, [id])).has(id);
    return { ...toOrder(row), isOpenFailure };
  }

  /** Ids of retries, by the id of the failed task. */
  private async retriesOf(accountId: string, ids: readonly string[]): Promise<ReadonlyMap<string | null, string>> {
    if (ids.length === 0) return new Map();
    const where = { retryOf: { in: inList(ids) }, accountId };
    const again = await this.prisma.task.findMany({ where, select: { id: true, retryOf: true } });
    return new Map(again.map(({ id, retryOf }) => [retryOf, id]));
  }

  private async keyNames(ids: readonly string[]): Promise<ReadonlyMap<string, string>> {
    const where = { id: { in: inList([...new Set(ids)]) } };
    const keys = await this.prisma.apiKey.findMany({ where, select: { id: true, name: true } });
    return new Map(keys.map(({ id, name }) => [id, name]));
  }

  private async personNames(ids: readonly string[]) {
    if (ids.length === 0) return new Map<string, { readonly id: string; readonly name: string }>();
    const where = { id: { in: inList([...new Set(ids)]) } };
    const people = await this.prisma.person.findMany({ where, select: { id: true, name: true } });
    return new Map(people.map((person) => [person.id, person]));
  }
}

/** URLs may contain secrets, so only their host is shown. */
function sentImage(input: TaskInput): SentImage {
  if (input.kind === 'object') return { host: null, isDeleted: input.deleted === true };
  return { host: URL.canParse(input.url) ? new URL(input.url).host : '', isDeleted: false };
}

function cut(text: string, length: number): string {
  // A code point is one or two UTF-16 units, so a text that is short enough in units is short enough in code points.
  return text.length <= length
    ? text
    : Array.from(text.slice(0, 2 * length))
        .slice(0, length)
        .join('');
}
