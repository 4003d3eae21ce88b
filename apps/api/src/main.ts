import 'reflect-metadata';
import { reportSettings, startFailure, unknownSettings } from '#config/load-config.js';
import { deferStopSignals, STOP_SIGNALS } from '#config/stop-signals.js';
import { PrismaService } from '#database/prisma.service.js';
import { Logger } from '#telemetry/logger.js';
import { API_CONFIGS } from './api-configs.js';
import { createApi } from './create-api.js';
import { ApiConfig } from './common/api.config.js';

async function main(): Promise<void> {
  const forwardStopSignal = deferStopSignals();
  const app = await createApi(process.env);
  const logger = app.get(Logger);
  for (const setting of unknownSettings(API_CONFIGS, process.env)) {
    logger.warn(setting.meant === undefined ? 'setting.ignored' : 'setting.unknown', {
      setting: setting.name,
      ...(setting.meant !== undefined && { meant: setting.meant }),
      ...(setting.now !== undefined && { reason: `removed: it is ${setting.now}` }),
    });
  }
  app.enableShutdownHooks([...STOP_SIGNALS], { useProcessExit: true });
  forwardStopSignal();
  void app.get(PrismaService).warm();
  const { port, host } = app.get(ApiConfig);
  await app.listen({ port, host });
  logger.info('api.started', { pid: process.pid, port });
}

process.on('unhandledRejection', (error) => {
  throw error;
});

if (process.argv[2] === 'openapi') {
  void import('./openapi.js').then(({ writeDocuments }) => writeDocuments());
} else if (process.argv[2] === 'settings') {
  process.stdout.write(`${JSON.stringify(reportSettings(API_CONFIGS, process.env))}\n`);
} else {
  main().catch((error: unknown) => {
    // There may be no logger yet: it is created from the settings.
    process.stderr.write(`${startFailure(error, API_CONFIGS, process.env)}\n`);
    process.exit(1);
  });
}
