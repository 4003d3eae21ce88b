import type { RequestListener, Server } from 'node:http';
import type { Socket } from 'node:net';

/** Waiting requests per connection; no client we know sends a second one before the first response. */
const MAX_PIPELINED = 16;

/**
 * Limits pipelining. Node parses a read of 64 KiB at once and starts every request in it, about 1,700, even after their
 * connection has closed, and however little of the responses is read. This starts a request once the response to the
 * one before has been sent, closes a connection with too many waiting requests, and skips the rest of its read. Must be
 * called once the server has its handler.
 */
export function boundPipelining(server: Server): void {
  const lines = new WeakMap<Socket, (() => void)[]>();
  const handlers = server.listeners('request') as RequestListener[];
  server.removeAllListeners('request');
  server.on('request', (request, response) => {
    const { socket } = request;
    if (socket.destroyed) return;
    const line = lines.get(socket) ?? [];
    lines.set(socket, line);
    if (line.length === MAX_PIPELINED) {
      socket.destroy();
      return;
    }
    line.push(() => {
      if (socket.destroyed) return;
      for (const handle of handlers) handle(request, response);
    });
    response.once('close', () => {
      line.shift();
      // Other connections get a turn. A request that comes before that begins by itself when none waits.
      const [next] = line;
      if (next !== undefined) setImmediate(next);
    });
    if (line.length === 1) line[0]?.();
  });
}
