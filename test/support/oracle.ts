import { thumbnailKey } from '#storage/object-key.js';
import type { Pool } from 'pg';
import { readAudit, type AuditLine } from './audit.js';
import type { Outcome } from './fault-callers.js';
import type { LedgerEntry } from './ledger-provider.js';
import type { Wish } from './traffic.js';

/** A fault, with the time in which it may have had an effect. */
export interface FaultWindow {
  readonly name: string;
  readonly from: number;
  readonly to: number;
}

export interface Violation {
  readonly guarantee: string;
  readonly what: string;
}

/** Everything known once the system is idle again. */
export interface Evidence {
  readonly pool: Pool;
  readonly wishes: readonly Wish[];
  readonly ledger: readonly LedgerEntry[];
  readonly faults: readonly FaultWindow[];
  /** Keys of all finished images in the store. */
  readonly objects: readonly string[];
  /** A start that may have been charged must not be followed by another. */
  readonly neverTwice: boolean;
  readonly syncWaitMs: number;
  /** Whether the process that had this id when it was called is still alive. */
  readonly lives: (pid: number | undefined) => boolean;
}

interface Row {
  id: string;
  marker: string;
  status: string;
  createdAt: Date;
  finishedAt: Date | null;
  deadlineAt: Date;
  deliveredAt: Date | null;
  images: { key: string }[] | null;
  hasThumbnail: boolean;
  usage: unknown;
  error: { code: string } | null;
}

const DEADLINE_SLACK_MS = 10_000;
const ANSWER_SLACK_MS = 2_000;
/** How long a fault may still have effects: reconnecting, a query's time limit. */
const AFTER_MS = 8_000;
/** How late a delivery may be recorded. */
const MARK_MS = 1_000;
/** Outcomes of a start that may have been charged. */
const MAYBE_CHARGED: ReadonlySet<string> = new Set(['image', 'hang', 'cut-before-answer', 'cut-in-body', 'html-502']);

/** All broken guarantees; G numbers are those of docs/failure.md. Does not rely on what processes report. */
export async function judge(evidence: Evidence): Promise<Violation[]> {
  const found: Violation[] = [];
  const broken = (guarantee: string, what: string): void => void found.push({ guarantee, what });
  const rows = await readRows(evidence.pool);
  const lines = groupBy(await readAudit(evidence.pool), ({ taskId }) => taskId);

  for (const row of rows) judgeRow(row, lines.get(row.id) ?? [], evidence, broken);
  const byMarker = groupBy(rows, ({ marker }) => marker);
  const ids = new Set(rows.map(({ id }) => id));
  for (const wish of evidence.wishes) judgeWish(wish, byMarker.get(wish.marker) ?? [], ids, evidence, broken);

  const stored = new Set(evidence.objects);
  for (const row of rows) {
    for (const key of keysOf(row, row.hasThumbnail))
      if (!stored.has(key)) broken('G2', `${row.id} names ${key}, which is not stored`);
  }
  const named = new Set(rows.flatMap((row) => keysOf(row, true)));
  for (const key of evidence.objects) {
    const row = rows.find(({ id }) => key.includes(id));
    if (named.has(key) || row === undefined || faultsDuring(row, evidence).length > 0) continue;
    broken('G2', `${key} is stored for ${row.status} ${row.id}, which no fault has touched`);
  }
  return found;
}

/** Its images and their thumbnails, which a worker may have stored without recording them. */
function keysOf({ images }: Row, withThumbnail: boolean): string[] {
  return (images ?? []).flatMap(({ key }) => (withThumbnail ? [key, thumbnailKey(key)] : [key]));
}

type Broken = (guarantee: string, what: string) => void;

