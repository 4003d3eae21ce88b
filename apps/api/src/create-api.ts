import cookie from '@fastify/cookie';
import { NestFactory } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance } from 'fastify';
import { join } from 'node:path';
import { loadConfig } from '#config/load-config.js';
import { PACKAGE_ROOT } from '#config/package.js';
import { foreignLinkOrigin } from '#storage/result-links.js';
import { StorageConfig } from '#storage/storage.config.js';
import { Logger, NestLogger, START_OPTIONS } from '#telemetry/logger.js';
import { Metrics } from '#telemetry/metrics.js';
import { ApiModule } from './api.module.js';
import { ApiKeyCache } from './auth/api-key-cache.js';
import { authenticateRequests } from './auth/authenticate.js';
import { LineCallers } from './auth/line-callers.js';
import { countRefusals, RefusedCalls } from './auth/refused-calls.js';
import { markConsole, protectConsole } from './console/protect-console.js';
import { SessionCookie } from './console/session-cookie.js';
import { SessionLookUps } from './console/session-look-ups.js';
import { serveConsole } from './console/serve-console.js';
import { prepareDocs, serveDocs } from './docs/serve-docs.js';
import { serveHome } from './docs/serve-home.js';
import { serveLlmsText } from './docs/serve-llms-text.js';
import { logRequests } from './common/fastify/access-log.js';
import { ApiConfig, publicPathOf, publicUrlOf } from './common/api.config.js';
import { BodyMemory } from './common/fastify/body-memory.js';
import { countRequests } from './common/fastify/count-requests.js';
import { traceRequests } from './common/fastify/trace-requests.js';
import { ConnectionCap } from './common/fastify/connection-cap.js';
import { Draining } from './common/draining.js';
import { cleanPathIds } from './common/fastify/path-ids.js';
import { PublicPath } from './common/fastify/public-path.js';
import { createAdapter, prepareServer } from './common/fastify/server.js';
import './fastify-types.js';
import { challengeClients, serveMetadata } from './oauth/serve-metadata.js';
import { ConsoleCaller } from './console/tasks/console-caller.js';
import { sendStrictTransport } from './common/fastify/strict-transport.js';
import { limitRequests, RequestLimits } from './limits/limit-requests.js';

/** Build output of apps/dashboard. */
const CONSOLE_PAGES = join(PACKAGE_ROOT, 'dist', 'dashboard');

/** The parts that the steps below assemble. */
interface Parts {
  readonly app: NestFastifyApplication;
  readonly server: FastifyInstance;
  readonly config: ApiConfig;
  readonly publicPath: PublicPath;
}

/**
 * What every request passes, in this order, which is the security model: who is refused, what still sees refused requests,
 * and that a body is read only once its sender is known, apart from 16 KB on public routes (`ANONYMOUS_LIMIT`).
 */
const PIPELINE: readonly ((parts: Parts) => unknown)[] = [
  // Only the console reads cookies, and only on its own routes: elsewhere, parsing them would be wasted.
  ({ app }) => app.register(cookie, { hook: false }),

  // Four that look at each route as it is registered, so they come before any route is.
  ({ server, publicPath }) => publicPath.watch(server),
  ({ server }) => prepareDocs(server),
  ({ server }) => markConsole(server),
  ({ server, config }) => challengeClients(server, publicUrlOf(config)),

  // Before anything can answer: refusals carry the header, too.
  ({ server, config }) => sendStrictTransport(server, config),
  // Before anything can refuse: refused requests are counted, too.
  ({ app, server }) => countRequests(server, app.get(Metrics)),
  // Every response has an id and CORS headers, so this comes before the first refusal. Preflights end here, without a key.
  ({ app, server, config }) => prepareServer(server, config, app.get(BodyMemory)),
  // Before the first refusal that depends on who calls.
  ({ app, server }) => countRefusals(server, app.get(RefusedCalls)),
  // Before anybody looks for an id of the path.
  ({ server }) => cleanPathIds(server),

  // Who is it? By key everywhere, by session in the console. Requests without either only get to public routes.
  ({ app, server }) => authenticateRequests(server, app.get(ApiKeyCache), app.get(LineCallers)),
  ({ app, server, config }) =>
    protectConsole(server, app.get(SessionLookUps), app.get(SessionCookie), publicUrlOf(config)),
  // A connection stops counting as a stranger's with its first valid key, so this comes after the keys.
  ({ app, server }) => app.get(ConnectionCap).watch(server),
  ({ app, server }) => app.get(Draining).watch(server),

  // May they now? Limits are per key and account, so both must be known; the body is still unread.
  ({ app, server }) => {
    const callers = app.get(ConsoleCaller);
    limitRequests(server, app.get(RequestLimits), (session) => callers.of(session));
  },
  // Lines of requests name their caller, and floods of refused ones get few lines and no spans.
  ({ app, server }) => logRequests(server, app.get(Logger)),
  ({ server }) => traceRequests(server),

  // Routes of our own beside Nest's: a hook only applies to routes that are registered after it.
  ({ app, publicPath }) => serveDocs(app, { pages: CONSOLE_PAGES, path: publicPath.path }),
  ({ server, config }) => serveHome(server, publicUrlOf(config)),
  ({ server, config }) => serveLlmsText(server, publicUrlOf(config)),
  ({ server, config }) => serveMetadata(server, publicUrlOf(config)),
  ({ app, server, publicPath }) => {
    const imageOrigins = [foreignLinkOrigin(app.get(StorageConfig)) ?? []].flat();
    serveConsole(server, { folder: CONSOLE_PAGES, path: publicPath.path, imageOrigins });
  },
];

/** The whole API, ready to listen. Throws ConfigError for missing or invalid settings. */
export async function createApi(env: Readonly<Record<string, string | undefined>>): Promise<NestFastifyApplication> {
  const module = ApiModule.forRoot(env);
  const [config] = loadConfig([ApiConfig], env);
  const publicPath = new PublicPath(publicPathOf(config));
  const adapter = createAdapter(config.trustedProxies, publicPath);
  const app = await NestFactory.create<NestFastifyApplication>(module, adapter, {
    ...START_OPTIONS,
    bodyParser: false,
  });
  app.useLogger(new NestLogger(app.get(Logger)));
  app.flushLogs();
  const server = app.getHttpAdapter().getInstance();
  for (const step of PIPELINE) await step({ app, server, config, publicPath });
  return app;
}
