import { connect } from 'node:net';
import type { Answer } from './contract-answer.js';
import { patient } from './patience.js';

/** No request of the tests takes longer, unless it hangs. */
const HANG_MS = patient(20_000);

/**
 * Writes raw bytes to the socket and reads the first response, to its announced end or to the end of the connection.
 * For requests that no HTTP client would send; they should ask for `connection: close`. Throws without a complete
 * response in time. `undefined` = closed without a byte.
 */
export function rawCall(url: string, bytes: Buffer | string): Promise<Answer | undefined> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname);
    const received: Buffer[] = [];
    // Restarts with every byte, which makes little difference for such small responses.
    socket.setTimeout(HANG_MS, () => {
      socket.destroy(new Error(`nothing came for ${HANG_MS / 1000} s`));
      reject(new Error(`no whole answer; so far: ${Buffer.concat(received).toString('latin1')}`));
    });
    socket.on('data', (chunk) => {
      received.push(chunk);
      // The server still waits for the announced body, although it no longer needs it.
      if (isWhole(Buffer.concat(received))) socket.destroy();
    });
    // A reset after the response loses nothing; one before it leaves no bytes, which the caller judges.
    socket.on('error', () => undefined);
    socket.on('close', () => {
      try {
        resolve(received.length === 0 ? undefined : parseAnswer(Buffer.concat(received)));
      } catch (error) {
        reject(error instanceof Error ? error : new Error(String(error)));
      }
    });
    socket.write(bytes);
  });
}

function isWhole(received: Buffer): boolean {
  const end = received.indexOf('\r\n\r\n');
  const [, length] = /^content-length: (\d+)\r$/im.exec(received.toString('latin1', 0, end + 2)) ?? [];
  return end !== -1 && length !== undefined && received.length >= end + 4 + Number(length);
}

/** Parses a raw response. Throws when it is invalid. */
export function parseAnswer(received: Buffer): Answer {
  const text = received.toString('latin1');
  const end = text.indexOf('\r\n\r\n');
  const [start = '', ...lines] = text.slice(0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(start)?.[1]);
  if (end === -1 || !Number.isInteger(status)) throw new Error(`no HTTP answer: ${text.slice(0, 300)}`);
  const headers = Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(':')).toLowerCase(), line.slice(line.indexOf(':') + 1).trim()]),
  );
  const rest = received.subarray(end + 4);
  if (headers['transfer-encoding'] === 'chunked') return { status, headers, text: unchunked(rest).toString() };
  const length = Number(headers['content-length'] ?? rest.length);
  return { status, headers, text: rest.subarray(0, length).toString() };
}

function unchunked(bytes: Buffer): Buffer {
  const pieces: Buffer[] = [];
  let at = 0;
  for (;;) {
    const line = bytes.indexOf('\r\n', at);
    const size = parseInt(bytes.toString('latin1', at, line), 16);
    if (line === -1 || !(size > 0)) return Buffer.concat(pieces);
    pieces.push(bytes.subarray(line + 2, line + 2 + size));
    at = line + 2 + size + 2;
  }
}
