import { randomBytes } from 'node:crypto';
import { timeLimit } from '#egress/time-limit.js';
import { waitUntil } from '#embedded/wait-until.js';
import type { FaultRoom, Member } from './fault-room.js';
import { patient } from './patience.js';

/** The result of one HTTP call; `status` 0 when the connection broke or timed out. */
export interface Outcome {
  readonly status: number;
  readonly taskId: string | undefined;
  readonly headers: Headers;
  /** Parsed, if it is JSON. */
  readonly body: unknown;
  readonly text: string;
  readonly startedAt: number;
  readonly milliseconds: number;
}

export interface TaskData {
  readonly id: string;
  readonly status: string;
  readonly phase: string;
  readonly progress: number;
  readonly error?: { readonly code: string; readonly message: string };
  readonly charged?: string;
  readonly result?: { readonly images: readonly { readonly url: readonly string[] }[] };
}

interface CallOptions {
  readonly key?: string;
  readonly body?: unknown;
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** A word for a prompt that identifies its task and its starts at a provider. */
export function newMarker(): string {
  return `mark-${randomBytes(6).toString('hex')}`;
}

/** Makes one call; never throws. */
export async function call(
  member: Pick<Member, 'url'>,
  key: string,
  path: string,
  options: CallOptions = {},
): Promise<Outcome> {
  const started = performance.now();
  const startedAt = Date.now();
  const milliseconds = (): number => Math.round(performance.now() - started);
  try {
    const response = await fetch(member.url + path, {
      method: options.method ?? (options.body === undefined ? 'GET' : 'POST'),
      headers: {
        authorization: `Bearer ${options.key ?? key}`,
        connection: 'close',
        ...(options.body === undefined ? {} : { 'content-type': 'application/json' }),
        ...options.headers,
      },
      ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) }),
      signal: timeLimit(patient(options.timeoutMs ?? 60_000), options.signal),
    });
    const text = await response.text();
    const taskId = response.headers.get('x-task-id') ?? undefined;
    return {
      status: response.status,
      taskId,
      headers: response.headers,
      body: parse(text),
      text,
      startedAt,
      milliseconds: milliseconds(),
    };
  } catch (error) {
    const text = String(error);
    return {
      status: 0,
      taskId: undefined,
      headers: new Headers(),
      body: undefined,
      text,
      startedAt,
      milliseconds: milliseconds(),
    };
  }
}

/** An image of 1024 x 1024 pixels. */
export function order(prompt: string): { model: string; resolution: string; prompt: string } {
  return { model: 'gpt-image-2', resolution: '1k', prompt };
}

/** Common calls to a room's first API. */
export function callersOf(room: FaultRoom) {
  const ask = (path: string, options: CallOptions & { readonly at?: Pick<Member, 'url'> } = {}): Promise<Outcome> =>
    call(options.at ?? room.api, room.key, path, options);
  /** Asks again as a client does, because an API with short limits may be too busy for a moment. */
  const read = async (id: string, at?: Member): Promise<TaskData | undefined> => {
    let answer: Outcome | undefined;
    const isAnswered = async (): Promise<boolean> =>
      (answer = await ask(`/v1/tasks/${id}`, at === undefined ? {} : { at })).status !== 503;
    await waitUntil(isAnswered, { timeoutMs: 20_000 });
    return (answer?.body as { data?: TaskData } | undefined)?.data;
  };
  return {
    ask,
    read,
    generate: (prompt: string, options: CallOptions & { readonly at?: Pick<Member, 'url'> } = {}) =>
      ask('/v1/images/generations', { body: order(prompt), ...options }),
    submit: (prompt: string, options: CallOptions & { readonly at?: Pick<Member, 'url'> } = {}) =>
      ask('/v1/images/generations/async', { body: order(prompt), ...options }),
    /** Reads from the database, so that it works whichever API is down. */
    async ended(ids: readonly string[], timeoutMs = 60_000): Promise<string[]> {
      const statuses = async (): Promise<string[]> => {
        const { rows } = await room.pool.query<{ status: string }>(
          'SELECT status FROM unnest($1::text[]) WITH ORDINALITY AS asked (id, place) JOIN tasks USING (id) ORDER BY place',
          [ids],
        );
        return rows.map(({ status }) => status);
      };
      await waitUntil(async () => !(await statuses()).includes('pending'), { timeoutMs, everyMs: 100 });
      return statuses();
    },
    async rowsOf(
      marker: string,
    ): Promise<{ id: string; status: string; phase: string; provider_starts: number; attempt: number }[]> {
      const { rows } = await room.pool.query<{
        id: string;
        status: string;
        phase: string;
        provider_starts: number;
        attempt: number;
      }>('SELECT id, status, phase, provider_starts, attempt FROM tasks WHERE strpos(prompt, $1) > 0', [marker]);
      return rows;
    },
    /** Milliseconds until a new task is accepted. Throws when none is within a minute. */
    async untilAccepted(at?: Member): Promise<number> {
      const started = performance.now();
      const accepted = async (): Promise<boolean> =>
        (await ask('/v1/images/generations/async', { body: order('are you back?'), ...(at && { at }) })).status === 202;
      if (!(await waitUntil(accepted, { timeoutMs: 60_000, everyMs: 50 }))) throw new Error('nothing is taken in');
      return Math.round(performance.now() - started);
    },
  };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
