import { Redis } from 'ioredis';

/**
 * A connection that writes all commands of one turn of the event loop together, so that they take one system call here
 * and one read at Redis. Unlike in ioredis's automatic pipelines, none waits for earlier replies: when Redis hangs,
 * each fails by its own time limit.
 */
export class GatheringRedis extends Redis {
  override sendCommand(...command: Parameters<Redis['sendCommand']>): unknown {
    // Undefined before the first connection.
    const stream = this.stream as Redis['stream'] | undefined;
    if (stream?.writableCorked === 0) {
      stream.cork();
      setImmediate(() => stream.uncork());
    }
    return super.sendCommand(...command);
  }
}
