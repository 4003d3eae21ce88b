import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { ConfigError, unknownSettings } from '#config/load-config.js';
import { PrismaService } from '#database/prisma.service.js';
import { EgressConfig } from '#egress/egress.config.js';
import { QueueHealth } from '#queue/queue-health.js';
import { refuseGuessableSecrets, SecretsConfig } from '#secrets/secrets.config.js';
import { Logger } from '#telemetry/logger.js';
import { NestLogger } from '#telemetry/nest-logger.js';
import { HealthServer } from './health-server.js';
import { WORKER_CONFIGS } from './worker-configs.js';
import { WorkerConfig } from './worker.config.js';
import { WorkerModule } from './worker.module.js';

async function main(): Promise<void> {
  const app = await NestFactory.createApplicationContext(WorkerModule.forRoot(process.env), { bufferLogs: true });
  if (app.get(EgressConfig).nodeEnv === 'production') refuseGuessableSecrets(app.get(SecretsConfig));
  const logger = app.get(Logger);
  app.useLogger(new NestLogger(logger));
  app.enableShutdownHooks(['SIGTERM', 'SIGINT'], { useProcessExit: true });
  for (const setting of unknownSettings(WORKER_CONFIGS, process.env)) {
    logger.warn('setting.unknown', { setting: setting.name, meant: setting.meant });
  }

  const [database, queue, { healthPort, healthHost }] = [
    app.get(PrismaService),
    app.get(QueueHealth),
    app.get(WorkerConfig),
  ];
  if (healthPort > 0) {
    const health = new HealthServer({ database: () => database.ping(), queue: () => queue.check() }, logger);
    await health.listen(healthPort, healthHost);
  }
  logger.info('worker.ready', { pid: process.pid, port: healthPort });
}

process.on('unhandledRejection', (error) => {
  throw error;
});

main().catch((error: unknown) => {
  // No logger exists yet; the settings decide how one is made.
  process.stderr.write(`${error instanceof ConfigError ? error.message : String(error)}\n`);
  process.exit(1);
});
