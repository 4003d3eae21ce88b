import type { FastifyInstance } from 'fastify';

/** Beginning of a request target in absolute form, which clients send to proxies. */
const ORIGIN = /^https?:\/\/[^/?#]*/i;

/**
 * The path of PUBLIC_URL, for example `/images`. A proxy in front may pass it on or remove it, so the routes exist with
 * and without it: probes and other callers inside the network don't need to know it.
 */
export class PublicPath {
  /** Routes of ours that look as if they began with the path: `/images/generations` is one itself. */
  private readonly own = new Set<string>();

  /** `path` is empty or begins with a slash, without one at the end. */
  constructor(readonly path: string) {}

  /** Learns the routes; must be called before any is registered. */
  watch(server: FastifyInstance): void {
    if (this.path === '') return;
    server.addHook('onRoute', ({ url }) => {
      if (url.startsWith(`${this.path}/`)) this.own.add(url);
    });
  }

  /** The request's URL as the routes know it. */
  strip(url: string): string {
    if (this.path === '') return url;
    const target = url.replace(ORIGIN, '');
    if (!target.startsWith(this.path)) return url;
    const [path = ''] = target.split(/[?#]/, 1);
    const rest = target.slice(this.path.length);
    if (this.own.has(path)) return url;
    if (rest === '' || rest.startsWith('?')) return `/${rest}`;
    return rest.startsWith('/') ? rest : url;
  }
}
