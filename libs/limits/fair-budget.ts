/** One source may hold this many times what then remains: alone, half of all. */
const SHARE = 1;

/**
 * An amount (bytes, pixels) that the sources of a process share, and some of it is always left for others: a source may
 * hold at most as much as then remains free. So a single source gets at most half, and a second one a quarter.
 */
export class FairBudget {
  private total = 0;
  private readonly bySource = new Map<string, number>();

  constructor(readonly limit: number) {}

  /** The amount that is currently held. */
  get held(): number {
    return this.total;
  }

  /** The most that one source can ever hold. */
  get most(): number {
    return Math.floor((this.limit * SHARE) / (1 + SHARE));
  }

  /** The amount that a source holds. */
  heldBy(source: string): number {
    return this.bySource.get(source) ?? 0;
  }

  /** Whether the amount fits now; nothing always does. A smaller `share` is for what the source can do without. */
  fits(amount: number, source: string, share = SHARE): boolean {
    return amount === 0 || this.heldBy(source) + amount <= share * (this.limit - this.total - amount);
  }

  /** Takes the amount if it fits now. */
  tryReserve(amount: number, source: string, share = SHARE): boolean {
    const fits = this.fits(amount, source, share);
    if (fits) this.add(amount, source);
    return fits;
  }

  /** Counts an amount that is there already, whether or not it fits, so that others wait for it. */
  add(amount: number, source: string): void {
    const own = this.heldBy(source) + amount;
    this.total += amount;
    if (own > 0) this.bySource.set(source, own);
    else this.bySource.delete(source);
  }

  /** Releases an amount of the source. */
  release(amount: number, source: string): void {
    this.add(-amount, source);
  }
}
