const INTERVAL_MS = 1_000;
/** A provider's 0..100 is mapped to this range of the task's progress; the start of a call writes the first number. */
const PROVIDER_FROM = 5;
const PROVIDER_TO = 90;

/**
 * Writes progress to the row at most once a second, because each write is a transaction and a new row version. What a
 * provider reports at its start and at its end is not written: the statements that start the call and end the task are.
 */
export class ProgressWriter {
  private writtenAt: number;
  private written = PROVIDER_FROM;

  /**
   * `write` takes the task's progress in percent. `resumed`: the call has not just started, so its first report is news.
   */
  constructor(
    private readonly write: (percent: number) => void,
    resumed: boolean,
  ) {
    this.writtenAt = resumed ? 0 : Date.now();
  }

  /** `percent`: the provider's progress, 0..100. */
  provider(percent: number): void {
    if (percent >= 100) return;
    const now = Date.now();
    const value = PROVIDER_FROM + ((PROVIDER_TO - PROVIDER_FROM) * Math.max(0, percent)) / 100;
    if (now - this.writtenAt < INTERVAL_MS || value - this.written < 1) return;
    this.writtenAt = now;
    this.written = value;
    this.write(value);
  }
}
