import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';

/** Requests that one connection may have in hand; no client we know sends a second before it has the first answer. */
const MAX_IN_HAND = 16;

/**
 * Bounds pipelining. Node takes a read of 64 KiB apart at once and starts every request in it, some 1,700, even when
 * their connection has gone. Here a connection that sends too many before they are answered ends, and what is left
 * of its read is passed over before anything is made of it. To be called when the server has its handler.
 */
export function boundPipelining(server: Server): void {
  const inHand = new WeakMap<Socket, number>();
  const handlers = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const { socket } = request;
    if (socket.destroyed) return;
    const count = (inHand.get(socket) ?? 0) + 1;
    if (count > MAX_IN_HAND) {
      socket.destroy();
      return;
    }
    inHand.set(socket, count);
    response.once('close', () => inHand.set(socket, (inHand.get(socket) ?? 1) - 1));
    for (const handle of handlers) handle(request, response);
  });
}
