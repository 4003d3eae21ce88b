import { Readable } from 'node:stream';

/** Where the pieces of a body go: a response, or a stream of events. */
export interface Passage {
  /** Bytes that have not been handed to the system. */
  readonly writableLength: number;
}

/** Memory for the next piece; what it contains is undefined. */
export type Room = (bytes: number) => Buffer;

interface BodyMaker {
  /** Exact length of the body, in bytes; absent: not known before its end. */
  readonly length?: number;
  readonly passage: Passage;
  /** Yields the pieces, each in a room of its own or in memory that does not change. */
  readonly make: (room: Room) => AsyncGenerator<Buffer, void>;
  /** Called once, when the body has ended or is not wanted any more. */
  readonly close: () => void;
}

/**
 * A body that is made piece by piece, each when the one before has been handed to the system, and so in the same buffer.
 * A buffer for each piece would cost several times as much as its bytes: the system has to clear its memory, and it is
 * only given back when the garbage collector finds it. A piece that is still on its way keeps its buffer, and the next
 * one gets another.
 */
export function pacedBody({ length, passage, make, close }: BodyMaker): Readable {
  let buffer = Buffer.alloc(0);
  let left = length ?? Infinity;
  const body = new Readable({
    // Nothing is made ahead of what the caller reads.
    highWaterMark: 0,
    read() {
      pieces.next().then(
        ({ done, value }) => {
          left -= value === undefined ? 0 : value.length;
          if (done !== true) this.push(value);
          // Ends with the last byte: a client closes once it has all bytes, so a later end would look like a disconnect.
          if (done === true || left === 0) this.push(null);
        },
        (error: unknown) => this.destroy(error instanceof Error ? error : new Error('the body broke off')),
      );
    },
    destroy(error, done) {
      close();
      done(error);
    },
  });
  const room = (bytes: number): Buffer => {
    const isFree = body.readableLength === 0 && passage.writableLength === 0;
    if (!isFree || buffer.length < bytes) buffer = Buffer.allocUnsafeSlow(bytes);
    return buffer.subarray(0, bytes);
  };
  const pieces = make(room);
  return body;
}
