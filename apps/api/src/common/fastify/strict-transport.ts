import type { FastifyInstance } from 'fastify';
import { publicUrlOf, type ApiConfig } from '../api.config.js';

/** When PUBLIC_URL is https, tells browsers to use only https from now on (HSTS). */
export function sendStrictTransport(server: FastifyInstance, config: ApiConfig): void {
  if (!publicUrlOf(config).startsWith('https:') || config.hstsSeconds === 0) return;
  server.addHook('onRequest', (_request, reply, done) => {
    // Set on the raw response, so that responses written without Fastify have it too.
    reply.raw.setHeader('strict-transport-security', `max-age=${config.hstsSeconds}`);
    done();
  });
}
