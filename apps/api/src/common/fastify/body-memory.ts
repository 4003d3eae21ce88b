import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { ApiConfig, bodyMemoryOf } from '../api.config.js';

/** How many times of what is left free one source may hold. */
const SHARE = 2;

/**
 * Keeps the bodies of one process within a fixed number of bytes, and leaves room whoever sends them: one source may
 * hold twice of what then is left, so one alone gets two thirds, and two of them two fifths each.
 */
@Injectable()
export class BodyMemory {
  private total = 0;
  private readonly bySource = new Map<string, number>();
  /** In bytes; the largest body needs two thirds of it. */
  private readonly limit: number;

  constructor(config: ApiConfig) {
    this.limit = bodyMemoryOf(config);
  }

  /** Bytes held just now. */
  get held(): number {
    return this.total;
  }

  /** Throws AppError `server_is_overloaded` when the bytes do not fit now, or would be too large a share. */
  take(bytes: number, source: string): void {
    const own = (this.bySource.get(source) ?? 0) + bytes;
    const total = this.total + bytes;
    if (own > SHARE * (this.limit - total)) {
      throw new AppError('server_is_overloaded', 'Too many large requests are being read. Please try again shortly.', {
        retryAfter: 2,
      });
    }
    this.total = total;
    this.bySource.set(source, own);
  }

  /** Gives back what was taken for the source. */
  give(bytes: number, source: string): void {
    const own = (this.bySource.get(source) ?? 0) - bytes;
    this.total -= bytes;
    if (own > 0) this.bySource.set(source, own);
    else this.bySource.delete(source);
  }
}

/** What one request holds of the memory for bodies; all of it is given back at once, and once. */
export class BodyHold {
  private bytes = 0;

  constructor(
    private readonly memory: BodyMemory,
    private readonly source: string,
  ) {}

  /** Throws AppError `server_is_overloaded`. */
  take(bytes: number): void {
    this.memory.take(bytes, this.source);
    this.bytes += bytes;
  }

  give(): void {
    if (this.bytes > 0) this.memory.give(this.bytes, this.source);
    this.bytes = 0;
  }
}
