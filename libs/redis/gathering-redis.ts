import { Redis, type RedisOptions } from 'ioredis';

/** A Redis that would silently do something else than it is asked; the message says what to do. */
export class UnsuitableRedis extends Error {
  override readonly name = 'UnsuitableRedis';
}

/**
 * A connection that writes all commands of one turn of the event loop together, so that they take one system call here
 * and one read at Redis. Unlike in ioredis's automatic pipelines, none waits for earlier replies: when Redis hangs,
 * each fails by its own time limit.
 *
 * It also never works in another database than its URL names: ioredis goes on in database 0 when Redis lacks the named
 * one, or does not let the user select it, and two installations would take each other's jobs.
 */
export class GatheringRedis extends Redis {
  /** Why the server refused the database of the URL; undefined once it accepted it. */
  refusal: UnsuitableRedis | undefined;

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

  /** Ends the connection if Redis refuses, so that it never becomes ready; the next try is that of any other outage. */
  override async select(database: number | string): Promise<'OK'> {
    try {
      const answer = await super.select(database);
      this.refusal = undefined;
      return answer;
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error);
      this.refusal = new UnsuitableRedis(
        `Redis does not let this user work in database ${database} of REDIS_URL: ${reason}. ` +
          'Name one that it has (setting databases), and allow the user SELECT.',
        { cause: error },
      );
      this.disconnect(true);
      throw this.refusal;
    }
  }

  /** For the blocking reads of BullMQ, which copies its connection. */
  override duplicate(...[changes]: Parameters<Redis['duplicate']>): ReturnType<Redis['duplicate']> {
    const options = { ...this.options, ...changes } as Omit<RedisOptions, 'replyMapping'>;
    return new GatheringRedis(options) as ReturnType<Redis['duplicate']>;
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
