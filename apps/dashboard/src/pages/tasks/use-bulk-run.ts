import { useEffect, useRef, useState } from 'react';
import { queryClient } from '../../api/queries.ts';
import { RequestError, send, type Query } from '../../api/request.ts';
import type { ManyTasks } from '../../api/types.ts';

export type BulkAction = 'cancel' | 'retry';

/** The tasks of a bulk action: the named ones, or those that match a query. */
export type BulkTarget = { readonly query: Query } | { readonly ids: readonly string[] };

/** What a bulk action has done so far. */
export interface BulkProgress {
  readonly state: 'idle' | 'running' | 'waiting' | 'stopping' | 'stopped' | 'failed' | 'done';
  readonly count: number;
  /** Numbers of tasks that were not changed, by the reason. */
  readonly refused: ReadonlyMap<string, number>;
  /** Why it waits, and for how many seconds. */
  readonly wait: { readonly reason: string; readonly seconds: number } | null;
  readonly error: Error | null;
}

/** What is left to do. */
interface Rest {
  /** Refused by a limit, to be sent again. */
  readonly held: readonly string[];
  readonly named: readonly string[];
  /** Cursor of what matches the query; null = all was examined. */
  readonly after: string | null | undefined;
}

/** Tasks of one request: few enough to tell of progress, and to stop soon. */
const BATCH = 50;
/** Seconds to wait for a limit, whatever the service says. */
const [SHORTEST_WAIT, LONGEST_WAIT] = [2, 60];
const NOTHING: BulkProgress = { state: 'idle', count: 0, refused: new Map(), wait: null, error: null };

/** Calls the bulk action for one part of its tasks. */
export function callBulk(action: BulkAction, target: BulkTarget, more: Query): Promise<ManyTasks> {
  const [body, query] = 'ids' in target ? [{ tasks: target.ids }, more] : [undefined, { ...target.query, ...more }];
  return send<ManyTasks>('POST', `/tasks/${action}`, body, undefined, query);
}

/**
 * Runs a bulk action batch by batch, until everything was examined or it is stopped; then it can be continued. A batch
 * whose response was lost can be sent again: no task is retried twice.
 */
export function useBulkRun(action: BulkAction, target: BulkTarget, onDone: (progress: BulkProgress) => void) {
  const [progress, setProgress] = useState(NOTHING);
  const rest = useRef<Rest>({ held: [], ...begin(target) });
  const abort = useRef(new AbortController());
  // Leaving the page stops it, too.
  useEffect(() => () => abort.current.abort(), []);

  const run = async () => {
    const { signal } = (abort.current = new AbortController());
    const isStopped = () => signal.aborted;
    let now: BulkProgress = { ...progress, state: 'running', wait: null, error: null };
    const tell = (changes: Partial<BulkProgress>) => setProgress((now = { ...now, ...changes }));
    tell({});
    try {
      while (!isStopped() && isLeft(rest.current)) {
        const { outcome, left, seconds, reason } = await batch(action, target, rest.current);
        rest.current = left;
        if (outcome !== null) tell({ count: now.count + outcome.count, refused: withRefused(now.refused, outcome) });
        if (seconds === 0 || isStopped()) continue;
        tell({ state: 'waiting', wait: { reason, seconds } });
        await pause(seconds, signal);
        if (!isStopped()) tell({ state: 'running', wait: null });
      }
      tell({ state: isLeft(rest.current) ? 'stopped' : 'done', wait: null });
    } catch (error) {
      tell({ state: 'failed', error: error instanceof Error ? error : new Error(String(error)) });
    }
    await queryClient.invalidateQueries({ queryKey: ['tasks'] });
    if (now.state === 'done') onDone(now);
  };
  return {
    progress,
    run: () => void run(),
    stop: () => {
      abort.current.abort();
      setProgress((now) => ({ ...now, state: 'stopping', wait: null }));
    },
  };
}

function begin(target: BulkTarget): Omit<Rest, 'held'> {
  return 'ids' in target ? { named: target.ids, after: null } : { named: [], after: undefined };
}

function isLeft({ held, named, after }: Rest): boolean {
  return held.length > 0 || named.length > 0 || after !== null;
}

/** Sends one batch: first what a limit held up, then the named tasks, or the next ones that match. */
async function batch(action: BulkAction, target: BulkTarget, rest: Rest) {
  const again = rest.held.length > 0;
  const ids = again ? rest.held : rest.named.slice(0, BATCH);
  const part = ids.length > 0 ? { ids } : target;
  try {
    const outcome = await callBulk(
      action,
      part,
      ids.length > 0 ? {} : { limit: BATCH, after: rest.after ?? undefined },
    );
    const held = outcome.refused.filter((one) => one.retry_after !== null);
    const left = {
      held: held.map((one) => one.task_id),
      named: again ? rest.named : rest.named.slice(BATCH),
      after: ids.length > 0 ? rest.after : outcome.next,
    };
    const seconds = held.length === 0 ? 0 : waitOf(Math.max(...held.map((one) => one.retry_after ?? 0)));
    return { outcome, left, seconds, reason: held[0]?.message ?? '' };
  } catch (error) {
    // The limit of the console itself.
    if (!(error instanceof RequestError) || error.status !== 429) throw error;
    return { outcome: null, left: rest, seconds: waitOf(10), reason: error.message };
  }
}

function waitOf(seconds: number): number {
  return Math.min(Math.max(seconds, SHORTEST_WAIT), LONGEST_WAIT);
}

function withRefused(known: ReadonlyMap<string, number>, { refused }: ManyTasks): ReadonlyMap<string, number> {
  const sums = new Map(known);
  for (const { message, retry_after: after } of refused) {
    if (after === null) sums.set(message, (sums.get(message) ?? 0) + 1);
  }
  return sums;
}

async function pause(seconds: number, signal: AbortSignal): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = setTimeout(resolve, seconds * 1_000);
    signal.addEventListener('abort', () => {
      clearTimeout(timer);
      resolve();
    });
  });
}
