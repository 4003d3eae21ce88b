import type { FastifyInstance } from 'fastify';

/** An id that nothing has. */
const UNKNOWN_ID = '-';

/**
 * No id of ours contains control or invisible characters, and Postgres rejects NUL. Replaces such an id in a path with
 * one that nothing has, so that it gets the same response as any other unknown id.
 */
export function cleanPathIds(server: FastifyInstance): void {
  server.addHook('onRequest', (request, _reply, done) => {
    const ids = request.params as Record<string, string>;
    for (const [name, id] of Object.entries(ids)) if (/\p{C}/u.test(id)) ids[name] = UNKNOWN_ID;
    done();
  });
}
