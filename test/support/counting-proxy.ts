import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** A TCP proxy on a free port of this machine that counts round trips. */
export class CountingProxy {
  /** How often a client has sent data after a response, over all connections: requests sent together count as one. */
  roundTrips = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly target: URL,
    private readonly server: Server,
  ) {
    server.on('connection', (near) => this.join(near));
  }

  static async start(target: string): Promise<CountingProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new CountingProxy(new URL(target), server);
  }

  /** The target's URL with this proxy's host and port. */
  get url(): string {
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String((this.server.address() as AddressInfo).port);
    return url.href.replace(/\/$/, '');
  }

  async close(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private join(near: Socket): void {
    const far = connect(Number(this.target.port), this.target.hostname);
    let answered = true;
    near.on('data', () => {
      if (answered) this.roundTrips++;
      answered = false;
    });
    far.on('data', () => (answered = true));
    near.pipe(far);
    far.pipe(near);
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      this.sockets.add(socket);
      socket.setNoDelay();
      socket.on('error', () => other.destroy());
      socket.on('close', () => {
        this.sockets.delete(socket);
        other.destroy();
      });
    }
  }
}
