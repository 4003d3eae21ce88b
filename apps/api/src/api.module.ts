import { Module, type DynamicModule } from '@nestjs/common';
import { CatalogModule } from '#catalog/catalog.module.js';
import { ConfigModule } from '#config/config.module.js';
import { TelemetryModule } from '#telemetry/telemetry.module.js';
import { API_CONFIGS } from './api-configs.js';
import { AuthModule } from './auth/auth.module.js';
import { BatchesModule } from './batches/batches.module.js';
import { ChatModule } from './chat/chat.module.js';
import { CommonModule } from './common/common.module.js';
import { ConsoleModule } from './console/console.module.js';
import { FilesModule } from './files/files.module.js';
import { HooksModule } from './hooks/hooks.module.js';
import { HealthModule } from './health/health.module.js';
import { ImagesModule } from './images/images.module.js';
import { McpModule } from './mcp/mcp.module.js';
import { ModelsModule } from './models/models.module.js';
import { OAuthModule } from './oauth/oauth.module.js';
import { TasksApiModule } from './tasks/tasks.module.js';
import { PublicUsageModule } from './usage/usage.module.js';
import { UploadsModule } from './uploads/uploads.module.js';

/**
 * HTTP only: accepts requests, writes tasks, and waits for them. Generates no images, and calls only chat providers.
 */
@Module({
  imports: [
    CommonModule,
    AuthModule,
    // In the order of the public API document.
    ImagesModule,
    TasksApiModule,
    ChatModule,
    ModelsModule,
    FilesModule,
    UploadsModule,
    BatchesModule,
    HooksModule,
    PublicUsageModule,
    HealthModule,
    ConsoleModule,
    McpModule,
    OAuthModule,
  ],
})
export class ApiModule {
  /** Throws ConfigError for missing or invalid settings. */
  static forRoot(env: Readonly<Record<string, string | undefined>>): DynamicModule {
    return {
      module: ApiModule,
      imports: [ConfigModule.forRoot(API_CONFIGS, env), TelemetryModule.forRoot('api'), CatalogModule.forRoot(env)],
    };
  }
}
