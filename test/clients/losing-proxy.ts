import { once } from 'node:events';
import { createServer, request as forward, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/** What a caller whose answer is lost sees of it. */
export type Loss = 'cut' | '502';

interface LosingProxyOptions {
  readonly target: string;
  /** By the marker in the prompt, which requests lose their first answer. */
  readonly losses: ReadonlyMap<string, Loss>;
  /** Resolves when the work that the marker names has begun. */
  readonly begun: (marker: string) => Promise<unknown>;
  /** Resolves when the service knows that nobody waits for it any more. */
  readonly left: (marker: string) => Promise<unknown>;
}

const MARKER = /mark-[a-z0-9]+/;

/** A reverse proxy that loses the first answer to some requests while the work is under way, and passes on everything else. */
export class LosingProxy {
  private readonly server: Server;
  private readonly lost = new Set<string>();

  private constructor(private readonly options: LosingProxyOptions) {
    this.server = createServer((request, response) => {
      this.serve(request, response).catch(() => response.destroy());
    });
  }

  static async start(options: LosingProxyOptions): Promise<LosingProxy> {
    const proxy = new LosingProxy(options);
    proxy.server.listen(0, '127.0.0.1');
    await once(proxy.server, 'listening');
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await buffer(request);
    const marker = MARKER.exec(body.toString('latin1'))?.[0] ?? '';
    const loss = this.lost.has(marker) ? undefined : this.options.losses.get(marker);
    const { method, headers } = request;
    const onward = forward(this.options.target + (request.url ?? ''), { method, headers, agent: false });
    onward.on('error', () => loss ?? response.destroy());
    onward.end(body);
    if (loss !== undefined) return await this.lose(marker, loss, onward, response);
    response.on('close', () => onward.destroy());
    onward.on('response', (answer: IncomingMessage) => {
      response.writeHead(answer.statusCode ?? 500, answer.rawHeaders);
      answer.pipe(response);
      answer.on('error', () => response.destroy());
    });
  }

  private async lose(marker: string, loss: Loss, onward: ReturnType<typeof forward>, response: ServerResponse) {
    this.lost.add(marker);
    await this.options.begun(marker);
    onward.destroy();
    await this.options.left(marker);
    if (loss === 'cut') response.destroy();
    else response.writeHead(502, { 'content-type': 'text/html' }).end('<html>502 Bad Gateway</html>');
  }
}
