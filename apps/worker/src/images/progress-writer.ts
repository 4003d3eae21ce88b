const INTERVAL_MS = 1_000;
/** The provider's own 0..100 is this part of the task's. */
const PROVIDER_FROM = 5;
const PROVIDER_TO = 90;

/** Writes progress to the row at most once a second: each write is a new version of the row. */
export class ProgressWriter {
  private writtenAt = 0;
  private written = 0;

  /** `write` takes the percents of the task. */
  constructor(private readonly write: (percent: number) => void) {}

  /** `percent` is 0..100 of the provider's work. */
  provider(percent: number): void {
    const now = Date.now();
    const value = PROVIDER_FROM + ((PROVIDER_TO - PROVIDER_FROM) * Math.min(100, Math.max(0, percent))) / 100;
    if (now - this.writtenAt < INTERVAL_MS || value - this.written < 1) return;
    this.writtenAt = now;
    this.written = value;
    this.write(value);
  }
}
