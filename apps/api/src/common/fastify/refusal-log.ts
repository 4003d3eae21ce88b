import type { Logger } from '#telemetry/logger.js';
import { networkOf } from '../network-of.js';

const WINDOW_MS = 60_000;
/** Networks with lines of their own per minute; the others share lines. */
const MAX_NETWORKS = 1_000;
const OTHERS = 'others';

/** Keeps clients without a valid key from filling the log with their requests. */
export class RefusalLog {
  /** Refusals of the current minute after the first, by network and status. */
  private readonly counts = new Map<string, Map<number, number>>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly logger: Logger) {}

  /**
   * Whether the refusal is the network's first of the minute with this status, which gets its own line. Counts the
   * others.
   */
  isFirst(address: string | undefined, status: number): boolean {
    this.timer ??= setTimeout(() => this.write(), WINDOW_MS).unref();
    const named = networkOf(address);
    const network = this.counts.has(named) || this.counts.size < MAX_NETWORKS ? named : OTHERS;
    const counts = this.counts.get(network) ?? new Map<number, number>();
    const count = counts.get(status);
    this.counts.set(network, counts.set(status, (count ?? -1) + 1));
    return count === undefined;
  }

  /** Logs the counts, one line per network and status, and resets them. */
  write(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const [network, counts] of this.counts) {
      for (const [status, count] of counts) {
        if (count > 0) this.logger.info('requests.refused', { network, status, count });
      }
    }
    this.counts.clear();
  }
}
