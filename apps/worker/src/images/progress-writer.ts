const INTERVAL_MS = 1_000;
/** A provider's 0..100 is mapped to this range of the task's progress. */
const PROVIDER_FROM = 5;
const PROVIDER_TO = 90;

/** Writes progress to the row at most once a second, because each write creates a new row version. */
export class ProgressWriter {
  private writtenAt = 0;
  private written = 0;

  /** `write` takes the task's progress in percent. */
  constructor(private readonly write: (percent: number) => void) {}

  /** `percent`: the provider's progress, 0..100. */
  provider(percent: number): void {
    const now = Date.now();
    const value = PROVIDER_FROM + ((PROVIDER_TO - PROVIDER_FROM) * Math.min(100, Math.max(0, percent))) / 100;
    if (now - this.writtenAt < INTERVAL_MS || value - this.written < 1) return;
    this.writtenAt = now;
    this.written = value;
    this.write(value);
  }
}