function judgeRow(row: Row, lines: readonly AuditLine[], evidence: Evidence, broken: Broken): void {
  const { id, status, finishedAt, deadlineAt } = row;
  if (status === 'pending' || finishedAt === null) broken('G1', `${id} has not ended`);
  else {
    const late = finishedAt.getTime() - deadlineAt.getTime() - DEADLINE_SLACK_MS;
    if (late > overlap(evidence.faults, deadlineAt.getTime(), finishedAt.getTime()))
      broken('G1', `${id} ended ${late} ms late`);
  }
  const ends = lines.filter((line) => line.statusBefore === 'pending' && line.status !== 'pending');
  if (status !== 'pending' && ends.length !== 1) broken('G2', `${id} ended ${ends.length} times`);
  if (
    lines.some(
      (line) => line.statusBefore !== null && line.statusBefore !== 'pending' && line.status !== line.statusBefore,
    )
  ) {
    broken('G2', `${id} changed after its end`);
  }
  if (status === 'completed' && row.images?.length !== 1)
    broken('G2', `${id} is completed with ${row.images?.length ?? 0} images`);
  if (status !== 'completed' && (row.images !== null || row.usage !== null))
    broken('G9', `${id} ${status} has an image or a usage`);
  for (const line of lines) {
    if (line.progress < (line.progressBefore ?? 0))
      broken('G12', `${id} went from ${line.progressBefore} to ${line.progress} %`);
    if ((line.progress === 100) !== (line.status === 'completed'))
      broken('G12', `${id} is ${line.status} at ${line.progress} %`);
  }
  // Each start names its task; a wish may have two of them (lostInFrontOfUs).
  judgeStarts(
    row,
    evidence.ledger.filter(({ idempotencyKey }) => idempotencyKey === row.id),
    evidence,
    broken,
  );
}

function judgeStarts(row: Row, starts: readonly LedgerEntry[], evidence: Evidence, broken: Broken): void {
  const refusals = starts.filter(({ fate }) => fate !== 'image').length;
  const faults = faultsDuring(row, evidence).length;
  const allowed = Math.min(3, 1 + refusals + faults);
  if (starts.length > allowed)
    broken(
      'G3',
      `${row.id} was started ${starts.length} times with ${faults} faults and ${refusals} failures of the provider`,
    );
  if (row.status === 'completed' && starts.length === 0) broken('G3', `${row.id} is completed and was never started`);
  const paid = starts.filter(({ fate }) => MAYBE_CHARGED.has(fate)).length;
  if (evidence.neverTwice && paid > 1) {
    const story = starts.map(({ at, fate }) => `${new Date(at).toISOString()} ${fate}`).join(', ');
    const names = faultsDuring(row, evidence).map(({ name }) => name);
    broken('G3', `${row.id} (${row.status}) may have been charged ${paid} times: ${story}; ${names.join(', ')}`);
  }
}

function judgeWish(
  wish: Wish,
  rows: readonly Row[],
  ids: ReadonlySet<string>,
  evidence: Evidence,
  broken: Broken,
): void {
  const { kind, marker, calls } = wish;
  const twice =
    kind === 'uncounted' ? paidAgain(wish, rows, evidence) : rows.length > 1 && !lostInFrontOfUs(rows, evidence);
  if (twice) {
    const lives = rows.map((row) => `${row.createdAt.toISOString()} to ${row.deliveredAt?.toISOString() ?? 'nobody'}`);
    const names = evidence.faults.filter(({ from, to }) => from <= wish.endedAt && to + AFTER_MS >= wish.startedAt);
    broken(
      'G5',
      `${kind} ${marker} has ${rows.length} tasks: ${lives.join(', ')}; ${names.map(({ name }) => name).join(', ')}`,
    );
  }
  if (wish.accepted === true && wish.taskId !== undefined && !ids.has(wish.taskId))
    broken('G1', `${wish.taskId} was accepted and is not there`);
  for (const { outcome, api } of calls) {
    const complaint = complaintAbout(outcome, kind, evidence);
    if (complaint !== undefined) broken('G4', `${kind} at ${api.name}: ${complaint}`);
  }
  for (const { outcome, api } of calls) {
    const { status, startedAt, milliseconds } = outcome;
    if (status !== 503 || overlap(evidence.faults, startedAt, startedAt + milliseconds) > 0) continue;
    broken('G7', `${kind} was turned away by ${api.name} without a fault: ${outcome.text.slice(0, 120)}`);
  }
  const first = calls[0];
  const refused = calls.length > 0 && calls.every(({ outcome }) => outcome.status === 503);
  if (refused && rows.length > 0 && calls.every(({ pid }) => evidence.lives(pid))) {
    broken('G8', `${kind} ${marker} was turned away by ${first?.api.name} and has a task that is ${rows[0]?.status}`);
  }
  for (let n = 1; n < wish.progress.length; n++) {
    if ((wish.progress[n] as number) < (wish.progress[n - 1] as number))
      broken('G12', `${marker} was shown ${wish.progress.join()}`);
  }
}

/** Faults of a door that swallow a response while both connections stay open. */
const SWALLOWED = /^callers of .*"(?:black-hole|mute)"$/;

/**
 * The exception of docs/internals.md ("How a repeat finds its task"): a response that a proxy accepted, but did not
 * forward, counts as delivered after a second, so an SDK that numbers its tries gets a second task. A broken connection
 * is no excuse.
 */
