import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { MetricsConfig } from './telemetry.config.js';
import { Metrics } from './metrics.js';

const PATH = '/metrics';

/** Serves metrics on a port of their own, so that callers of the API can never reach them. */
@Injectable()
export class MetricsServer implements OnApplicationBootstrap, OnApplicationShutdown {
  private readonly server: Server;

  constructor(
    private readonly config: MetricsConfig,
    private readonly metrics: Metrics,
  ) {
    this.server = createServer((request, response) => {
      const answer = (status: number, text: string): void => {
        response.writeHead(status, { 'content-type': metrics.registry.contentType, 'cache-control': 'no-store' });
        response.end(text);
      };
      if (request.method !== 'GET' || request.url !== PATH) answer(404, `there is only GET ${PATH}\n`);
      else
        metrics.text().then(
          (text) => answer(200, text),
          () => answer(500, 'not readable\n'),
        );
    });
    this.server.requestTimeout = 5_000;
  }

  /** Opens the configured port, if there is one. Rejects when the port is in use. */
  async onApplicationBootstrap(): Promise<void> {
    const { metricsPort, metricsHost } = this.config;
    if (metricsPort === 0) return;
    this.metrics.watchProcess();
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject);
      this.server.listen(metricsPort, metricsHost, resolve);
    });
  }

  /** The port the server listens on; undefined when it does not listen. */
  get port(): number | undefined {
    return (this.server.address() as AddressInfo | null)?.port;
  }

  onApplicationShutdown(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}
