import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SwaggerModule } from '@nestjs/swagger';
import type { FastifyInstance, onSendHookHandler, preHandlerHookHandler, RouteOptions } from 'fastify';
import { DOCS_MARK, DOCS_STYLE, docsScript } from './docs-look.js';
import { consoleFont } from '../console/serve-console.js';
import { openApiDocument } from './openapi-document.js';

const DOCS = '/docs';
const DOCUMENT = '/openapi.json';
const SCRIPT = `${DOCS}/darkroom.js`;
const MARK = `${DOCS}/darkroom.svg`;
/** The page serves its own scripts and styles; only styles are inline. */
const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** Marks the reference page's routes as public; must be called before they are registered. */
export function prepareDocs(server: FastifyInstance): void {
  server.addHook('onRoute', (route) => {
    if (route.url !== DOCUMENT && route.url !== DOCS && !route.url.startsWith(`${DOCS}/`)) return;
    route.config = { ...route.config, public: true };
    const protect = (_request: unknown, reply: { header(name: string, value: string): unknown }, done: () => void) => {
      reply.header('content-security-policy', POLICY);
      reply.header('x-content-type-options', 'nosniff');
      // Same as on the console's pages, so that one of them can hand over a newly created key.
      reply.header('cross-origin-opener-policy', 'same-origin');
      done();
    };
    route.onRequest = [route.onRequest ?? [], protect].flat();
    if (route.url === `${DOCS}/swagger-ui-init.js` && route.method === 'GET') keepText(route);
  });
}

/** Sends the bytes of the first response each time: Nest makes this long text, and Node copies it, for every client. */
function keepText(route: RouteOptions): void {
  let kept: { readonly bytes: Buffer; readonly type: string } | undefined;
  const sendKept: preHandlerHookHandler = (_request, reply, done) => {
    if (kept === undefined) done();
    else void reply.type(kept.type).send(kept.bytes);
  };
  const keep: onSendHookHandler = (_request, reply, payload, done) => {
    if (typeof payload === 'string' && reply.statusCode === 200) {
      kept = { bytes: Buffer.from(payload), type: String(reply.getHeader('content-type')) };
    }
    done(null, kept?.bytes ?? payload);
  };
  route.preHandler = [route.preHandler ?? [], sendKept].flat();
  route.onSend = [route.onSend ?? [], keep].flat();
}

/** What the reference page refers to: the console's folder, whose font it uses, and the path of PUBLIC_URL. */
interface DocsPlace {
  readonly pages: string;
  readonly path: string;
}

/** Serves the document and its reference page; both are generated on the first request and cached. */
export function serveDocs(app: NestFastifyApplication, { pages, path }: DocsPlace): void {
  let bytes: Buffer | undefined;
  const server = app.getHttpAdapter().getInstance();
  server.get(DOCUMENT, (_request, reply) => {
    bytes ??= Buffer.from(JSON.stringify(openApiDocument(app, path)));
    return reply.type('application/json; charset=utf-8').send(bytes);
  });
  server.get(SCRIPT, (_request, reply) => reply.type('text/javascript; charset=utf-8').send(docsScript(path)));
  server.get(MARK, (_request, reply) => reply.type('image/svg+xml').send(DOCS_MARK));
  SwaggerModule.setup(DOCS, app, () => openApiDocument(app, path), {
    raw: false,
    customSiteTitle: 'Darkroom API',
    customCss: fontFace(consoleFont(pages, path)) + DOCS_STYLE,
    customJs: path + SCRIPT,
    customfavIcon: path + MARK,
    swaggerOptions: { validatorUrl: null, tryItOutEnabled: true, defaultModelsExpandDepth: -1 },
  });
}

function fontFace(address: string | undefined): string {
  if (address === undefined) return '';
  return `@font-face { font-family: 'Inter Variable'; src: url('${address}') format('woff2'); font-weight: 100 900; font-display: swap; }`;
}