function lostInFrontOfUs(rows: readonly Row[], { faults }: Evidence): boolean {
  const swallowed = faults.filter(({ name }) => SWALLOWED.test(name));
  return rows.slice(0, -1).every(({ deliveredAt }) => {
    const at = deliveredAt?.getTime() ?? -Infinity;
    return swallowed.some(({ from, to }) => from <= at && at <= to + MARK_MS);
  });
}

/** Faults that keep an API from noticing that its caller has left, or from telling the others. */
const UNSEEN =
  /^(?:Redis .*|Postgres .*|callers of (?<door>.+) cut off: "(?:black-hole|mute)"|(?<frozen>.+) frozen|link of (?<linked>.+) to (?:redis|postgres))$/;
/** How long repeats get the same failure, if it may have been charged. */
const ANSWERED_AGAIN_MS = 60_000;

/**
 * Whether a client that does not number its tries paid twice: it sends its next request when the last one has ended, so
 * each may only start another image when the previous one cost nothing. Excused by faults that hide its leaving from
 * us.
 */
function paidAgain({ calls }: Wish, rows: readonly Row[], { ledger, faults }: Evidence): boolean {
  const paid = rows.filter(({ id }) =>
    ledger.some(({ idempotencyKey, fate }) => idempotencyKey === id && MAYBE_CHARGED.has(fate)),
  );
  return paid.slice(1).some((row, index) => {
    const from = (paid[index] as Row).createdAt.getTime();
    const to = row.createdAt.getTime();
    if ((paid[index] as Row).status === 'failed' && to - from > ANSWERED_AGAIN_MS) return false;
    const called = calls.filter(({ outcome }) => outcome.startedAt <= to).map(({ api }) => api.name);
    return !faults.some(({ name, from: begin, to: end }) => {
      const { door, frozen, linked } = UNSEEN.exec(name)?.groups ?? {};
      const whose = door ?? frozen ?? linked ?? 'all';
      return UNSEEN.test(name) && begin <= to && end + AFTER_MS >= from && (whose === 'all' || called.includes(whose));
    });
  });
}

function complaintAbout(outcome: Outcome, kind: Wish['kind'], { faults, syncWaitMs }: Evidence): string | undefined {
  const { status, body, text, startedAt, milliseconds } = outcome;
  const felt = overlap(faults, startedAt, startedAt + milliseconds);
  if (kind !== 'stream' && milliseconds > syncWaitMs + ANSWER_SLACK_MS + felt)
    return `an answer after ${milliseconds} ms`;
  if (status === 0) return felt > 0 ? undefined : `no answer, and no fault: ${text}`;
  if (status < 400)
    return kind === 'stream' || (typeof body === 'object' && body !== null)
      ? undefined
      : `${status} with ${text.slice(0, 80)}`;
  const error = (body as { type?: string; error?: { code?: unknown; task_id?: unknown } } | undefined) ?? {};
  if (error.type !== 'error' || typeof error.error?.code !== 'string') return `${status} with ${text.slice(0, 80)}`;
  if (status === 504 && typeof error.error.task_id !== 'string') return '504 without the id of its task';
  return undefined;
}

/** Faults that may have affected the task. */
function faultsDuring(row: Row, { faults }: Evidence): FaultWindow[] {
  const end = row.finishedAt?.getTime() ?? Infinity;
  return faults.filter(({ from, to }) => from <= end && to + AFTER_MS >= row.createdAt.getTime());
}

/** Milliseconds of a time span with an active fault. */
export function overlap(faults: readonly FaultWindow[], from: number, to: number): number {
  let total = 0;
  let counted = from;
  for (const fault of [...faults].sort((a, b) => a.from - b.from)) {
    const begin = Math.max(counted, fault.from);
    const end = Math.min(to, fault.to + AFTER_MS);
    if (end <= begin) continue;
    total += end - begin;
    counted = end;
  }
  return total;
}

async function readRows(pool: Pool): Promise<Row[]> {
  const { rows } = await pool.query<Row>(
    `SELECT id, COALESCE(substring(prompt FROM 'mark-[a-z0-9]+'), id) AS marker, status, created_at AS "createdAt",
        finished_at AS "finishedAt", deadline_at AS "deadlineAt", delivered_at AS "deliveredAt", images, has_thumbnail AS "hasThumbnail", usage, error
      FROM tasks ORDER BY id`,
  );
  return rows;
}

function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}
