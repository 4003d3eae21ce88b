import type pg from 'pg';
import { waitUntil } from '#embedded/wait-until.js';
import { newMarker } from './fault-callers.js';
import { counted } from './figures.js';
import type { LedgerProvider } from './ledger-provider.js';

/** Longer than a sync call is held by default. */
const PATIENCE_MS = 110_000;

/** Orders an image whose prompt holds the marker, and answers with the status. */
type Ask = (marker: string, signal: AbortSignal) => Promise<number>;

/** The callers of one drill, who are under way while something is broken, and what became of what they asked for. */
export class Drill {
  private readonly calls: { readonly marker: string; readonly status: Promise<number> }[] = [];
  private end: () => void = () => undefined;
  private readonly over = new Promise<void>((resolve) => (this.end = resolve));

  constructor(
    private readonly provider: LedgerProvider,
    private readonly ask: Ask,
  ) {}

  /** So many callers whose images the provider keeps back until `release`; none of them tries again. Resolves when it works on all. */
  async hold(count: number): Promise<void> {
    const markers = Array.from({ length: count }, newMarker);
    for (const marker of markers) {
      this.provider.plan(marker, { until: this.over });
      this.calls.push({ marker, status: this.statusOf(marker, AbortSignal.timeout(PATIENCE_MS)) });
    }
    const areStarted = (): boolean => markers.every((marker) => this.provider.startsOf(marker).length > 0);
    if (!(await waitUntil(areStarted, { timeoutMs: 60_000 }))) throw new Error('the provider does not get all calls');
  }

  /** So many callers more, who try again as long as they are told to. Resolves when all have been answered. */
  async come(count: number): Promise<void> {
    const come = Array.from({ length: count }, () => {
      const marker = newMarker();
      return { marker, status: this.untilTaken(marker) };
    });
    this.calls.push(...come);
    await Promise.all(come.map(({ status }) => status));
  }

  /** Lets the provider answer those it has kept waiting. */
  release(): void {
    this.end();
  }

  /** Waits for every answer, writes the drill's line of docs/failure.md, and fails unless every caller got its one image. */
  async judge(pool: pg.Pool, drill: string): Promise<void> {
    const statuses = await Promise.all(this.calls.map(({ status }) => status));
    const markers = this.calls.map(({ marker }) => marker);
    await judge(pool, this.provider, drill, markers, statuses);
  }

  private async untilTaken(marker: string): Promise<number> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    let status = 503;
    const isTaken = async (): Promise<boolean> => (status = await this.statusOf(marker, signal)) !== 503;
    await waitUntil(isTaken, { timeoutMs: PATIENCE_MS, everyMs: 200 });
    return status;
  }

  /** 0 when the connection broke, or nothing came in time. */
  private statusOf(marker: string, signal: AbortSignal): Promise<number> {
    return this.ask(marker, signal).catch(() => 0);
  }
}

/** What became of these orders; the drill's line of docs/failure.md. */
export async function judge(
  pool: pg.Pool,
  provider: LedgerProvider,
  drill: string,
  markers: readonly string[],
  statuses: readonly number[],
): Promise<void> {
  const { rows } = await pool.query<{ status: string }>(
    `SELECT status FROM tasks WHERE EXISTS (SELECT 1 FROM unnest($1::text[]) AS marker WHERE strpos(prompt, marker) > 0)`,
    [markers],
  );
  const failed = statuses.filter((status) => status !== 200).length;
  const lost = markers.length - rows.filter(({ status }) => status === 'completed').length;
  const twice = markers.filter((marker) => provider.startsOf(marker).length > 1).length;
  counted(drill, 'calls, failed, lost, bought twice', [markers.length, failed, lost, twice].join(', '));
  expect([failed, lost, twice]).toEqual([0, 0, 0]);
}
