import { Injectable } from '@nestjs/common';
import { unavailable } from '#contract/unavailable.js';
import { FairBudget } from '#limits/fair-budget.js';
import { ApiConfig } from '../api.config.js';

/** One source may hold this many times the bytes that remain, in bytes that a response can do without. */
const OPTIONAL_SHARE = 0.5;

/** Limits the memory for request bodies in one process; one source gets at most half of it. */
@Injectable()
export class BodyMemory {
  private readonly budget: FairBudget;

  constructor({ bodyMemory }: ApiConfig) {
    this.budget = new FairBudget(bodyMemory);
  }

  /** Bytes currently held. */
  get held(): number {
    return this.budget.held;
  }

  /** Throws AppError `server_is_overloaded` when the bytes do not fit now or exceed the source's share. */
  reserve(bytes: number, source: string): void {
    if (!this.budget.tryReserve(bytes, source)) {
      throw unavailable('Too many large requests are being read. Please try again shortly.', {
        retryAfter: 2,
      });
    }
  }

  /**
   * For bytes that a response can do without: false when they do not fit. They get a smaller share, a third when alone,
   * so that they leave the source room for its requests.
   */
  tryReserve(bytes: number, source: string): boolean {
    return this.budget.tryReserve(bytes, source, OPTIONAL_SHARE);
  }

  /** Releases bytes of the source. */
  release(bytes: number, source: string): void {
    this.budget.release(bytes, source);
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
