import { Injectable } from '@nestjs/common';
import type { FastifyInstance } from 'fastify';
import type { Socket } from 'node:net';
import { Logger } from '#telemetry/logger.js';
import { ApiConfig } from '../api.config.js';
import { networkOf, networksMatcher } from '../network-of.js';

/**
 * Limits the unauthenticated connections of one network. A connection counts from when it is accepted until its first
 * request with a valid key, or its end.
 */
@Injectable()
export class ConnectionCap {
  private readonly counted = new Map<Socket, string>();
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
    const name = networkOf(socket.remoteAddress);
    const count = this.counts.get(name) ?? 0;
    if (count >= this.limit) {
      // A client with this many connections would not read a response either.
      socket.destroy();
      if (!this.refused.has(name)) this.logger.warn('connections.refused', { count: this.limit });
      this.refused.add(name);
      return;
    }
    this.counts.set(name, count + 1);
    this.counted.set(socket, name);
    socket.once('close', () => this.release(socket));
  }

  private release(socket: Socket): void {
    const name = this.counted.get(socket);
    if (name === undefined) return;
    this.counted.delete(socket);
    const left = (this.counts.get(name) ?? 1) - 1;
    if (left > 0) {
      this.counts.set(name, left);
      return;
    }
    this.counts.delete(name);
    this.refused.delete(name);
  }
}
