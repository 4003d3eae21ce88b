/**
 * Images with more pixels are processed one at a time, because decoders may keep all pixels in memory, at eight bytes
 * each.
 */
const LARGE_PIXELS = 16_777_216;
/** What any work costs in pixels, so that reading many headers is not free. */
const BASE_COST = 262_144;

/** The source of work that runs only while no other work waits. */
export const BACKGROUND = 'background';

/** Whose work it is; within a source, work of the lowest ticket runs first. */
export interface WorkOwner {
  readonly source: string;
  readonly ticket: string;
}

/** The size of work on an image, and what ends its wait. */
interface ImageWork {
  readonly owner: WorkOwner;
  readonly pixels: number;
  readonly signal: AbortSignal | undefined;
}

interface Waiter {
  readonly work: ImageWork;
  readonly start: () => void;
}

/** A source's waiting work, and the pixels that it was given, on the common clock. */
interface Line {
  spent: number;
  readonly waiting: Waiter[];
}

/**
 * Gives the slots for image work to sources in turns, weighed by pixels: the source that was given the fewest is next.
 * Within a source, a task's images are processed together, oldest task first, so that its tasks end one after the other
 * instead of all at the end. At most one large image of all sources is in work at a time.
 */
export class ImageTurns {
  private readonly lines = new Map<string, Line>();
  private clock = 0;
  private isLargeInWork = false;

  constructor(private free: number) {}

  /** Throws the signal's reason when aborted before its turn; work that has begun goes on. */
  async run<T>(action: () => Promise<T>, work: ImageWork): Promise<T> {
    await this.turn(work);
    try {
      return await action();
    } finally {
      this.free += 1;
      if (isLarge(work)) this.isLargeInWork = false;
      this.startNext();
    }
  }

  private async turn(work: ImageWork): Promise<void> {
    const { owner, signal } = work;
    signal?.throwIfAborted();
    await new Promise<void>((resolve, reject) => {
      const start = (): void => {
        signal?.removeEventListener('abort', leave);
        resolve();
      };
      const waiter = { work, start };
      const leave = (): void => {
        const waiting = this.lines.get(owner.source)?.waiting ?? [];
        waiting.splice(waiting.indexOf(waiter), 1);
        reject(signal?.reason as Error);
      };
      this.join(waiter);
      signal?.addEventListener('abort', leave, { once: true });
      this.startNext();
    });
  }

  private join(waiter: Waiter): void {
    const { source, ticket } = waiter.work.owner;
    const line = this.lines.get(source) ?? { spent: this.clock, waiting: [] };
    this.lines.set(source, line);
    // A source saves no turns while it has no work.
    if (line.waiting.length === 0) line.spent = Math.max(line.spent, this.clock);
    const later = line.waiting.findIndex(({ work }) => work.owner.ticket > ticket);
    line.waiting.splice(later === -1 ? line.waiting.length : later, 0, waiter);
  }

  private startNext(): void {
    while (this.free > 0) {
      const next = this.next();
      if (next === undefined) return;
      const { line, waiter } = next;
      line.waiting.splice(line.waiting.indexOf(waiter), 1);
      this.clock = Math.max(this.clock, line.spent);
      line.spent += BASE_COST + waiter.work.pixels;
      this.free -= 1;
      if (isLarge(waiter.work)) this.isLargeInWork = true;
      waiter.start();
    }
    this.forgetIdle();
  }

  private next(): { line: Line; waiter: Waiter } | undefined {
    let best: { line: Line; waiter: Waiter } | undefined;
    for (const [source, line] of this.lines) {
      if (source === BACKGROUND || (best !== undefined && line.spent >= best.line.spent)) continue;
      const waiter = this.firstOf(line);
      if (waiter !== undefined) best = { line, waiter };
    }
    if (best !== undefined) return best;
    const line = this.lines.get(BACKGROUND);
    const waiter = line && this.firstOf(line);
    return line && waiter && { line, waiter };
  }

  private firstOf({ waiting }: Line): Waiter | undefined {
    return waiting.find(({ work }) => !this.isLargeInWork || !isLarge(work));
  }

  /** A source that waits for nothing is remembered only while it is ahead of the others. */
  private forgetIdle(): void {
    for (const [source, { spent, waiting }] of this.lines) {
      if (waiting.length === 0 && spent <= this.clock) this.lines.delete(source);
    }
  }
}

function isLarge({ pixels }: ImageWork): boolean {
  return pixels > LARGE_PIXELS;
}
