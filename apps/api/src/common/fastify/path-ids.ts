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

/** What comes before the ids of tasks in paths. */
const TASKS = ['/v1/tasks/', '/v1/images/tasks/'];

/**
 * A task id that can't be decoded is treated as any other unknown id, whatever follows it. The router takes the first
 * character of a URL for a slash, so `*` would otherwise mean `/`.
 */
export function readableUrl(url: string): string {
  if (url.startsWith('*')) return `/${url}`;
  const tasks = TASKS.find((path) => url.startsWith(path));
  if (tasks === undefined || !url.includes('%')) return url;
  const [id = ''] = url.slice(tasks.length).split(/[/?]/, 1);
  try {
    decodeURIComponent(id);
    return url;
  } catch {
    return `${tasks}${UNKNOWN_ID}${url.slice(tasks.length + id.length)}`;
  }
}
