import { waitUntil } from '#embedded/wait-until.js';
import type { ApiPlatform, CallOptions } from './platform.js';

/** A batch, as the API answers it. */
export interface BatchAnswer {
  readonly id: string;
  readonly status: string;
  readonly errors: { readonly data: readonly { readonly code: string; readonly line: number | null }[] } | null;
  readonly output_file_id: string | null;
  readonly error_file_id: string | null;
  readonly request_counts: { readonly total: number; readonly completed: number; readonly failed: number };
  readonly [more: string]: unknown;
}

/** A line of a file of results. */
export interface ResultLine {
  readonly id: string;
  readonly custom_id: string;
  readonly response: { status_code: number; request_id: string; body: Record<string, unknown> } | null;
  readonly error: { code: string; message: string } | null;
}

export const GENERATIONS = '/v1/images/generations';
const LAST = ['failed', 'completed', 'expired', 'cancelled'];

/** A line of an input file. */
export function lineOf(customId: string, body: object, url: string = GENERATIONS): object {
  return { custom_id: customId, method: 'POST', url, body };
}

/** Uploads lines, objects as JSON, as a file; returns its id. */
export async function uploadLines(
  platform: ApiPlatform,
  lines: readonly unknown[],
  options: CallOptions = {},
): Promise<string> {
  const form = new FormData();
  form.append('purpose', 'batch');
  const text = lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line))).join('\n');
  form.append('file', new Blob([`${text}\n`], { type: 'application/jsonl' }), 'requests.jsonl');
  const response = await platform.call('/v1/files', { body: form, ...options });
  expect(response.status).toBe(200);
  return ((await response.json()) as { id: string }).id;
}

/** Uploads lines and makes a batch of them, of generations unless `endpoint` says otherwise. */
export async function startBatch(
  platform: ApiPlatform,
  lines: readonly unknown[],
  { endpoint = GENERATIONS, ...options }: CallOptions & { readonly endpoint?: string } = {},
): Promise<BatchAnswer> {
  const input = await uploadLines(platform, lines, options);
  const body = { input_file_id: input, endpoint, completion_window: '24h' };
  const response = await platform.call('/v1/batches', { body, ...options });
  expect(response.status).toBe(200);
  return (await response.json()) as BatchAnswer;
}

export async function readBatch(platform: ApiPlatform, id: string, options: CallOptions = {}): Promise<BatchAnswer> {
  return (await (await platform.call(`/v1/batches/${id}`, options)).json()) as BatchAnswer;
}

/** The batch once it has ended. */
export async function endedBatch(
  platform: ApiPlatform,
  id: string,
  options: CallOptions & { readonly timeoutMs?: number } = {},
): Promise<BatchAnswer> {
  let batch = await readBatch(platform, id, options);
  const ended = async (): Promise<boolean> => {
    batch = await readBatch(platform, id, options).catch(() => batch);
    return LAST.includes(batch.status);
  };
  await waitUntil(ended, { timeoutMs: options.timeoutMs ?? 90_000, everyMs: 200 });
  expect(LAST).toContain(batch.status);
  return batch;
}

/** The lines of a file of results; none without a file. */
export async function resultsIn(
  platform: ApiPlatform,
  id: string | null,
  options: CallOptions = {},
): Promise<ResultLine[]> {
  if (id === null) return [];
  const response = await platform.call(`/v1/files/${id}/content`, options);
  expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/jsonl']);
  const text = await response.text();
  expect(text.endsWith('\n')).toBe(true);
  return text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as ResultLine);
}
