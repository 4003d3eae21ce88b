import type { Logger } from '#telemetry/logger.js';
import { networkOf } from './network-of.js';

const WINDOW_MS = 60_000;
/** Networks that are told apart in one minute; the others share a line. */
const MAX_NETWORKS = 1_000;
const OTHERS = 'others';

/** Keeps who sends request after request without a valid key from filling the log. */
export class RefusalLog {
  /** Refusals of the running minute after the first, by network. */
  private readonly counts = new Map<string, number>();
  private timer: NodeJS.Timeout | undefined;

  constructor(private readonly logger: Logger) {}

  /** Whether the refusal is its network's first of the minute and gets a line of its own; the others are counted. */
  isFirst(address: string | undefined): boolean {
    this.timer ??= setTimeout(() => {
      this.write();
    }, WINDOW_MS).unref();
    const named = networkOf(address);
    const network = this.counts.has(named) || this.counts.size < MAX_NETWORKS ? named : OTHERS;
    const count = this.counts.get(network);
    this.counts.set(network, (count ?? -1) + 1);
    return count === undefined;
  }

  /** Writes what was counted, a line per network, and begins anew. */
  write(): void {
    clearTimeout(this.timer);
    this.timer = undefined;
    for (const [network, count] of this.counts) {
      if (count > 0) this.logger.info('requests.refused', { network, count });
    }
    this.counts.clear();
  }
}
