import { Module, type DynamicModule, type OnApplicationBootstrap, type OnApplicationShutdown } from '@nestjs/common';
import { Logger } from './logger.js';
import { MetricsConfig } from './metrics.config.js';
import { MetricsServer } from './metrics-server.js';
import { Metrics } from './metrics.js';
import { TelemetryConfig } from './telemetry.config.js';

/** Gives every room of a process the one logger, named after the process, and the one place to count in. */
@Module({})
export class TelemetryModule implements OnApplicationBootstrap, OnApplicationShutdown {
  constructor(private readonly server: MetricsServer) {}

  static forRoot(service: string): DynamicModule {
    const logger = {
      provide: Logger,
      inject: [TelemetryConfig],
      useFactory: (config: TelemetryConfig) => new Logger(service, config.logLevel),
    };
    const metrics = { provide: Metrics, useFactory: () => new Metrics() };
    const server = {
      provide: MetricsServer,
      inject: [MetricsConfig, Metrics],
      useFactory: (config: MetricsConfig, counted: Metrics) => new MetricsServer(config, counted),
    };
    return {
      module: TelemetryModule,
      global: true,
      providers: [logger, metrics, server],
      exports: [logger, metrics],
    };
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.server.listen();
  }

  onApplicationShutdown(): void {
    this.server.close();
  }
}
