import type { FastifyInstance } from 'fastify';
import { pathOfPublicUrl } from '#config/public-url.js';

/** The response to a program at the root URL. */
interface Home {
  readonly name: 'Darkroom';
  /** The base URL for clients of OpenAI's API. */
  readonly api: string;
  readonly openapi: string;
  readonly reference: string;
  readonly console: string;
}

/** Redirects browsers from `/` to the console, and tells programs the service's URLs. */
export function serveHome(server: FastifyInstance, publicUrl: string): void {
  const home: Home = {
    name: 'Darkroom',
    api: `${publicUrl}/v1`,
    openapi: `${publicUrl}/openapi.json`,
    reference: `${publicUrl}/docs`,
    console: `${publicUrl}/console`,
  };
  server.get('/', { config: { public: true } }, (request, reply) => {
    void reply.header('vary', 'Accept');
    const isBrowser = /\btext\/html\b/i.test(request.headers.accept ?? '');
    return isBrowser ? reply.redirect(`${pathOfPublicUrl(publicUrl)}/console`) : reply.send(home);
  });
}
