import type { Metrics } from '#telemetry/metrics.js';
import {
  ObjectNotFound,
  RangeNotSatisfiable,
  type ByteRange,
  type ObjectBody,
  type ObjectStore,
  type StoredObject,
} from './object-store.js';

type Operation = 'put' | 'open' | 'delete' | 'check';

/**
 * A store that counts and times every operation, except reading an opened stream and listing: their pace is the
 * caller's.
 */
export class TimedStore implements ObjectStore {
  constructor(
    private readonly store: ObjectStore,
    private readonly metrics: Metrics,
  ) {}

  async put(
    key: string,
    body: ObjectBody,
    options: { contentType: string; signal?: AbortSignal },
  ): Promise<{ bytes: number }> {
    return this.timed('put', this.store.put(key, body, options), options.signal);
  }

  async open(key: string, options?: { signal?: AbortSignal; range?: ByteRange }): Promise<StoredObject> {
    return this.timed('open', this.store.open(key, options), options?.signal);
  }

  async delete(key: string): Promise<void> {
    return this.timed('delete', this.store.delete(key));
  }

  list(prefix: string): AsyncIterable<string> {
    return this.store.list(prefix);
  }

  async check(): Promise<void> {
    return this.timed('check', this.store.check());
  }

  private async timed<T>(operation: Operation, work: Promise<T>, signal?: AbortSignal): Promise<T> {
    const since = performance.now();
    const observe = (outcome: string): void => {
      this.metrics.storeOperations.observe({ operation, outcome }, (performance.now() - since) / 1_000);
    };
    try {
      const result = await work;
      observe('ok');
      return result;
    } catch (error) {
      observe(signal?.aborted === true ? 'aborted' : outcomeOf(error));
      throw error;
    }
  }
}

/** A range outside of the object is the caller's mistake, not the store's. */
function outcomeOf(error: unknown): string {
  if (error instanceof ObjectNotFound) return 'not_found';
  return error instanceof RangeNotSatisfiable ? 'ok' : 'failed';
}
