import { AppError } from '#contract/app-error.js';
import type { FastifyRequest } from 'fastify';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** Bytes of a rejected body that are still read, so that the caller sees the response instead of a reset connection. */
const LINGER_BYTES = 268_435_456;
/**
 * Bytes that one connection may send before others are served: some 10 ms of work where each costs most. A single
 * socket read may hold more chunks.
 */
const BURST_BYTES = 131_072;
const BURST_PIECES = 1_024;
/** A chunk costs as much as many bytes, so only so many may be smaller than SMALL_PIECE_BYTES on average. */
const SMALL_PIECES = 16_384;
const SMALL_PIECE_BYTES = 16;
/** How long a client that is no longer listened to may still read its response, in ms. */
const RESPONSE_READ_MS = 1_000;

/**
 * Reads a request to its end. `accept` keeps what it needs of every chunk, and throws to reject the rest. Unlike `for
 * await`, that keeps the connection open, so that the error response can still be sent.
 */
export function collectBody(payload: IncomingMessage, accept: (chunk: Buffer) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const limitBurst = burstLimiter(payload);
    const stop = (): void => {
      payload.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
    };
    const onData = (chunk: Buffer): void => {
      try {
        limitBurst(chunk);
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

/** Discards a request's body, unless there is none or it is already being read. */
export function discardBody({ raw }: FastifyRequest): void {
  const { 'content-length': length = '0', 'transfer-encoding': encoding } = raw.headers;
  if ((length !== '0' || encoding !== undefined) && !raw.complete && raw.readableFlowing === null) discardRest(raw);
}

/** Discards the rest of a body, up to a limit. */
export function discardRest(payload: IncomingMessage): void {
  const limitBurst = burstLimiter(payload);
  let bytes = 0;
  payload.on('error', () => undefined);
  const onData = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES) payload.destroy();
    try {
      limitBurst(chunk);
    } catch {
      payload.off('data', onData);
      stopReading(payload.socket);
    }
  };
  payload.on('data', onData);
  payload.resume();
}

/**
 * Returns a function to call with every chunk. A connection that sends at full speed, or in very small chunks, pauses
 * now and then, so that others are served after a burst and the socket read that completed it. The returned function
 * throws AppError `invalid_value` when nearly all chunks are only a few bytes long.
 */
export function burstLimiter(payload: IncomingMessage): (chunk: Buffer) => void {
  let bytes = 0;
  let pieces = 0;
  let isPaused = false;
  let allBytes = 0;
  let allPieces = 0;
  return ({ length }) => {
    bytes += length;
    pieces++;
    allBytes += length;
    if (++allPieces > SMALL_PIECES + allBytes / SMALL_PIECE_BYTES) {
      throw new AppError('invalid_value', 'The request body arrives in too many small chunks.');
    }
    if (isPaused || (bytes < BURST_BYTES && pieces < BURST_PIECES)) return;
    [bytes, pieces, isPaused] = [0, 0, true];
    const wake = rest(payload.socket);
    setImmediate(() => {
      isPaused = false;
      wake();
      // A reader that is behind resumes the socket itself. A complete body always resumes it, for the connection's next
      // request.
      if (payload.complete || payload.readableLength < payload.readableHighWaterMark) payload.socket.resume();
    });
  };
}

/** Reads nothing more from a connection, and closes it once its client has had time to read the response. */
export function stopReading(socket: Socket): void {
  rest(socket);
  setTimeout(() => socket.destroy(), RESPONSE_READ_MS).unref();
}

/**
 * Reads nothing more from a connection until the returned function is called. Pausing alone is not enough: a body
 * resumes its socket for each read.
 */
function rest(socket: Socket): () => void {
  const pause = (): void => {
    socket.pause();
  };
  socket.on('resume', pause);
  pause();
  return () => {
    socket.off('resume', pause);
  };
}
