import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { ApiConfig, bodyMemoryOf } from '../api.config.js';

/** One source may hold this many times the bytes that remain free. */
const SHARE = 2;
/** The same for bytes that a response can do without. */
const OPTIONAL_SHARE = 1;

/**
 * Limits the memory for request bodies in one process, and always leaves some for other sources: a source may hold at
 * most twice what then remains. So a single source gets at most two thirds, and two sources two fifths each.
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

  /** Bytes currently held. */
  get held(): number {
    return this.total;
  }

  /** Throws AppError `server_is_overloaded` when the bytes do not fit now or exceed the source's share. */
  reserve(bytes: number, source: string): void {
    if (!this.tryReserve(bytes, source, SHARE)) {
      throw new AppError('server_is_overloaded', 'Too many large requests are being read. Please try again shortly.', {
        retryAfter: 2,
      });
    }
  }

  /**
   * For bytes that a response can do without: false when they do not fit. They get a smaller share, so that they leave
   * the source room for its requests.
   */
  tryReserve(bytes: number, source: string, share = OPTIONAL_SHARE): boolean {
    const own = (this.bySource.get(source) ?? 0) + bytes;
    const total = this.total + bytes;
    if (own > share * (this.limit - total)) return false;
    this.total = total;
    this.bySource.set(source, own);
    return true;
  }

  /** Releases bytes of the source. */
  release(bytes: number, source: string): void {
    const own = (this.bySource.get(source) ?? 0) - bytes;
    this.total -= bytes;
    if (own > 0) this.bySource.set(source, own);
    else this.bySource.delete(source);
  }
}

/** The bytes that one request holds in the memory for bodies; all are released at once. */
export class BodyReservation {
  private bytes = 0;

  constructor(
    private readonly memory: BodyMemory,
    private readonly source: string,
  ) {}

  /** Throws AppError `server_is_overloaded`. */
  reserve(bytes: number): void {
    this.memory.reserve(bytes, this.source);
    this.bytes += bytes;
  }

  /** Like `reserve`, for bytes that the response can do without: false when they don't fit. */
  tryReserve(bytes: number): boolean {
    const fits = this.memory.tryReserve(bytes, this.source);
    if (fits) this.bytes += bytes;
    return fits;
  }

  release(): void {
    if (this.bytes > 0) this.memory.release(this.bytes, this.source);
    this.bytes = 0;
  }
}
