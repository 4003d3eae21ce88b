import { CatalogConfig } from '#catalog/catalog.config.js';
import { DatabaseConfig } from '#database/database.config.js';
import { EgressConfig } from '#egress/egress.config.js';
import { AccountsConfig, SignInConfig } from '#accounts/accounts.config.js';
import { GuardrailConfig } from '#guardrail/guardrail.config.js';
import { HealthConfig } from '#health/health.config.js';
import { MailConfig } from '#notifications/mail/mail.config.js';
import { ProviderProxyConfig } from '#providers/http/proxy.config.js';
import { SandboxConfig } from '#providers/sandbox/sandbox.config.js';
import { RedisConfig } from '#redis/redis.config.js';
import { RoutingConfig } from '#routing/routing.config.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { StorageConfig } from '#storage/storage.config.js';
import { TasksConfig } from '#tasks/row/tasks.config.js';
import { MetricsConfig, TelemetryConfig, TracingConfig } from '#telemetry/telemetry.config.js';
import { WebhooksConfig } from '#notifications/webhooks.config.js';
import { ChatConfig } from './chat/chat.config.js';
import { ApiConfig } from './common/api.config.js';
import { LimitsConfig } from './limits/limits.config.js';
import { UploadsConfig } from './common/uploads.config.js';

/** The settings that the API reads. */
export const API_CONFIGS = [
  TelemetryConfig,
  MetricsConfig,
  TracingConfig,
  DatabaseConfig,
  RedisConfig,
  TasksConfig,
  StorageConfig,
  HealthConfig,
  EgressConfig,
  GuardrailConfig,
  SecretsConfig,
  SignInConfig,
  AccountsConfig,
  MailConfig,
  ApiConfig,
  LimitsConfig,
  UploadsConfig,
  WebhooksConfig,
  CatalogConfig,
  RoutingConfig,
  SandboxConfig,
  ProviderProxyConfig,
  ChatConfig,
] as const;
