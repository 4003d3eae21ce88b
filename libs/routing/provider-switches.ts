import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { PrismaService } from '#database/prisma.service.js';
import { serverId, type ProviderEntry } from '#providers/provider-entry.js';
import { Logger } from '#telemetry/logger.js';
import { RoutingConfig } from './routing.config.js';

/** A provider, or one of its servers, that gets no new calls. */
export interface ProviderSwitch {
  /** The provider's name, or the id of the server: `azure/sweden`. */
  readonly provider: string;
  readonly drainedAt: Date;
  /** Why, in an operator's words. */
  readonly reason: string | null;
}

/** The form of an operator's reason for switching a provider off: 1 to 200 visible characters. */
export const DRAIN_REASON = /^(?:[^\p{C}]|[\u200c\u200d]){1,200}$/u;

/** The providers and servers that are switched off for new calls. */
@Injectable()
export class ProviderSwitches {
  constructor(private readonly prisma: PrismaService) {}

  /** Switches a provider, or a server by its id, off. One that is already off keeps its time, and its reason unless a new one is given. */
  async drain(provider: string, reason: string | null): Promise<void> {
    const { count } = await this.prisma.providerSwitch.createMany({ data: { provider, reason }, skipDuplicates: true });
    if (count === 1 || reason === null) return;
    await this.prisma.providerSwitch.updateMany({ where: { provider }, data: { reason } });
  }

  /** Switches a provider or server on again; false when it was not off. */
  async resume(provider: string): Promise<boolean> {
    return (await this.prisma.providerSwitch.deleteMany({ where: { provider } })).count === 1;
  }

  /** All that are off. */
  async list(): Promise<ProviderSwitch[]> {
    return await this.prisma.providerSwitch.findMany({ orderBy: { provider: 'asc' } });
  }
}

/** Which providers and servers are switched off, read periodically. While Postgres does not answer, the last answer holds. */
@Injectable()
export class DrainedProviders implements OnApplicationBootstrap, OnApplicationShutdown {
  private names: ReadonlySet<string> = new Set();
  private timer: NodeJS.Timeout | undefined;
  private reading = false;
  private unreadable = false;

  constructor(
    private readonly switches: ProviderSwitches,
    private readonly config: RoutingConfig,
    private readonly logger: Logger,
  ) {}

  /** Whether the server, or all of its provider, is switched off. */
  has(server: Pick<ProviderEntry, 'name' | 'server'>): boolean {
    return this.names.has(server.name) || this.names.has(serverId(server));
  }

  /** Reads the drained providers before any call begins: Nest starts the callers later. */
  async onApplicationBootstrap(): Promise<void> {
    await this.start();
  }

  onApplicationShutdown(): void {
    this.close();
  }

  /** Returns once the switches were read, or could not be. */
  async start(): Promise<void> {
    this.timer ??= setInterval(() => void this.read(), this.config.switchReadMs).unref();
    await this.read();
  }

  close(): void {
    clearInterval(this.timer);
  }

  private async read(): Promise<void> {
    if (this.reading) return;
    this.reading = true;
    try {
      this.names = new Set((await this.switches.list()).map(({ provider }) => provider));
      this.unreadable = false;
    } catch (error) {
      if (!this.unreadable) this.logger.warn('provider_switches.unreadable', { error });
      this.unreadable = true;
    } finally {
      this.reading = false;
    }
  }
}
