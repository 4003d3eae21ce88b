import type { IncomingMessage } from 'node:http';

/** Bytes of a refused body that are still read, so that the caller sees the answer and not a reset connection. */
const LINGER_BYTES = 268_435_456;

/**
 * Reads a request to its end. `accept` sees every chunk and refuses the rest by throwing; unlike `for await`, that
 * keeps the connection, on which the refusal still has to be written.
 */
export function collectBody(payload: IncomingMessage, accept: (chunk: Buffer) => void): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    const stop = (): void => {
      payload.off('data', onData).off('end', onEnd).off('error', onError).off('close', onClose);
    };
    const onData = (chunk: Buffer): void => {
      try {
        accept(chunk);
        chunks.push(chunk);
      } catch (error) {
        stop();
        discardRest(payload);
        reject(error instanceof Error ? error : new Error('the body was refused'));
      }
    };
    const onEnd = (): void => {
      stop();
      resolve(chunks);
    };
    const onError = (error: Error): void => {
      stop();
      reject(error);
    };
    const onClose = (): void => {
      onError(Object.assign(new Error('the request was cut off'), { code: 'ECONNRESET' }));
    };
    payload.on('data', onData).on('end', onEnd).on('error', onError).on('close', onClose);
  });
}

/** Throws away what still arrives, within reason. */
export function discardRest(payload: IncomingMessage): void {
  let bytes = 0;
  payload.on('error', () => undefined);
  payload.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > LINGER_BYTES) payload.destroy();
  });
  payload.resume();
}
