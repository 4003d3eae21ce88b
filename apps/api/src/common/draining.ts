import { Injectable, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyInstance } from 'fastify';
import type { Server } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import { ApiConfig } from './api.config.js';

/** Waiting callers get a response this long before the grace time ends, so that it still reaches them. */
const ANSWER_MARGIN_MS = 1_000;
/** How often idle connections are closed during shutdown. */
const IDLE_CHECK_MS = 250;

/**
 * Shuts the process down: running requests may finish, and the rest get a response instead of a broken connection. It
 * starts before anything is closed, and Nest closes the server before the services that requests use.
 */
@Injectable()
export class Draining implements OnModuleDestroy, OnApplicationShutdown {
  private readonly held = new Set<AbortController>();
  private readonly passing = new Set<AbortController>();
  private timers: NodeJS.Timeout[] = [];
  private announced = false;
  /** Whether held callers get their responses now, those included that are only about to be held. */
  private isTimeUp = false;

  constructor(
    private readonly config: ApiConfig,
    private readonly host: HttpAdapterHost,
  ) {}

  /**
   * During shutdown, every response closes its connection. Otherwise a client with keep-alive connections, for example
   * behind a Kubernetes Service, would send its next request just as this process closes them. Must be called before
   * the server listens.
   */
  watch(server: FastifyInstance): void {
    server.addHook('onSend', (_request, reply, payload, done) => {
      if (this.announced) reply.header('connection', 'close');
      done(null, payload);
    });
  }

  /** Aborts the controller when its caller must get a response now; call `release` once it has one. */
  hold(call: AbortController): void {
    if (this.isTimeUp) call.abort();
    else this.held.add(call);
  }

  /** Like `hold`, for callers that lose nothing when they get a response as soon as shutdown begins. */
  track(call: AbortController): void {
    if (this.started) call.abort();
    else this.passing.add(call);
  }

  release(call: AbortController): void {
    this.held.delete(call);
    this.passing.delete(call);
  }

  /** Whether shutdown has begun. */
  get started(): boolean {
    return this.announced;
  }

  /** Reports not ready at once, so that load balancers stop sending requests, and closes the server after a delay. */
  async onModuleDestroy(): Promise<void> {
    if (this.announced) return;
    this.announced = true;
    await delay(this.config.shutdownDelayMs);
    const { shutdownGraceMs: graceMs } = this.config;
    const server = this.host.httpAdapter.getHttpServer() as Server;
    this.timers = [
      setInterval(() => server.closeIdleConnections(), IDLE_CHECK_MS),
      setTimeout(
        () => this.answerHeld(server, Math.min(graceMs, ANSWER_MARGIN_MS)),
        Math.max(0, graceMs - ANSWER_MARGIN_MS),
      ),
    ];
    for (const call of this.passing) call.abort();
    server.closeIdleConnections();
  }

  /** Only then does the time to answer begin: a process that was stalled would otherwise close what it has to answer. */
  private answerHeld(server: Server, marginMs: number): void {
    this.isTimeUp = true;
    for (const call of this.held) call.abort();
    this.timers.push(setTimeout(() => server.closeAllConnections(), marginMs));
  }

  onApplicationShutdown(): void {
    for (const timer of this.timers) clearTimeout(timer);
  }
}
