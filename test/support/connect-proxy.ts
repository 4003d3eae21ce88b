import { once } from 'node:events';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';

/** A forward proxy for tunnels with a login; every target is reached on this machine. */
export interface ConnectProxy {
  /** With its login. */
  readonly url: string;
  /** Requested tunnels as host:port, in order, including rejected ones. */
  readonly tunnels: readonly string[];
  /** Closes all tunnels, and responds with this status from now on; undefined: works again. */
  refuse(status: number | undefined): Promise<void>;
  close(): Promise<void>;
}

const LOGIN = 'darkroom:by the way';

/** Starts a proxy on 127.0.0.1. */
export async function startConnectProxy(): Promise<ConnectProxy> {
  const tunnels: string[] = [];
  const sockets = new Set<Socket>();
  let refusal: number | undefined;
  const cut = async (): Promise<void> => {
    await Promise.all([...sockets].map((socket) => once(socket.destroy(), 'close')));
  };
  const proxy = {
    tunnels,
    refuse: async (status: number | undefined) => {
      refusal = status;
      await cut();
    },
    close: async () => {
      await cut();
      server.close();
      await once(server, 'close');
    },
  };
  const server = createServer((_request, response) => void response.writeHead(405).end());
  server.on('connect', (request, near: Socket) => {
    tunnels.push(request.url ?? '');
    const expected = `Basic ${Buffer.from(LOGIN).toString('base64')}`;
    const status = request.headers['proxy-authorization'] === expected ? refusal : 407;
    if (status !== undefined) return void near.end(`HTTP/1.1 ${status} No\r\n\r\n`);
    const far = connect({ host: '127.0.0.1', port: Number(/\d+$/.exec(request.url ?? '')?.[0]) });
    for (const socket of [near, far]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        sockets.delete(socket);
        near.destroy();
        far.destroy();
      });
    }
    far.on('connect', () => {
      near.write('HTTP/1.1 200 Established\r\n\r\n');
      near.pipe(far);
      far.pipe(near);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { ...proxy, url: `http://${LOGIN.replaceAll(' ', '%20')}@${address}` };
}
