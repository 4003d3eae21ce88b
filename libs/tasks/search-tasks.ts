import { decodeTime } from 'ulid';
import type { Queryable } from '#database/queryable.js';
import { isRequestId, isTaskId } from './task-id.js';
import type { TaskListQuery } from './task-store.js';

/** Looked through by one statement, which so stays far below its time limit however long the prompts are. */
const TASKS_PER_STATEMENT = 2_000;
export const SEARCH_BOUNDS: SearchBounds = { tasks: 20_000, ms: 2_000 };
/** A task's row is written after its request came, by another clock. */
const CLOCKS_APART_MS = 60_000;

interface SearchBounds {
  /** Tasks that one search looks at, at most. */
  readonly tasks: number;
  /** No statement begins after so long. */
  readonly ms: number;
}

export interface TaskSearch extends Omit<TaskListQuery, 'after'> {
  /** Part of the prompt, in any case of letters, or the whole id of a task or of its request. */
  readonly text: string;
  /** Where an earlier search came to. */
  readonly after?: SearchedUntil | undefined;
}

/** A place in the account's tasks. */
export interface SearchedUntil {
  readonly id: string;
  readonly createdAt: Date;
}

export interface TaskSearchResult {
  /** Newest first. */
  readonly ids: readonly string[];
  /** Where to go on; undefined when all of the account's tasks have been looked through. */
  readonly next: SearchedUntil | undefined;
  /** The search stopped for its bounds, not because it had found enough. */
  readonly isCutShort: boolean;
}

interface LookedAt extends SearchedUntil {
  readonly found: boolean;
  readonly n: number;
}

const FITS = `($2::text IS NULL OR status = $2) AND ($3::text IS NULL OR model = $3) AND ($4::text IS NULL OR api_key_id = $4)`;

const LOOK = `SELECT id, created_at AS "createdAt", found, n FROM (
    SELECT id, created_at, row_number() OVER (ORDER BY created_at DESC, id DESC)::int AS n,
      ${FITS} AND strpos(lower(prompt), lower($5)) > 0 AS found
    FROM (SELECT id, created_at, status, model, api_key_id, prompt FROM tasks
      WHERE account_id = $1 AND created_at >= $6 AND (created_at, id) < ($7::timestamptz, $8::text)
      ORDER BY created_at DESC, id DESC LIMIT ${TASKS_PER_STATEMENT}) AS looked) AS judged
  WHERE found OR n = ${TASKS_PER_STATEMENT} ORDER BY n`;

const BY_ID = `SELECT id FROM tasks WHERE account_id = $1 AND id = $5 AND ${FITS}`;

const byRequest = (tasks: number): string => `SELECT id FROM (
    SELECT id, status, model, api_key_id, request_id FROM tasks WHERE account_id = $1 AND created_at >= $6
    ORDER BY created_at, id LIMIT ${tasks}) AS looked
  WHERE request_id = $5 AND ${FITS} ORDER BY id DESC LIMIT $7`;

/**
 * Looks for words in an account's prompts, newest first. No index knows them, since every accepted task would pay for it;
 * so a search looks at so many tasks at most, and tells how far it has come. Ids are looked up instead.
 */
export class SearchTasks {
  constructor(
    private readonly database: Queryable,
    private readonly bounds = SEARCH_BOUNDS,
  ) {}

  async search(accountId: string, search: TaskSearch): Promise<TaskSearchResult> {
    if (isTaskId(search.text) || isRequestId(search.text)) {
      const ids = search.after === undefined ? await this.byId(accountId, search) : [];
      return { ids, next: undefined, isCutShort: false };
    }
    return await this.look(accountId, search);
  }

  private async byId(accountId: string, search: TaskSearch): Promise<string[]> {
    const { text, limit } = search;
    const values = [accountId, ...filtersOf(search), text];
    if (isTaskId(text)) return await this.idsOf(BY_ID, values);
    const since = new Date(decodeTime(text.slice(text.indexOf('_') + 1)) - CLOCKS_APART_MS);
    return await this.idsOf(byRequest(this.bounds.tasks), [...values, since, limit]);
  }

  private async idsOf(text: string, values: unknown[]): Promise<string[]> {
    const { rows } = await this.database.query<{ id: string }>(text, values);
    return rows.map(({ id }) => id);
  }

  private async look(accountId: string, search: TaskSearch): Promise<TaskSearchResult> {
    const begun = performance.now();
    const found: LookedAt[] = [];
    let next = search.after;
    for (let looked = 0; looked < this.bounds.tasks; looked += TASKS_PER_STATEMENT) {
      if (looked > 0 && performance.now() - begun > this.bounds.ms) break;
      const { rows } = await this.database.query<LookedAt>(LOOK, [
        ...[accountId, ...filtersOf(search), search.text, search.since ?? '-infinity'],
        ...[next?.createdAt ?? 'infinity', next?.id ?? ''],
      ]);
      found.push(...rows.filter((row) => row.found));
      if (found.length > search.limit) return page(found.slice(0, search.limit), found[search.limit - 1], false);
      const last = rows.at(-1);
      if (last?.n !== TASKS_PER_STATEMENT) return page(found, undefined, false);
      next = last;
    }
    return page(found, next, true);
  }
}

function filtersOf({ status, model, apiKeyId }: TaskSearch): (string | null)[] {
  return [status ?? null, model ?? null, apiKeyId ?? null];
}

function page(found: readonly LookedAt[], next: SearchedUntil | undefined, isCutShort: boolean): TaskSearchResult {
  return { ids: found.map(({ id }) => id), next, isCutShort };
}
