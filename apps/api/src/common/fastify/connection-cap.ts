import { Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import type { Socket } from 'node:net';
import { Logger } from '#telemetry/logger.js';
import { ApiConfig } from '../api.config.js';
import { networkOf, networksMatcher, wideNetworkOf } from '../network-of.js';

/** How many times the limit of one network all networks of a wider one have together: one line has many of them. */
const WIDE_FACTOR = 2;

/**
 * Limits the unauthenticated connections of one network, and of the wider one it belongs to. A connection counts from when it is accepted until its first
 * request with a valid key, or its end.
 */
@Injectable()
export class ConnectionCap {
  private readonly counted = new Map<Socket, readonly string[]>();
  private readonly counts = new Map<string, number>();
  private readonly refused = new Set<string>();
  /** 0 = unlimited. */
  private readonly limit: number;
  /** Trusted proxies are exempt: many callers share their connections. */
  private readonly isProxy: (address: string | undefined) => boolean;

  constructor(
    config: ApiConfig,
    private readonly logger: Logger,
  ) {
    this.limit = config.unauthenticatedConnections;
    this.isProxy = networksMatcher(config.trustedProxies);
  }

  /** Must be called before the server listens. */
  watch(server: FastifyInstance): void {
    if (this.limit === 0) return;
    server.server.prependListener('connection', (socket: Socket) => this.admit(socket));
    server.addHook('onRequest', (request, _reply, done) => {
      if (request.caller !== undefined) this.release(request.raw.socket);
      done();
    });
  }

  private admit(socket: Socket): void {
    if (this.isProxy(socket.remoteAddress)) return;
    const own = networkOf(socket.remoteAddress);
    const wide = wideNetworkOf(socket.remoteAddress);
    const full = [own, wide].find((name) => (this.counts.get(name) ?? 0) >= this.limitOf(name, wide));
    if (full !== undefined) {
      // A client with this many connections would not read a response either.
      socket.destroy();
      if (!this.refused.has(full)) this.logger.warn('connections.refused', { count: this.limitOf(full, wide) });
      this.refused.add(full);
      return;
    }
    for (const name of [own, wide]) this.counts.set(name, (this.counts.get(name) ?? 0) + 1);
    this.counted.set(socket, [own, wide]);
    socket.once('close', () => this.release(socket));
  }

  private limitOf(name: string, wide: string): number {
    return name === wide ? this.limit * WIDE_FACTOR : this.limit;
  }

  private release(socket: Socket): void {
    const names = this.counted.get(socket);
    this.counted.delete(socket);
    for (const name of names ?? []) {
      const left = (this.counts.get(name) ?? 1) - 1;
      if (left > 0) {
        this.counts.set(name, left);
        continue;
      }
      this.counts.delete(name);
      this.refused.delete(name);
    }
  }
}
