const SPACE = 32;
const COLON = 58;
const ZERO = 48;

/** The number and the sum of durations per bucket (latency_bucket in ledger.sql). */
export class DurationHistogram {
  readonly #counts: number[] = [];
  readonly #sums: number[] = [];
  #total = 0;

  /** Adds `bucket:count:milliseconds` of each bucket, separated by spaces; a bucket may occur more than once. */
  add(durations: string): void {
    let bucket = 0;
    let count = 0;
    let value = 0;
    let colons = 0;
    // Digit by digit: an answer has tens of thousands of buckets, and splitting their text takes ten times as long.
    for (let index = 0; index <= durations.length; index++) {
      const code = index < durations.length ? durations.charCodeAt(index) : SPACE;
      if (code === COLON) {
        if (colons === 0) bucket = value;
        else count = value;
        colons++;
        value = 0;
      } else if (code === SPACE) {
        if (colons === 2) this.#put(bucket, count, value);
        colons = 0;
        value = 0;
      } else {
        value = value * 10 + code - ZERO;
      }
    }
  }

  #put(bucket: number, count: number, ms: number): void {
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + count;
    this.#sums[bucket] = (this.#sums[bucket] ?? 0) + ms;
    this.#total += count;
  }

  /** A percentile, interpolated between neighbors; every duration in a bucket counts as the bucket's mean. Null without durations. */
  percentile(share: number): number | null {
    if (this.#total === 0) return null;
    const place = share * (this.#total - 1);
    const before = Math.floor(place);
    const low = this.#at(before);
    return low + (this.#at(Math.ceil(place)) - low) * (place - before);
  }

  #at(place: number): number {
    let upto = 0;
    let mean = 0;
    for (let bucket = 0; bucket < this.#counts.length; bucket++) {
      const count = this.#counts[bucket];
      if (!count) continue;
      upto += count;
      mean = (this.#sums[bucket] ?? 0) / count;
      if (upto > place) break;
    }
    return mean;
  }
}
