const EVERY_MS = 500;
/** For how long a statement may still arrive: TCP resends a lost packet for about two minutes after its sender has left. */
const LATE_MS = 300_000;
/** Most items to remember, and most to repeat at once: an outage may refuse many thousands of callers. */
const MOST = 100_000;
const PAGE = 200;

/** Makes up for items, and returns those that are done. Doing it again must do no harm. */
export type Repeated<Item> = (items: readonly Item[]) => Promise<readonly Item[]>;

/**
 * Items of statements that the database has not answered: they may have been executed, or may yet be when a frozen server
 * resumes. Repeats a statement for them until the database answers, and for those that are not done then until no late
 * statement can arrive. A process that is killed forgets them.
 */
export class Unanswered<Item> {
  /** Those for which the database has not answered once. */
  private readonly fresh = new Set<Item>();
  /** The others, and until when to repeat each, in ms since the process started. */
  private readonly answered = new Map<Item, number>();
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;

  constructor(
    private readonly repeat: Repeated<Item>,
    /** Called with the errors of the database. */
    private readonly failed: (error: unknown) => void,
  ) {}

  /** When there are too many, the oldest is forgotten. */
  add(item: Item): void {
    const [oldest] = this.answered.size > 0 ? this.answered.keys() : this.fresh;
    if (this.fresh.size + this.answered.size >= MOST && oldest !== undefined) this.forget(oldest);
    this.fresh.add(item);
    this.schedule();
  }

  forget(item: Item): void {
    this.fresh.delete(item);
    this.answered.delete(item);
  }

  has(item: Item): boolean {
    return this.fresh.has(item) || this.answered.has(item);
  }

  /** Repeats such items now, if the database has not answered for them yet. Throws what it throws. */
  async repeatNow(which: (item: Item) => boolean = () => true): Promise<void> {
    const wanted = [...this.fresh].filter(which);
    if (wanted.length > 0) await this.repeatAll(wanted);
  }

  /** Tries a last time, because no process does so afterwards. Never throws. */
  async stop(): Promise<void> {
    await this.running?.catch(() => undefined);
    if (this.fresh.size + this.answered.size > 0) await this.run().catch(this.failed);
    clearTimeout(this.timer);
  }

  private schedule(): void {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.run().catch(this.failed);
    }, EVERY_MS).unref();
  }

  private run(): Promise<void> {
    this.running ??= this.repeatAll([...this.fresh, ...this.answered.keys()]).finally(() => {
      this.running = undefined;
      if (this.fresh.size + this.answered.size > 0) this.schedule();
    });
    return this.running;
  }

  private async repeatAll(items: readonly Item[]): Promise<void> {
    for (let start = 0; start < items.length; start += PAGE) {
      const page = items.slice(start, start + PAGE);
      const done = await this.repeat(page);
      const now = performance.now();
      for (const item of page) {
        const until = this.answered.get(item) ?? now + LATE_MS;
        this.forget(item);
        if (until > now) this.answered.set(item, until);
      }
      for (const item of done) this.forget(item);
    }
  }
}
