import { Injectable } from '@nestjs/common';
import { randomBytes } from 'node:crypto';
import type { Caller } from './caller.js';

/**
 * The callers of requests that this process makes to itself, for lines of batches: nobody has the text of their keys. Each
 * request gets a key of its own, which no other process knows, and which ends with it.
 */
@Injectable()
export class LineCallers {
  private readonly callers = new Map<string, Caller>();

  /** Runs `work` with an `Authorization` header that is the caller's. */
  async during<T>(caller: Caller, work: (authorization: string) => Promise<T>): Promise<T> {
    const authorization = `Bearer line_${randomBytes(32).toString('base64url')}`;
    this.callers.set(authorization, caller);
    try {
      return await work(authorization);
    } finally {
      this.callers.delete(authorization);
    }
  }

  of(authorization: string | undefined): Caller | undefined {
    return authorization === undefined ? undefined : this.callers.get(authorization);
  }
}
