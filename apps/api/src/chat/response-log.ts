import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { RESPONSE_DAYS, StoredResponses, type StoredResponseRow } from '#routing/stored-responses.js';
import { Logger } from '#telemetry/logger.js';
import { WaitingRows } from './waiting-rows.js';

const TICK_MS = 1_000;
/** How long the end of a response waits for its row: during a database outage, callers get it all the same. */
const WAIT_MS = 2_000;
const DAY_MS = 86_400_000;

/** Writes which provider holds which response. */
@Injectable()
export class ResponseLog implements OnApplicationShutdown {
  private readonly rows: WaitingRows<StoredResponseRow>;

  constructor(responses: StoredResponses, logger: Logger) {
    const write = (rows: readonly StoredResponseRow[]): Promise<void> => responses.put(rows);
    this.rows = new WaitingRows({ name: 'chat.responses', write, everyMs: TICK_MS }, logger);
  }

  /**
   * Resolves once the row is written, so that a caller can use the response's id, or after two seconds. With `later`, it
   * resolves at once, and the row is written together with all others of the second.
   */
  record(row: Omit<StoredResponseRow, 'expires_at'>, later = false): Promise<void> {
    const expires_at = new Date(Date.now() + RESPONSE_DAYS * DAY_MS).toISOString();
    if (later) {
      this.rows.add({ ...row, expires_at });
      return Promise.resolve();
    }
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, WAIT_MS).unref();
      this.rows.add({ ...row, expires_at }, () => {
        clearTimeout(timer);
        resolve();
      });
    });
  }

  async onApplicationShutdown(): Promise<void> {
    await this.rows.close();
  }
}
