import { AppError } from '#contract/app-error.js';

/** Seconds after which a rejected caller may retry. */
const RETRY_AFTER = 2;

/** Counts what each source has open on this process at once: rates limit only how fast it opens. */
export class OpenLimit {
  private readonly open = new Map<string, number>();

  /** `limit`: per source, 0 = unlimited; `what` it is, in the plural. */
  constructor(
    private readonly limit: number,
    private readonly what: string,
  ) {}

  /**
   * Counts one more of a source (`sourceOf`). Returns a function that ends it; calling it again does nothing. Throws
   * AppError `concurrency_limit_exceeded` at the limit.
   */
  enter(source: string): () => void {
    const open = this.open.get(source) ?? 0;
    if (this.limit > 0 && open >= this.limit) {
      const message = `The account is limited to ${this.limit} ${this.what}.`;
      throw new AppError('concurrency_limit_exceeded', message, { retryAfter: RETRY_AFTER });
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
