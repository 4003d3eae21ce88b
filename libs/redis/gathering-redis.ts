import { Redis } from 'ioredis';

/**
 * A connection that writes all commands of one turn of the event loop together, so that they take one system call here
 * and one read at Redis. Unlike in ioredis's automatic pipelines, none waits for earlier replies: when Redis hangs,
 * each fails by its own time limit.
 */
export class GatheringRedis extends Redis {
  /** Each lets a command go that waits for company. */
  private readonly waiting = new Set<() => void>();

  override sendCommand(...command: Parameters<Redis['sendCommand']>): unknown {
    // Undefined before the first connection.
    const stream = this.stream as Redis['stream'] | undefined;
    if (stream?.writableCorked === 0) {
      stream.cork();
      setImmediate(() => stream.uncork());
      for (const go of this.waiting) go();
    }
    return super.sendCommand(...command);
  }

  /**
   * For a command that nothing waits for: resolves when another one is sent, so that both are one write, or after `ms`.
   */
  async company(ms: number): Promise<void> {
    await new Promise<void>((resolve) => {
      const go = (): void => {
        clearTimeout(timer);
        this.waiting.delete(go);
        resolve();
      };
      const timer = setTimeout(go, ms);
      this.waiting.add(go);
    });
  }
}
