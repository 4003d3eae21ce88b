import { Injectable, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiConfig } from './api.config.js';

/** Held callers are answered this long before the grace time ends, so that their answers still get out. */
const ANSWER_MARGIN_MS = 1_000;
/** How often connections that have become idle are closed while stopping. */
const IDLE_CHECK_MS = 250;

/**
 * The end of a process: running requests may finish, and what can't is answered rather than cut off. It begins before
 * anything is closed, and Nest closes the server before what the requests still use.
 */
@Injectable()
export class Draining implements OnModuleDestroy, OnApplicationShutdown {
  private readonly held = new Set<AbortController>();
  private readonly passing = new Set<AbortController>();
  private timers: NodeJS.Timeout[] = [];
  private announced = false;

  constructor(
    private readonly config: ApiConfig,
    private readonly host: HttpAdapterHost,
  ) {}

  /**
   * While it stops, every answer ends its connection. A client that keeps connections, such as one behind a Service of
   * Kubernetes, would send its next request just as this process closes them. To be called before the server listens.
   */
  watch(server: FastifyInstance): void {
    server.addHook('onSend', (_request, reply, payload, done) => {
      if (this.announced) reply.header('connection', 'close');
      done(null, payload);
    });
  }

  /** The controller is aborted when its caller must be answered now; call `letGo` once it has been. */
  hold(call: AbortController): void {
    this.held.add(call);
  }

  /** Like `hold`, for callers that lose nothing when they are answered as soon as the process is told to stop. */
  holdLoosely(call: AbortController): void {
    if (this.started) call.abort();
    else this.passing.add(call);
  }

  release(call: AbortController): void {
    this.held.delete(call);
    this.passing.delete(call);
  }

  /** Whether the process has been told to stop. */
  get started(): boolean {
    return this.announced;
  }

  /** Not ready at once, so that load balancers turn away; the door closes after the delay. */
  async onModuleDestroy(): Promise<void> {
    if (this.announced) return;
    this.announced = true;
    await delay(this.config.shutdownDelayMs);
    const { shutdownGraceMs: graceMs } = this.config;
    const server = this.host.httpAdapter.getHttpServer() as Server;
    this.timers = [
      setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS),
      setTimeout(() => this.answerHeld(), Math.max(0, graceMs - ANSWER_MARGIN_MS)),
      setTimeout(() => server.closeAllConnections(), graceMs),
    ];
    for (const call of this.passing) call.abort();
    server.closeIdleConnections();
  }

  private answerHeld(): void {
    for (const call of this.held) call.abort();
  }

  onApplicationShutdown(): void {
    for (const timer of this.timers) clearTimeout(timer);
  }
}
