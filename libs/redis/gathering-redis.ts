import { Redis } from 'ioredis';

/**
 * A connection that writes all commands of one turn of the event loop at once, so that they are one call of the system here and one
 * read there. Unlike with ioredis' own automatic pipelines, none waits for the answers to those before it: when Redis falls silent,
 * each fails by its own time limit.
 */
export class GatheringRedis extends Redis {
  override sendCommand(...command: Parameters<Redis['sendCommand']>): unknown {
    // There is none before the first connection.
    const stream = this.stream as Redis['stream'] | undefined;
    if (stream?.writableCorked === 0) {
      stream.cork();
      setImmediate(() => stream.uncork());
    }
    return super.sendCommand(...command);
  }
}
