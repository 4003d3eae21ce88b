import type { FastifyInstance } from 'fastify';
import { publicUrlOf, type ApiConfig } from '../api.config.js';

/** Where PUBLIC_URL is https, browsers are told to come by no other way from now on. */
export function askForHttps(server: FastifyInstance, config: ApiConfig): void {
  if (!publicUrlOf(config).startsWith('https:') || config.hstsSeconds === 0) return;
  server.addHook('onRequest', (_request, reply, done) => {
    // On the bare response, which answers that are written past Fastify have too.
    reply.raw.setHeader('strict-transport-security', `max-age=${config.hstsSeconds}`);
    done();
  });
}
