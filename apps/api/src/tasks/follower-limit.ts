import { Injectable } from '@nestjs/common';
import { AppError } from '#contract/app-error.js';
import { ApiConfig } from '../common/api.config.js';

/** Seconds after which a rejected caller may retry. */
const RETRY_AFTER = 2;

/** Counts the open long polls and event streams of each account on this process: rates limit only how fast they open. */
@Injectable()
export class FollowerLimit {
  private readonly open = new Map<string, number>();

  constructor(private readonly config: ApiConfig) {}

  /**
   * Counts one more of a source (`sourceOf`). Returns a function that ends it; calling it again does nothing. Throws
   * AppError `concurrency_limit_exceeded` at `ACCOUNT_FOLLOWERS`.
   */
  enter(source: string): () => void {
    const limit = this.config.accountFollowers;
    const open = this.open.get(source) ?? 0;
    if (limit > 0 && open >= limit) {
      const what = `The account is limited to ${limit} open long polls and event streams.`;
      throw new AppError('concurrency_limit_exceeded', what, { retryAfter: RETRY_AFTER });
    }
    this.open.set(source, open + 1);
    let left = false;
    return () => {
      if (!left) this.leave(source);
      left = true;
    };
  }

  private leave(source: string): void {
    const open = (this.open.get(source) ?? 0) - 1;
    if (open > 0) this.open.set(source, open);
    else this.open.delete(source);
  }
}
