import type { FastifyInstance } from 'fastify';

/** What nothing is called. */
const NOBODYS = '-';

/**
 * Of what stands in an address for an id, control and invisible characters are of no id of ours, and NUL is nothing that
 * a database takes. Such an id becomes one that nothing has, so that it is answered like any other unknown one.
 */
export function cleanPathIds(server: FastifyInstance): void {
  server.addHook('onRequest', (request, _reply, done) => {
    const ids = request.params as Record<string, string>;
    for (const [name, id] of Object.entries(ids)) if (/\p{C}/u.test(id)) ids[name] = NOBODYS;
    done();
  });
}
