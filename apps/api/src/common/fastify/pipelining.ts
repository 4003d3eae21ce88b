import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';

/** Concurrent requests per connection; no client we know sends a second one before the first response. */
const MAX_PIPELINED = 16;

/**
 * Limits pipelining. Node parses a read of 64 KiB at once and starts every request in it, about 1,700, even after their
 * connection has closed. This closes a connection with too many unanswered requests, and skips the rest of its read.
 * Must be called once the server has its handler.
 */
export function boundPipelining(server: Server): void {
  const inHand = new WeakMap<Socket, number>();
  const handlers = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const { socket } = request;
    if (socket.destroyed) return;
    const count = (inHand.get(socket) ?? 0) + 1;
    if (count > MAX_PIPELINED) {
      socket.destroy();
      return;
    }
    inHand.set(socket, count);
    response.once('close', () => inHand.set(socket, (inHand.get(socket) ?? 1) - 1));
    for (const handle of handlers) handle(request, response);
  });
}
