import { AppError } from '#contract/app-error.js';

/** Bodies up to this many bytes are not counted. */
export const SMALL_BODY_BYTES = 1_048_576;

/** Keeps the large JSON bodies of one process within a fixed number of bytes: 64 MiB of them cost 250 MB while parsed. */
export class BodyMemory {
  private held = 0;

  constructor(private readonly limit: number) {}

  /** Throws AppError `server_is_overloaded` when the bytes do not fit now. */
  take(bytes: number): void {
    if (this.held > 0 && this.held + bytes > this.limit) {
      throw new AppError('server_is_overloaded', 'Too many large requests are being read. Please try again shortly.', {
        retryAfter: 2,
      });
    }
    this.held += bytes;
  }

  give(bytes: number): void {
    this.held -= bytes;
  }
}
