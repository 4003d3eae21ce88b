import type { FastifyInstance } from 'fastify';

/** What a program is told at the address of the service itself. */
interface Home {
  readonly name: 'Darkroom';
  /** The base address that clients of OpenAI's API are given. */
  readonly api: string;
  readonly openapi: string;
  readonly reference: string;
  readonly console: string;
}

/** Sends browsers from `/` to the console, and tells programs where things are. */
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
    return isBrowser ? reply.redirect('/console') : reply.send(home);
  });
}
