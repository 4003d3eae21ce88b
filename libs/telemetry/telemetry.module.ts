import { Module, type DynamicModule } from '@nestjs/common';
import { Logger } from './logger.js';
import { MetricsServer } from './metrics-server.js';
import { Metrics } from './metrics.js';
import { TelemetryConfig } from './telemetry.config.js';
import { Tracing } from './tracing.js';

/** Provides the process's one logger, named after the process, and its one set of metrics. */
@Module({})
export class TelemetryModule {
  static forRoot(service: string): DynamicModule {
    const logger = {
      provide: Logger,
      inject: [TelemetryConfig],
      useFactory: (config: TelemetryConfig) => new Logger(service, config.logLevel),
    };
    return {
      module: TelemetryModule,
      global: true,
      providers: [logger, Metrics, MetricsServer, Tracing],
      exports: [logger, Metrics],
    };
  }
}
