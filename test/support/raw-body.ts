import { connect } from 'node:net';
import { parseAnswer } from './raw-call.js';
import type { Answer } from './contract-answer.js';

/** A request whose body is written as it is, again and again if need be. */
export interface RawBody {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Pieces that follow each other; what waits for an answer stops at the first. */
  readonly pieces: Iterable<Buffer>;
}

const HANG_MS = 120_000;

/**
 * Sends a request as fast as it is taken, until it is answered; only then the rest is let go. `undefined` = cut off
 * without an answer. Throws when nothing came in two minutes.
 */
export function sendBody(url: string, { method, path, headers, pieces }: RawBody): Promise<Answer | undefined> {
  const { hostname, port } = new URL(url);
  const lines = Object.entries({ host: 'x', connection: 'close', ...headers }).map(
    ([name, value]) => `${name}: ${value}\r\n`,
  );
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const received: Buffer[] = [];
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
      // All answers here are small, and the server waits for a body that nobody wants any more.
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
