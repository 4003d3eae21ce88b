import { CatalogConfig } from '#catalog/catalog.config.js';
import { DatabaseConfig } from '#database/database.config.js';
import { EgressConfig } from '#egress/egress.config.js';
import { HealthConfig } from '#health/health.config.js';
import { MailConfig } from '#notifications/mail/mail.config.js';
import { WebhooksConfig } from '#notifications/webhooks.config.js';
import { OpenAiConfig } from '#providers/openai/openai.config.js';
import { ProviderProxyConfig } from '#providers/http/proxy.config.js';
import { SandboxConfig } from '#providers/sandbox/sandbox.config.js';
import { RedisConfig } from '#redis/redis.config.js';
import { RoutingConfig } from '#routing/routing.config.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { StorageConfig } from '#storage/storage.config.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { MetricsConfig, TelemetryConfig, TracingConfig } from '#telemetry/telemetry.config.js';
import { WorkerConfig } from './worker.config.js';

/** The settings of a worker. */
export const WORKER_CONFIGS = [
  TelemetryConfig,
  MetricsConfig,
  TracingConfig,
  DatabaseConfig,
  RedisConfig,
  TasksConfig,
  StorageConfig,
  HealthConfig,
  EgressConfig,
  CatalogConfig,
  SandboxConfig,
  ProviderProxyConfig,
  OpenAiConfig,
  RoutingConfig,
  SecretsConfig,
  WebhooksConfig,
  MailConfig,
  WorkerConfig,
] as const;
