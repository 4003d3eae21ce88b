import type pg from 'pg';
import { waitUntil } from '#embedded/wait-until.js';
import { newMarker } from './fault-callers.js';
import { counted } from './figures.js';
import type { LedgerProvider } from './ledger-provider.js';
import { patient } from './patience.js';

/** Longer than the default limit of a sync call. */
const PATIENCE_MS = 110_000;

/** Requests an image with the marker in its prompt, and returns the status. */
type Ask = (marker: string, signal: AbortSignal) => Promise<number>;

/** Callers whose requests are in progress while something is broken, and their results. */
export class Drill {
  private readonly calls: { readonly marker: string; readonly status: Promise<number> }[] = [];
  private end: () => void = () => undefined;
  private readonly over = new Promise<void>((resolve) => (this.end = resolve));

  constructor(
    private readonly provider: LedgerProvider,
    private readonly ask: Ask,
  ) {}

  /**
   * Starts callers whose images the provider holds back until `release`; they don't retry. Resolves when it has
   * received all requests.
   */
  async hold(count: number): Promise<void> {
    const markers = Array.from({ length: count }, newMarker);
    for (const marker of markers) {
      this.provider.plan(marker, { until: this.over });
      this.calls.push({ marker, status: this.statusOf(marker, AbortSignal.timeout(patient(PATIENCE_MS))) });
    }
    const areStarted = (): boolean => markers.every((marker) => this.provider.startsOf(marker).length > 0);
    if (!(await waitUntil(areStarted, { timeoutMs: 60_000 }))) throw new Error('the provider does not get all calls');
  }

  /** Starts more callers, who retry as long as the responses tell them to. Resolves when all have a result. */
  async come(count: number): Promise<void> {
    const come = Array.from({ length: count }, () => {
      const marker = newMarker();
      return { marker, status: this.untilTaken(marker) };
    });
    this.calls.push(...come);
    await Promise.all(come.map(({ status }) => status));
  }

  /** Lets the provider respond to the held calls. */
  release(): void {
    this.end();
  }

  /**
   * Waits for all responses, writes the drill's line of docs/failure.md, and fails unless every caller got exactly one
   * image.
   */
  async judge(pool: pg.Pool, drill: string): Promise<void> {
    const statuses = await Promise.all(this.calls.map(({ status }) => status));
    const markers = this.calls.map(({ marker }) => marker);
    await judge(pool, this.provider, drill, markers, statuses);
  }

  private async untilTaken(marker: string): Promise<number> {
    const signal = AbortSignal.timeout(patient(PATIENCE_MS));
    let status = 503;
    const isTaken = async (): Promise<boolean> => (status = await this.statusOf(marker, signal)) !== 503;
    await waitUntil(isTaken, { timeoutMs: PATIENCE_MS, everyMs: 200 });
    return status;
  }

  /** 0 when the connection broke or timed out. */
  private statusOf(marker: string, signal: AbortSignal): Promise<number> {
    return this.ask(marker, signal).catch(() => 0);
  }
}

/** The results of these requests; writes the drill's line of docs/failure.md. */
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
  expect({ statuses: [...new Set(statuses)], lost, twice }).toEqual({ statuses: [200], lost: 0, twice: 0 });
}
