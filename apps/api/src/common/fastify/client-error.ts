import { STATUS_CODES, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { AppError } from '#contract/app-error.js';
import { newRequestId } from '#tasks/row/task-id.js';
import { errorBody, errorHeaders } from '../error-reply.js';
import { appErrorOf } from '../framework-error.js';
import { stopReading } from '../request-stream.js';

/** The newest response of each connection. */
const responses = new WeakMap<Socket, ServerResponse>();

/** Must be called with every response, so that `answerClientError` knows what its connection has been sent. */
export function noteResponse(response: ServerResponse): void {
  responses.set(response.req.socket, response);
}

/**
 * Responds to data that Node could not parse as a request, or that took too long: there is only the socket, no request
 * or reply. A request whose response has begun gets no second one, and one that waits for its response gets that first.
 */
export function answerClientError(thrown: Error & { code?: string }, socket: Socket): void {
  const newest = responses.get(socket);
  if (thrown.code === 'ECONNRESET' || !socket.writable || isAnswered(newest)) {
    socket.destroy();
    return;
  }
  if (newest?.headersSent === false && newest.req.complete) {
    newest.shouldKeepAlive = false;
    return;
  }
  const known = appErrorOf(thrown);
  const error = known.status < 500 ? known : new AppError('invalid_value', 'The request is not valid HTTP.');
  answerOnSocket(error, socket);
}

/** Whether the response has begun and belongs to the request that is still arriving. */
function isAnswered(response: ServerResponse | undefined): boolean {
  if (response?.headersSent !== true) return false;
  return !response.writableFinished || !response.req.complete;
}

/**
 * Writes a complete error response to the socket and closes it. A request that is still arriving must not be handled
 * after this response, so nothing more is read.
 */
function answerOnSocket(error: AppError, socket: Socket): void {
  const requestId = newRequestId();
  const body = JSON.stringify(errorBody(error, requestId));
  const headers = {
    ...errorHeaders(error),
    'x-request-id': requestId,
    'access-control-allow-origin': '*',
    'content-type': 'application/json',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  };
  // Node removes its own listener from the socket of a tunnel, and a reset would end the process.
  socket.on('error', () => socket.destroy());
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${error.status} ${STATUS_CODES[error.status] ?? 'Error'}\r\n${lines.join('')}\r\n${body}`);
  stopReading(socket);
}

/** Answers what Node would not pass on as a request. */
export function answerOddRequests(server: Server): void {
  server.on('connect', (_request: IncomingMessage, socket: Socket) => {
    answerOnSocket(new AppError('method_not_allowed', 'CONNECT is not supported.'), socket);
  });
  // Ignores unknown expectations; Node would respond with an empty 417.
  server.on('checkExpectation', (request, response) => server.emit('request', request, response));
}
