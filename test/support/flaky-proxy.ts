import { createServer, connect, type AddressInfo, type Socket } from 'node:net';

/**
 * What becomes of a connection: `pass` all of it; `hold` the answer back for ever, the request having arrived;
 * `cut-answer`: reset both ends when the first byte of the answer comes.
 */
export type Fate = 'pass' | 'hold' | 'cut-answer';

/** A TCP proxy before one of our processes, whose first connections suffer the given fates; all others pass. */
export interface FlakyProxy {
  readonly url: string;
  /** Connections so far. */
  readonly count: number;
  /** Resets every connection whose answer is held back. */
  cut(): void;
  close(): Promise<void>;
}

/** A proxy on a free port of this machine. */
export async function startFlakyProxy(target: string, fates: readonly Fate[]): Promise<FlakyProxy> {
  const { hostname, port } = new URL(target);
  const open = new Set<Socket>();
  const held = new Set<Socket>();
  let count = 0;
  const server = createServer((client) => {
    const fate = fates[count++] ?? 'pass';
    const upstream = connect(Number(port), hostname);
    const reset = (): void => {
      client.resetAndDestroy();
      upstream.resetAndDestroy();
    };
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        held.delete(socket);
        other.destroy();
      });
    }
    client.pipe(upstream);
    if (fate === 'pass') upstream.pipe(client);
    else if (fate === 'cut-answer') upstream.once('data', reset);
    else {
      held.add(client);
      held.add(upstream);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    get count() {
      return count;
    },
    cut: () => {
      for (const socket of held) socket.resetAndDestroy();
    },
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
