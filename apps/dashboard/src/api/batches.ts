import { infiniteQueryOptions, queryOptions } from '@tanstack/react-query';
import { addressOf, get, send } from './request.ts';
import type { Schema } from './generated/schema.ts';

export type BatchRow = Schema['ConsoleBatchRow'];
export type BatchDetail = Schema['ConsoleBatchView'];
export type BatchFile = BatchDetail['files'][number];

/** The list and all details. */
export const BATCH_VIEWS = [{ queryKey: ['batches'] }];

const PAGE = 20;
const REFRESH_MS = 3_000;
const IDLE_MS = 15_000;
/** How much of a file is read to find out what its first line requests: its largest line. */
const HEAD_BYTES = 1_048_576;
const ENDPOINTS = ['/v1/images/generations', '/v1/images/edits', '/v1/chat/completions', '/v1/responses'] as const;

export const batchesQuery = infiniteQueryOptions({
  queryKey: ['batches', 'list'],
  queryFn: ({ pageParam, signal }) =>
    get<Schema['ConsoleBatchPage']>('/batches', { limit: PAGE, after: pageParam }, signal),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page) => (page.has_more ? (page.next ?? undefined) : undefined),
  refetchInterval: ({ state }) => {
    const shown = state.data?.pages.flatMap(({ data }) => data) ?? [];
    return shown.some(isOpen) ? REFRESH_MS : IDLE_MS;
  },
});

export function batchQuery(id: string) {
  return queryOptions({
    queryKey: ['batches', 'one', id],
    queryFn: ({ signal }) => get<BatchDetail>(`/batches/${encodeURIComponent(id)}`, {}, signal),
    refetchInterval: ({ state }) => (state.data === undefined || isOpen(state.data) ? REFRESH_MS : false),
  });
}

/** Whether it may still change. */
function isOpen({ ended_at: end }: Pick<BatchRow, 'ended_at'>): boolean {
  return end === null;
}

/** Where a file of a batch is downloaded. */
export function batchFileAddress(id: string, name: BatchFile): string {
  return addressOf(`/batches/${encodeURIComponent(id)}/files/${name}`);
}

/** Uploads a file and starts a batch with what its first line requests. Throws RequestError. */
export async function startBatch(file: File): Promise<BatchDetail> {
  const form = new FormData();
  form.append('purpose', 'batch');
  form.append('file', file);
  return await send<BatchDetail>('POST', '/batches', form, undefined, { endpoint: await endpointOf(file) });
}

export async function cancelBatch(id: string): Promise<BatchDetail> {
  return await send<BatchDetail>('POST', `/batches/${encodeURIComponent(id)}/cancel`);
}

/** The service checks all lines, so an unreadable one gets its answer there. */
async function endpointOf(file: File): Promise<string> {
  const head = await file.slice(0, HEAD_BYTES).text();
  const [line = ''] = head.trimStart().split('\n', 1);
  try {
    const { url } = JSON.parse(line) as { url?: unknown };
    return ENDPOINTS.find((endpoint) => endpoint === url) ?? ENDPOINTS[0];
  } catch {
    return ENDPOINTS[0];
  }
}
