import type { Logger } from '#telemetry/logger.js';

const BATCH = 500;
/** Rows kept during a database outage: a few megabytes at 300 bytes each. */
const MAX_WAITING = 20_000;

interface Writing<Row> {
  /** Names the rows in the log: `chat.usage` gives `chat.usage_lost`. */
  readonly name: string;
  readonly write: (rows: readonly Row[]) => Promise<void>;
  /** How often rows are written, and how long after a failure they are tried again. */
  readonly everyMs: number;
}

interface WaitingRow<Row> {
  readonly row: Row;
  /** Called once it is written. */
  readonly written: (() => void) | undefined;
}

/**
 * Rows that are written in batches, outside of requests. During a database outage they are kept up to a limit; lost rows
 * are counted in the log.
 */
export class WaitingRows<Row> {
  private waiting: WaitingRow<Row>[] = [];
  private timer: NodeJS.Timeout | undefined;
  private writing: Promise<void> | undefined;
  private lost = 0;

  constructor(
    private readonly rows: Writing<Row>,
    private readonly logger: Logger,
  ) {}

  /** With `written`, the row is written at once, together with those that wait by then. */
  add(row: Row, written?: () => void): void {
    if (this.waiting.length >= MAX_WAITING) {
      this.lost++;
      return;
    }
    this.waiting.push({ row, written });
    this.timer ??= setInterval(() => void this.flush(), this.rows.everyMs).unref();
    if (written !== undefined) void this.flush();
  }

  /** Writes the remaining rows, if the database answers. */
  async close(): Promise<void> {
    await this.flush();
    await this.flush();
    clearInterval(this.timer);
    if (this.waiting.length > 0) this.logger.error(`${this.rows.name}_lost`, { count: this.waiting.length });
  }

  private flush(): Promise<void> {
    this.writing ??= this.writeAll().finally(() => {
      this.writing = undefined;
    });
    return this.writing;
  }

  private async writeAll(): Promise<void> {
    if (this.lost > 0) this.logger.error(`${this.rows.name}_lost`, { count: this.lost });
    this.lost = 0;
    try {
      while (this.waiting.length > 0) {
        const batch = this.waiting.slice(0, BATCH);
        await this.rows.write(batch.map(({ row }) => row));
        this.waiting = this.waiting.slice(batch.length);
        for (const { written } of batch) written?.();
      }
      clearInterval(this.timer);
      this.timer = undefined;
    } catch (error) {
      this.logger.warn(`${this.rows.name}_not_written`, { count: this.waiting.length, error });
    }
  }
}
