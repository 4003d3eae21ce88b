import { Injectable, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Logger } from '#telemetry/logger.js';
import { ProviderSwitches } from './provider-switches.js';
import { RoutingConfig } from './routing.config.js';

/** Which providers are switched off, read again and again. While Postgres does not answer, the last answer holds. */
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

  has(provider: string): boolean {
    return this.names.has(provider);
  }

  /** No call is begun before it is known which providers are drained: Nest starts those who call later. */
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
