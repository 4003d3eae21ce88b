/** How many may hold a place and wait for one, in all and of one source (an account, a network). */
export interface SemaphoreBounds {
  readonly places: number;
  readonly placesOfOne: number;
  /** 0 = nobody waits. */
  readonly waiting: number;
  readonly waitingOfOne: number;
  /** Longest wait, in ms; Infinity = as long as it takes. */
  readonly waitMs: number;
}

/** Why there is no place: the source has or waits for too many, all together do, or none became free in time. */
export type SemaphoreRefusal = 'source' | 'all' | 'late';

interface Waiting {
  readonly start: (leave: () => void) => void;
}

/**
 * Places of a process that sources share: a number of them at once, each source with a number of its own, and those who
 * wait get theirs in turns of their sources. So no source takes all places, and nobody waits behind a long line of
 * another. Within a source, the first to come is the first to be served.
 */
export class FairSemaphore {
  private readonly held = new Map<string, number>();
  private total = 0;
  /** By source; the next source is first. No line is empty. */
  private readonly lines = new Map<string, Set<Waiting>>();
  private waiting = 0;

  /** `refuse` returns the error of a caller who gets no place. */
  constructor(
    private readonly bounds: SemaphoreBounds,
    private readonly refuse: (why: SemaphoreRefusal) => Error,
  ) {}

  /** Takes a place at once. Returns a function that frees it; calling it again does nothing. Throws the refusal. */
  enter(source: string): () => void {
    const why = this.full(source);
    if (why !== undefined) throw this.refuse(why);
    return this.begin(source);
  }

  /** Like `enter`, but waits for a place within the bounds. A signal that aborts ends the wait as if it was too late. */
  async wait(source: string, signal?: AbortSignal): Promise<() => void> {
    if (this.full(source) === undefined) return this.begin(source);
    const line = this.lines.get(source) ?? new Set<Waiting>();
    if (line.size >= this.bounds.waitingOfOne) throw this.refuse('source');
    if (this.waiting >= this.bounds.waiting) throw this.refuse('all');
    return new Promise((resolve, reject) => {
      const giveUp = (): void => {
        this.remove(source, waiting);
        settle();
        reject(this.refuse('late'));
      };
      const { waitMs } = this.bounds;
      const timer = waitMs === Infinity ? undefined : setTimeout(giveUp, waitMs);
      const settle = (): void => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', giveUp);
      };
      const waiting = {
        start: (leave: () => void): void => {
          settle();
          resolve(leave);
        },
      };
      this.lines.set(source, line.add(waiting));
      this.waiting += 1;
      signal?.addEventListener('abort', giveUp, { once: true });
      if (signal?.aborted === true) giveUp();
    });
  }

  /** Like `wait`, but only for a place of the source: when all places are taken, it throws the refusal at once. */
  async waitForOwn(source: string, signal?: AbortSignal): Promise<() => void> {
    if (this.full(source) === 'all') throw this.refuse('all');
    return await this.wait(source, signal);
  }

  /** Runs the work in a place of the source. Throws what the work throws, or the refusal. */
  async run<T>(source: string, work: () => Promise<T>): Promise<T> {
    const leave = await this.wait(source);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** Who waits goes first, so a place is free only if nobody waits who could take it. */
  private full(source: string): 'source' | 'all' | undefined {
    if ((this.held.get(source) ?? 0) >= this.bounds.placesOfOne) return 'source';
    return this.total >= this.bounds.places ? 'all' : undefined;
  }

  private begin(source: string): () => void {
    this.held.set(source, (this.held.get(source) ?? 0) + 1);
    this.total += 1;
    let left = false;
    return () => {
      if (left) return;
      left = true;
      const others = (this.held.get(source) ?? 0) - 1;
      if (others > 0) this.held.set(source, others);
      else this.held.delete(source);
      this.total -= 1;
      this.moveBehind(source);
      this.startWaiting();
    };
  }

  private startWaiting(): void {
    for (const [source, line] of this.lines) {
      if (this.total >= this.bounds.places) return;
      if (this.full(source) !== undefined) continue;
      const [first] = line;
      if (first === undefined) continue;
      this.remove(source, first);
      this.moveBehind(source);
      first.start(this.begin(source));
    }
  }

  /** A source that had a place waits behind all others for its next one. */
  private moveBehind(source: string): void {
    const line = this.lines.get(source);
    if (line !== undefined && this.lines.delete(source)) this.lines.set(source, line);
  }

  private remove(source: string, waiting: Waiting): void {
    const line = this.lines.get(source);
    if (line?.delete(waiting) !== true) return;
    this.waiting -= 1;
    if (line.size === 0) this.lines.delete(source);
  }
}
