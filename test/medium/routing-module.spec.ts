import { NestFactory } from '@nestjs/core';
import type { INestApplicationContext } from '@nestjs/common';
import type { Redis } from 'ioredis';
import { CatalogConfig } from '#catalog/catalog.config.js';
import { CatalogModule } from '#catalog/catalog.module.js';
import { ConfigModule } from '#config/config.module.js';
import { DatabaseConfig } from '#database/database.config.js';
import { waitUntil } from '#embedded/wait-until.js';
import { RedisConfig } from '#redis/redis.config.js';
import { PRODUCER_REDIS } from '#redis/redis.module.js';
import { ProviderLimiter } from '#routing/provider-limiter.js';
import { RoutingConfig } from '#routing/routing.config.js';
import { RoutingModule } from '#routing/routing.module.js';
import { SecretsConfig } from '#secrets/secrets.config.js';
import { MetricsConfig, TelemetryConfig, TracingConfig } from '#telemetry/telemetry.config.js';
import { Metrics } from '#telemetry/metrics.js';
import { TelemetryModule } from '#telemetry/telemetry.module.js';
import { LONG_TIMEOUTS } from '../support/platform.js';
import { openLimiterRoom, passed, providerEntry, type LimiterRoom } from '../support/limiter-room.js';

const CONFIGS = [
  TelemetryConfig,
  MetricsConfig,
  TracingConfig,
  DatabaseConfig,
  RedisConfig,
  CatalogConfig,
  SecretsConfig,
  RoutingConfig,
];

/** The only server of a provider without keys. */
const optionOf = (name: string) => [{ provider: providerEntry(name) }];

describe('the limiter of a process', () => {
  let room: LimiterRoom;
  let app: INestApplicationContext;
  beforeEach(async () => {
    room = await openLimiterRoom();
    await (await room.limiter()).switches.drain('off', null);
    const env = {
      DATABASE_URL: room.databaseUrl,
      REDIS_URL: room.redisUrl,
      SECRET_KEY: 'routing-module-5c8d1f07'.padEnd(40, 'x'),
      REDIS_PREFIX: room.prefix,
      ...LONG_TIMEOUTS,
      PROVIDER_PAUSE_MS: '60000',
      LOG_LEVEL: 'silent',
    };
    const imports = [
      ConfigModule.forRoot(CONFIGS, env),
      TelemetryModule.forRoot('test'),
      CatalogModule.forRoot(env),
      RoutingModule,
    ];
    class ProcessModule {}
    app = await NestFactory.createApplicationContext({ module: ProcessModule, imports }, { logger: false });
    // Calls before that would pass uncounted.
    const redis = app.get<Redis>(PRODUCER_REDIS);
    expect(await waitUntil(() => redis.status === 'ready', { timeoutMs: 20_000 })).toBe(true);
  });
  afterEach(async () => {
    await app.close();
    await room.close();
  });

  it('knows who is drained before it lets the first call pass', async () => {
    expect(await app.get(ProviderLimiter).enter(optionOf('off'), 'task')).toMatchObject({ reason: 'drained' });
  });

  it('tells metrics what it has in hand and how the providers of the catalog are', async () => {
    const limiter = app.get(ProviderLimiter);
    const text = () => app.get(Metrics).text();
    const sandbox = optionOf('sandbox');
    expect(await text()).toContain('darkroom_provider_calls{provider="sandbox"} 0');
    const pass = passed(await limiter.enter(sandbox, 'task'));
    expect(await text()).toContain('darkroom_provider_calls{provider="sandbox"} 1');
    expect(await text()).toContain('darkroom_provider_breaker{provider="sandbox"} 0');
    pass.end('neutral');
    for (let n = 0; n < 5; n++) passed(await limiter.enter(sandbox, `task-${n}`)).end('failed');
    await limiter.waitForReports();
    expect(await text()).toContain('darkroom_provider_breaker{provider="sandbox"} 2');
  });

  it('gives back what was told before it ends', async () => {
    passed(await app.get(ProviderLimiter).enter(optionOf('p'), 'task')).end('neutral');
    await app.close();
    const other = await room.limiter();
    expect(await other.state.statesOf(['p'])).toMatchObject([{ calls: 0 }]);
  });
});
