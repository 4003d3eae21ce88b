import { connect } from 'node:net';
import { patient } from './patience.js';
import { parseAnswer } from './raw-call.js';
import type { Answer } from './contract-answer.js';

/** A request whose body is written as given, repeated if needed. */
export interface RawBody {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Pieces in order; sending stops at the first response. */
  readonly pieces: Iterable<Buffer>;
  /** Closes the connection. */
  readonly signal?: AbortSignal | undefined;
}

const HANG_MS = patient(120_000);

/**
 * Sends a request as fast as the server reads, until there is a response; then the rest is dropped. `undefined` =
 * closed without a response. Throws after two minutes without either.
 */
export function sendBody(url: string, { method, path, headers, pieces, signal }: RawBody): Promise<Answer | undefined> {
  const { hostname, port } = new URL(url);
  const lines = Object.entries({ host: 'x', connection: 'close', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const received: Buffer[] = [];
    signal?.addEventListener('abort', () => socket.destroy(), { once: true });
    const rest = pieces[Symbol.iterator]();
    const write = (): void => {
      while (received.length === 0) {
        const next = rest.next();
        if (next.done === true) return;
        if (!socket.write(next.value)) return;
      }
    };
    socket.setTimeout(HANG_MS, () => {
      socket.destroy();
      reject(new Error(`${method} ${path} was not answered in ${HANG_MS / 1_000} s`));
    });
    socket.on('data', (chunk) => {
      received.push(chunk);
      // All responses here are small, and the server still waits for the rest of a body that is no longer needed.
      socket.end();
      setImmediate(() => socket.destroy());
    });
    socket.on('error', () => undefined);
    socket.on('drain', write);
    socket.on('close', () => {
      resolve(received.length === 0 ? undefined : parseAnswer(Buffer.concat(received)));
    });
    socket.write(`${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    write();
  });
}
