import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { AppError } from '#contract/app-error.js';
import { sendError } from '../common/error-reply.js';

const compress = promisify(gzip);

const PAGE = 'index.html';
/** Tells the page's scripts the path of PUBLIC_URL. */
const PATH_MARK = '<meta name="darkroom-path" content=""';
/** Vite's folder of files with a hash in their names. */
const HASHED = /^assets\//;
const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.json': 'application/json',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
};
const COMPRESSED = new Set(['.html', '.js', '.css', '.json', '.svg']);

interface PageFile {
  readonly type: string;
  readonly bytes: Buffer;
  /** Compressed at the first request that accepts it. */
  gzip: Promise<Buffer> | undefined;
  readonly compressible: boolean;
}

/** The built pages, and where they are served. */
interface Pages {
  readonly folder: string;
  /** Path of PUBLIC_URL; may be empty. */
  readonly path: string;
  /** Other origins that images are loaded from. */
  readonly imageOrigins: readonly string[];
}

/**
 * Serves the built pages at /console from memory, so that no request can name a file on disk. Paths without a file get
 * the single page, which routes them.
 */
export function serveConsole(server: FastifyInstance, { folder, path: publicPath, imageOrigins }: Pages): void {
  const files = readFiles(folder, publicPath);
  const policy = policyOf(imageOrigins);
  const handler = async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const { '*': path = '' } = request.params as { '*'?: string };
    const file = files.get(path) ?? (isAddressOfPage(path) ? files.get(PAGE) : undefined);
    if (file === undefined) {
      sendError(new AppError('unknown_url', 'Page not found.'), request, reply);
      return reply;
    }
    void reply
      .type(file.type)
      .header('cache-control', HASHED.test(path) ? 'public, max-age=31536000, immutable' : 'no-cache')
      .header('content-security-policy', policy)
      .header('referrer-policy', 'no-referrer')
      .header('x-content-type-options', 'nosniff')
      .header('cross-origin-opener-policy', 'same-origin');
    if (!file.compressible) return reply.send(file.bytes);
    void reply.header('vary', 'Accept-Encoding');
    if (!/\bgzip\b/.test(request.headers['accept-encoding'] ?? '')) return reply.send(file.bytes);
    file.gzip ??= compress(file.bytes);
    return reply.header('content-encoding', 'gzip').send(await file.gzip);
  };
  for (const url of ['/console', '/console/*']) server.get(url, { config: { public: true } }, handler);
}

function isAddressOfPage(path: string): boolean {
  return !HASHED.test(path) && !/^api(\/|$)/.test(path);
}

/** Empty when the pages are not built: the rest of the service works without them. */
function readFiles(folder: string, publicPath: string): ReadonlyMap<string, PageFile> {
  const found = new Map<string, PageFile>();
  for (const entry of entriesOf(folder)) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const extension = extname(entry.name);
    const type = TYPES[extension];
    if (type === undefined) continue;
    const name = relative(folder, path).split(sep).join('/');
    const bytes = name === PAGE ? placed(readFileSync(path, 'utf8'), publicPath) : readFileSync(path);
    found.set(name, { type, bytes, gzip: undefined, compressible: COMPRESSED.has(extension) });
  }
  return found;
}

/**
 * The page for its path. The build leaves its files relative, because it does not know the path, but the page is served
 * at URLs of different depths. Scripts and styles find each other by their own URLs.
 */
function placed(page: string, publicPath: string): Buffer {
  return Buffer.from(
    page
      .replaceAll('="./', `="${publicPath}/console/`)
      .replace(PATH_MARK, `<meta name="darkroom-path" content="${publicPath}"`),
  );
}

/** URL of the pages' font; undefined when they are not built. */
export function consoleFont(folder: string, publicPath: string): string | undefined {
  const font = entriesOf(folder).find(({ name }) => /^inter-latin-.*\.woff2$/.test(name));
  return font === undefined ? undefined : `${publicPath}/console/assets/${font.name}`;
}

function entriesOf(folder: string) {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true });
  } catch {
    return [];
  }
}

function policyOf(imageOrigins: readonly string[]): string {
  return [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self' 'unsafe-inline'",
    ['img-src', "'self'", 'blob:', 'data:', ...imageOrigins].join(' '),
    "connect-src 'self'",
    "font-src 'self'",
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ].join('; ');
}
