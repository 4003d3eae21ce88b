import cookie from '@fastify/cookie';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { join } from 'node:path';
import { loadConfig } from '#config/load-config.js';
import { PACKAGE_ROOT } from '#config/package.js';
import { SessionStore } from '#accounts/session-store.js';
import { foreignLinkOrigin } from '#storage/result-links.js';
import { StorageConfig } from '#storage/storage.config.js';
import { Logger, NestLogger, START_OPTIONS } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { ApiModule } from './api.module.js';
import { ApiKeyStore } from './auth/api-key-store.js';
import { authenticateRequests } from './auth/authenticate.js';
import { UnknownKeyLimiter } from './auth/unknown-key-limiter.js';
import { markConsole, protectConsole } from './console/protect-console.js';
import { SessionCookie } from './console/session-cookie.js';
import { SessionLookUps } from './console/session-look-ups.js';
import { serveConsole } from './console/serve-console.js';
import { prepareDocs, serveDocs } from './docs/serve-docs.js';
import { serveHome } from './docs/serve-home.js';
import { logRequests } from './common/fastify/access-log.js';
import { ApiConfig, publicPathOf, publicUrlOf } from './common/api.config.js';
import { BodyMemory } from './common/fastify/body-memory.js';
import { countRequests } from './common/fastify/count-requests.js';
import { traceRequests } from './common/fastify/trace-requests.js';
import { ConnectionCap } from './common/fastify/connection-cap.js';
import { Draining } from './common/draining.js';
import { KnownRoutes } from './common/known-routes.js';
import { cleanPathIds } from './common/fastify/path-ids.js';
import { PublicPath } from './common/fastify/public-path.js';
import { createAdapter, prepareServer } from './common/fastify/server.js';
import './fastify-types.js';
import { ConsoleCaller } from './console/tasks/console-caller.js';
import { sendStrictTransport } from './common/fastify/strict-transport.js';
import { limitRequests, RequestLimits } from './limits/limit-requests.js';

/** Build output of apps/dashboard. */
const CONSOLE_PAGES = join(PACKAGE_ROOT, 'dist', 'dashboard');

/** The whole API, ready to listen. Throws ConfigError for missing or invalid settings. */
export async function createApi(env: Readonly<Record<string, string | undefined>>): Promise<NestFastifyApplication> {
  const module = ApiModule.forRoot(env);
  const [config] = loadConfig([ApiConfig], env);
  const path = publicPathOf(config);
  const publicPath = new PublicPath(path);
  const adapter = createAdapter(config.trustedProxies, publicPath);
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    ...START_OPTIONS,
    bodyParser: false,
  });
  const logger = app.get(Logger);
  app.useLogger(new NestLogger(logger));
  app.flushLogs();
  const server = app.getHttpAdapter().getInstance();
  await app.register(cookie, { hook: false });
  publicPath.watch(server);
  prepareDocs(server);
  markConsole(server);
  sendStrictTransport(server, app.get(ApiConfig));
  countRequests(server, app.get(Metrics));
  prepareServer(server, app.get(ApiConfig), app.get(KnownRoutes), app.get(BodyMemory));
  cleanPathIds(server);
  authenticateRequests(server, app.get(ApiKeyStore));
  const sessions = new SessionLookUps(app.get(SessionStore), app.get(UnknownKeyLimiter));
  protectConsole(server, sessions, app.get(SessionCookie), publicUrlOf(app.get(ApiConfig)));
  app.get(ConnectionCap).watch(server);
  app.get(Draining).watch(server);
  const consoleCallers = app.get(ConsoleCaller);
  limitRequests(server, app.get(RequestLimits), (session) => consoleCallers.of(session));
  logRequests(server, logger);
  traceRequests(server);
  serveDocs(app, { pages: CONSOLE_PAGES, path });
  serveHome(server, publicUrlOf(app.get(ApiConfig)));
  const imageOrigins = [foreignLinkOrigin(app.get(StorageConfig)) ?? []].flat();
  serveConsole(server, { folder: CONSOLE_PAGES, path, imageOrigins });
  return app;
}
