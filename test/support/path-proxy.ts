import { once } from 'node:events';
import { createServer, request as call, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

interface PathProxyOptions {
  /** The path below which the service is; everything else on this host is somebody else's. */
  readonly path: string;
  /** Whether the service gets requests without the path. */
  readonly strips: boolean;
}

/** A reverse proxy that serves a service under a path, and answers 404 with another service's page elsewhere. */
export class PathProxy {
  /** URL of the service; set once it runs. */
  target: string | undefined;
  /** Paths that were asked for outside of the service's. */
  readonly strays: string[] = [];

  private constructor(
    private readonly server: Server,
    private readonly options: PathProxyOptions,
  ) {
    server.on('request', (request, response) => this.forward(request, response));
  }

  static async start(options: PathProxyOptions): Promise<PathProxy> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new PathProxy(server, options);
  }

  /** Scheme and host. */
  get origin(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The service's address for callers. */
  get url(): string {
    return this.origin + this.options.path;
  }

  async close(): Promise<void> {
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private forward(request: IncomingMessage, response: ServerResponse): void {
    const { path, strips } = this.options;
    const { url = '/', method, headers } = request;
    if (this.target === undefined || !/^([/?]|$)/.test(url.startsWith(path) ? url.slice(path.length) : 'x')) {
      // Chromium asks every host for one.
      if (url !== '/favicon.ico') this.strays.push(url);
      response.writeHead(404, { 'content-type': 'text/html' }).end('<p>Another service.');
      return;
    }
    const rest = strips ? url.slice(path.length) : url;
    const passed = call(this.target + (rest.startsWith('/') ? rest : `/${rest}`), { method, headers });
    passed.on('response', (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    response.on('close', () => passed.destroy());
    request.pipe(passed);
  }
}
