import type { Server, ServerResponse } from 'node:http';
import type { ApiConfig } from '../api.config.js';

/** How long the headers of a request may take to arrive. */
const HEADERS_TIMEOUT_MS = 15_000;

/** Limits how long requests may take to arrive; slower ones get 408. */
export function limitArrival(server: Server, { requestTimeoutMs }: Pick<ApiConfig, 'requestTimeoutMs'>): void {
  server.requestTimeout = requestTimeoutMs;
  server.headersTimeout = Math.min(HEADERS_TIMEOUT_MS, requestTimeoutMs);
}

/**
 * Closes the connection of a client that stopped reading; one that waits for its response is kept. Each period is half
 * of the time: while something was read, even just before the last period, Node waits for another one.
 */
export function closeUnread(response: ServerResponse, { requestTimeoutMs }: Pick<ApiConfig, 'requestTimeoutMs'>): void {
  response.setTimeout(requestTimeoutMs / 2, () => {
    if ((response.socket?.writableLength ?? 0) > 0) response.socket?.destroy();
  });
}
