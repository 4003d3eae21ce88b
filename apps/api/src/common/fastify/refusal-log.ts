import type { Logger } from '#telemetry/logger.js';

const WINDOW_MS = 60_000;
/** Keys and networks with lines of their own per minute; the others share lines. */
const MAX_SOURCES = 1_000;
const OTHERS: RefusalSource = { network: 'others' };

/** The caller's key, or its network if it has no valid key. */
export type RefusalSource = { readonly keyId: string } | { readonly network: string };

/** The refusals of one source in the current minute after the first, by status. */
interface Refusals {
  readonly source: RefusalSource;
  readonly counts: Map<number, number>;
}

/** Keeps clients from filling the log with requests that are refused. */
export class RefusalLog {
  private readonly refusals = new Map<string, Refusals>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly logger: Logger) {}

  /**
   * Whether the refusal is the source's first of the minute with this status, which gets its own line. Counts the
   * others.
   */
  isFirst(source: RefusalSource, status: number): boolean {
    this.timer ??= setTimeout(() => this.write(), WINDOW_MS).unref();
    const isNamed = this.refusals.has(JSON.stringify(source)) || this.refusals.size < MAX_SOURCES;
    const { counts } = this.refusalsOf(isNamed ? source : OTHERS);
    const count = counts.get(status);
    counts.set(status, (count ?? -1) + 1);
    return count === undefined;
  }

  private refusalsOf(source: RefusalSource): Refusals {
    const name = JSON.stringify(source);
    const refusals = this.refusals.get(name) ?? { source, counts: new Map<number, number>() };
    this.refusals.set(name, refusals);
    return refusals;
  }

  /** Logs the counts, one line per source and status, and resets them. */
  write(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const { source, counts } of this.refusals.values()) {
      for (const [status, count] of counts) {
        if (count > 0) this.logger.info('requests.refused', { ...source, status, count });
      }
    }
    this.refusals.clear();
  }
}
