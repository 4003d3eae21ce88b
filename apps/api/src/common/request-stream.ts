import { AppError } from '#contract/app-error.js';
import type { FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';

/** Bytes of a refused body that are still read, so that the caller sees the answer and not a reset connection. */
const LINGER_BYTES = 268_435_456;
/** What one connection may bring before the others get their turn; a single read of a socket may hold more pieces. */
const TURN_BYTES = 262_144;
const TURN_PIECES = 1_024;
/** A piece costs as much as many bytes: so many may be smaller than these. */
const SMALL_PIECES = 16_384;
const SMALL_PIECE_BYTES = 16;
/** How long whoever sends nothing but tiny pieces may look for the answer, in ms. */
const LAST_LOOK_MS = 1_000;

/**
 * Reads a request to its end. `accept` keeps what it needs of every chunk, and refuses the rest by throwing; unlike
 * `for await`, that keeps the connection, on which the refusal still has to be written.
 */
export function collectBody(payload: IncomingMessage, accept: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const takeTurns = turnsOf(payload);
    const stop = (): void => {
      payload.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
    };
    const onData = (chunk: Buffer): void => {
      try {
        takeTurns(chunk);
        accept(chunk);
      } catch (error) {
        stop();
        discardRest(payload);
        reject(error instanceof Error ? error : new Error('the body was refused'));
      }
    };
    const onEnd = (): void => {
      stop();
      resolve();
    };
    const onError = (error: Error): void => {
      stop();
      reject(error);
    };
    const onClose = (): void => onError(Object.assign(new Error('the request was cut off'), { code: 'ECONNRESET' }));
    payload.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
  });
}

/** Throws away the body of a request that nobody has begun to read; does nothing when it has none. */
export function discardBody({ raw }: FastifyRequest): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = raw.headers;
  if ((length !== '0' || encoding !== undefined) && !raw.complete && raw.readableFlowing === null) discardRest(raw);
}

/** Throws away what still arrives, within reason. */
export function discardRest(payload: IncomingMessage): void {
  const takeTurns = turnsOf(payload);
  let bytes = 0;
  payload.on('error', () => undefined);
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES) payload.destroy();
    try {
      takeTurns(chunk);
    } catch {
      payload.off('data', onData);
      // After whoever else would let it go on.
      setImmediate(() => payload.socket.pause());
      setTimeout(() => payload.socket.destroy(), LAST_LOOK_MS).unref();
    }
  };
  payload.on('data', onData);
  payload.resume();
}

/**
 * To be told of every chunk: a connection that sends as fast as it is read, or in very small pieces, rests from time to
 * time, so that it never has more than one read's worth of work done before others are looked at.
 * What it returns throws AppError `invalid_value` when nearly all that comes are pieces of a few bytes.
 */
export function turnsOf(payload: IncomingMessage): (chunk: Buffer) => void {
  let [bytes, pieces, resting] = [0, 0, false];
  let [allBytes, allPieces] = [0, 0];
  return ({ length }) => {
    bytes += length;
    pieces++;
    allBytes += length;
    if (++allPieces > SMALL_PIECES + allBytes / SMALL_PIECE_BYTES) {
      throw new AppError('invalid_value', 'The request body comes in too many pieces that are too small.');
    }
    if (resting || (bytes < TURN_BYTES && pieces < TURN_PIECES)) return;
    [bytes, pieces, resting] = [0, 0, true];
    payload.socket.pause();
    setImmediate(() => {
      resting = false;
      // A reader that is behind lets it go on itself, unless all is there: then the connection's next request is waited for.
      if (payload.complete || payload.readableLength < payload.readableHighWaterMark) payload.socket.resume();
    });
  };
}
