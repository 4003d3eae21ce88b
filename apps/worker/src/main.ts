import 'reflect-metadata';
import { NestFactory } from '@nestjs/core';
import { reportSettings, startFailure, unknownSettings } from '#config/load-config.js';
import { deferStopSignals, STOP_SIGNALS } from '#config/stop-signals.js';
import { Logger, NestLogger, START_OPTIONS } from '#telemetry/logger.js';
import { Leases } from './images/leases.js';
import { DeliverWebhook } from './webhooks/deliver-webhook.js';
import { WORKER_CONFIGS } from './worker-configs.js';
import { WorkerConfig } from './worker.config.js';
import { WorkerModule } from './worker.module.js';

/** Time to end connections and to release unfinished tasks; the compose file waits 10 s longer than the grace time. */
const RELEASE_MS = 8_000;
const LOOK_MS = 1_000;

async function main(): Promise<void> {
  const forwardStopSignal = deferStopSignals();
  const app = await NestFactory.createApplicationContext(WorkerModule.forRoot(process.env), START_OPTIONS);
  const logger = app.get(Logger);
  app.useLogger(new NestLogger(logger));
  app.flushLogs();
  app.enableShutdownHooks([...STOP_SIGNALS], { useProcessExit: true });
  endInTime([app.get(Leases), app.get(DeliverWebhook)], logger);
  forwardStopSignal();
  for (const setting of unknownSettings(WORKER_CONFIGS, process.env)) {
    logger.warn(setting.meant === undefined ? 'setting.ignored' : 'setting.unknown', {
      setting: setting.name,
      ...(setting.meant !== undefined && { meant: setting.meant }),
      ...(setting.now !== undefined && { reason: `removed: it is ${setting.now}` }),
    });
  }

  logger.info('worker.started', { pid: process.pid, port: app.get(WorkerConfig).healthPort });
}

/**
 * BullMQ waits indefinitely for a Redis that is away. The process waits for running tasks, whose images may be paid for,
 * and for deliveries; without any, it ends, however long its grace time is.
 */
function endInTime(works: readonly { readonly size: number }[], logger: Logger): void {
  const begin = (): void => {
    let idleSince = performance.now();
    const look = (): void => {
      if (works.some(({ size }) => size > 0)) idleSince = performance.now();
      if (performance.now() - idleSince < RELEASE_MS) return;
      logger.warn('shutdown.cut_short', { reason: 'no task or delivery is running, but connections do not close' });
      process.exit(0);
    };
    setInterval(look, LOOK_MS).unref();
  };
  for (const signal of STOP_SIGNALS) process.once(signal, begin);
}

process.on('unhandledRejection', (error) => {
  throw error;
});

if (process.argv[2] === 'settings') {
  process.stdout.write(`${JSON.stringify(reportSettings(WORKER_CONFIGS, process.env))}\n`);
} else {
  main().catch((error: unknown) => {
    // There is no logger yet: it is created from the settings.
    process.stderr.write(`${startFailure(error, WORKER_CONFIGS, process.env)}\n`);
    process.exit(1);
  });
}
