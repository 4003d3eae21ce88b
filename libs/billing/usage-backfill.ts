import { inList, objectOf } from '#database/prisma-values.js';
import type { PrismaService } from '#database/prisma.service.js';
import { insertRows } from './billing.sql.js';
import { UNPRICED } from './usage.js';

/** Rows per page. */
const PAGE = 1_000;

/** How far a source has been read. */
interface Place {
  readonly cursor: string;
  /** Free tasks that ended after this time have already written their changes. */
  readonly before: Date;
}

/** A row of `usage_changes`, as triggers write it for what ends now. */
interface Change {
  readonly reference: string;
  readonly kind: string;
  readonly account_id: string;
  readonly api_key_id: string;
  readonly model: string;
  readonly provider: string;
  readonly outcome: string;
  readonly currency: string;
  readonly created_at: Date;
  readonly images: number;
  readonly spend_micros: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly latency_ms: number | null;
}

interface Page {
  /** Ids of the rows that were read, in order. */
  readonly ids: readonly string[];
  readonly changes: readonly Change[];
}

const SOURCES = { charges: readCharges, tasks: readFreeTasks, chats: readChats };

/**
 * Copies a page of usage from before there were rollups to where `rollUp` finds it. Returns how many rows it read, 0
 * when nothing is left. The page and the new cursor are written in one transaction, which does nothing when another
 * process has moved the cursor: nothing counts twice, even after a crash.
 */
export async function backfillUsage(prisma: PrismaService): Promise<number> {
  const places = await prisma.usageBackfill.findMany();
  for (const [source, read] of Object.entries(SOURCES)) {
    const place = places.find((one) => one.source === source);
    if (place === undefined) continue;
    const { ids, changes } = await read(prisma, place);
    const seen = { source, cursor: place.cursor };
    const last = ids.at(-1);
    if (last === undefined) await prisma.usageBackfill.deleteMany({ where: seen });
    else if (await move(prisma, seen, last, changes)) return ids.length;
  }
  return 0;
}

async function move(
  prisma: PrismaService,
  seen: { readonly source: string; readonly cursor: string },
  cursor: string,
  changes: readonly Change[],
): Promise<boolean> {
  return await prisma.$transaction(async (transaction) => {
    const { count } = await transaction.usageBackfill.updateMany({ where: seen, data: { cursor } });
    if (count === 0) return false;
    await insertRows(transaction, 'usage_changes', changes);
    return true;
  });
}

/** Tasks with a price, from their charges. A deleted task counts if it was charged. */
async function readCharges(prisma: PrismaService, { cursor }: Place): Promise<Page> {
  const reserves = await prisma.charge.findMany({
    where: { kind: 'reserve', taskId: { gt: cursor } },
    orderBy: { taskId: 'asc' },
    take: PAGE,
    select: { taskId: true, createdAt: true },
  });
  const ids = reserves.map(({ taskId }) => taskId);
  const [gte, lte] = [ids[0], ids.at(-1)];
  if (gte === undefined || lte === undefined) return { ids, changes: [] };
  const [ends, tasks] = await Promise.all([
    prisma.charge.findMany({
      where: { taskId: { gte, lte }, kind: { in: ['settle', 'refund'] }, addedUp: null },
      // When a task has both, the settlement comes last and wins.
      orderBy: { kind: 'asc' },
    }),
    prisma.task.findMany({ where: { id: { in: inList(ids) } }, select: TASK }),
  ]);
  const endOf = new Map(ends.map((end) => [end.taskId, end]));
  const taskOf = new Map(tasks.map((task) => [task.id, task]));
  const changes = reserves.flatMap(({ taskId, createdAt }) => {
    const [end, task] = [endOf.get(taskId), taskOf.get(taskId)];
    if (end === undefined || (end.kind !== 'settle' && task === undefined)) return [];
    const { accountId, apiKeyId, model } = end;
    const gone = {
      id: taskId,
      provider: null,
      status: 'completed',
      createdAt,
      finishedAt: null,
      images: [],
      usage: null,
    };
    const isSettled = end.kind === 'settle';
    const spent = isSettled ? Number(end.amountMicros ?? 0) : 0;
    const currency = isSettled && end.amountMicros === null ? UNPRICED : end.currency;
    return [changeOf({ ...(task ?? gone), accountId, apiKeyId, model }, spent, currency)];
  });
  return { ids, changes };
}

/** Tasks without a price, which have no charges. */
async function readFreeTasks(prisma: PrismaService, { cursor, before }: Place): Promise<Page> {
  const tasks = await prisma.task.findMany({
    where: { id: { gt: cursor } },
    orderBy: { id: 'asc' },
    take: PAGE,
    select: { ...TASK, accountId: true, apiKeyId: true, model: true, cost: true },
  });
  const ended = tasks.filter(
    ({ cost, status, finishedAt }) =>
      cost === null && status !== 'pending' && finishedAt !== null && finishedAt < before,
  );
  return { ids: tasks.map(({ id }) => id), changes: ended.map((task) => changeOf(task, 0, '')) };
}

async function readChats(prisma: PrismaService, { cursor }: Place): Promise<Page> {
  const chats = await prisma.chatUsage.findMany({
    where: { requestId: { gt: cursor } },
    orderBy: { requestId: 'asc' },
    take: PAGE,
  });
  const changes = chats
    .filter(({ addedUp }) => addedUp === null)
    .map((chat) => ({
      ...{ reference: chat.requestId, kind: 'chat', account_id: chat.accountId, api_key_id: chat.apiKeyId },
      ...{ model: chat.model, provider: chat.provider, outcome: chat.outcome },
      currency: chat.costMicros === null ? UNPRICED : '',
      ...{ created_at: chat.createdAt, images: 0, spend_micros: Number(chat.costMicros ?? 0) },
      ...{ input_tokens: chat.inputTokens ?? 0, output_tokens: chat.outputTokens ?? 0 },
      latency_ms: chat.outcome === 'completed' ? chat.durationMs : null,
    }));
  return { ids: chats.map(({ requestId }) => requestId), changes };
}

const TASK = {
  ...{ id: true, provider: true, status: true, createdAt: true, finishedAt: true },
  ...{ images: true, usage: true },
} as const;

interface EndedTask {
  readonly id: string;
  readonly accountId: string;
  readonly apiKeyId: string;
  readonly model: string;
  readonly provider: string | null;
  readonly status: string;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  readonly images: unknown;
  readonly usage: Parameters<typeof objectOf>[0];
}

/** Measures like the trigger tasks_usage (ledger.sql). A deleted task counts as one image. */
function changeOf(task: EndedTask, spent: number, currency: string): Change {
  const { id, status, createdAt, finishedAt, images, usage } = task;
  const isCompleted = status === 'completed';
  const { input_tokens: inputTokens, output_tokens: outputTokens } = objectOf(usage);
  return {
    ...{ reference: id, kind: 'image', account_id: task.accountId, api_key_id: task.apiKeyId, model: task.model },
    ...{ provider: task.provider ?? '', outcome: status, currency, created_at: createdAt },
    images: isCompleted ? Math.max(Array.isArray(images) ? images.length : 0, 1) : 0,
    spend_micros: spent,
    ...{ input_tokens: Number(inputTokens ?? 0), output_tokens: Number(outputTokens ?? 0) },
    latency_ms: isCompleted && finishedAt !== null ? finishedAt.getTime() - createdAt.getTime() : null,
  };
}
