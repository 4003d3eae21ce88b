import { Module, type DynamicModule } from '@nestjs/common';
import { CatalogModule } from '#catalog/catalog.module.js';
import { ConfigModule } from '#config/config.module.js';
import type { ProviderRegistry } from './providers/provider-registry.js';
import { TelemetryModule } from '#telemetry/telemetry.module.js';
import { HealthModule } from './health/health.module.js';
import { ImagesModule } from './images/images.module.js';
import { ProviderRegistryModule } from './providers/provider-registry.module.js';
import { MaintenanceModule } from './maintenance/maintenance.module.js';
import { WebhookDeliveryModule } from './webhooks/webhook-delivery.module.js';
import { WORKER_CONFIGS } from './worker-configs.js';

/** Runs jobs; its only HTTP is an orchestrator's probes. */
@Module({})
export class WorkerModule {
  /** `registry` replaces the catalog's providers. Throws ConfigError for invalid settings. */
  static forRoot(env: Readonly<Record<string, string | undefined>>, registry?: ProviderRegistry): DynamicModule {
    return {
      module: WorkerModule,
      imports: [
        ConfigModule.forRoot(WORKER_CONFIGS, env),
        TelemetryModule.forRoot('worker'),
        CatalogModule.forRoot(env),
        ProviderRegistryModule.forRoot(registry),
        HealthModule,
        MaintenanceModule,
        // Nest stops modules in reverse order: webhooks keep running while tasks end during shutdown.
        WebhookDeliveryModule,
        ImagesModule,
      ],
    };
  }
}
