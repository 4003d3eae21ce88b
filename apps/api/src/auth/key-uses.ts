import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { FindKey } from '#accounts/find-key.js';
import { Logger } from '#telemetry/logger.js';

/** A key's last use is written at most once per this interval, in ms. */
const INTERVAL_MS = 60_000;
/** How long uses are collected into one write, in ms. */
const GATHER_MS = 1_000;

/** Maintains `api_keys.last_used_at`: one statement for all keys in use, and one write per key, process and minute. */
@Injectable()
export class KeyUses implements OnApplicationShutdown {
  private readonly written = new Map<string, number>();
  private waiting = new Set<string>();
  private timer: NodeJS.Timeout | undefined;

  constructor(
    private readonly keys: FindKey,
    private readonly logger: Logger,
  ) {}

  note(keyId: string): void {
    if (this.waiting.has(keyId) || performance.now() - (this.written.get(keyId) ?? -Infinity) < INTERVAL_MS) return;
    this.waiting.add(keyId);
    this.timer ??= setTimeout(() => void this.write(), GATHER_MS).unref();
  }

  /** Writes the remaining uses. */
  async onApplicationShutdown(): Promise<void> {
    await this.write();
  }

  /** A failed write is not retried: the next use of the key makes up for it. */
  private async write(): Promise<void> {
    clearTimeout(this.timer);
    this.timer = undefined;
    const ids = [...this.waiting];
    this.waiting = new Set();
    if (ids.length === 0) return;
    const now = performance.now();
    for (const [id, at] of this.written) if (now - at >= INTERVAL_MS) this.written.delete(id);
    for (const id of ids) this.written.set(id, now);
    try {
      await this.keys.touch(ids);
    } catch (error) {
      this.logger.warn('keys.uses_not_written', { count: ids.length, error });
    }
  }
}
