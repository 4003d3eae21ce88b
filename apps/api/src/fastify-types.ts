import type { KeyScope } from '#accounts/api-keys.js';
import type { Caller } from './auth/caller.js';
import type { Session } from '#accounts/session-store.js';
import type { BodyBytes } from './common/fastify/body-bytes.js';
import type { CountedKind } from './limits/limit-requests.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls; set before the body is read, undefined on public routes. */
    caller: Caller | undefined;
    /** Who uses the console; undefined everywhere else, and for whoever is not signed in. */
    session: Session | undefined;
    /** The task this request made or read, for the log. */
    taskId: string | undefined;
    /** Whether that task was there before: the request repeats another. */
    attached: boolean;
    /** The bytes of its JSON body, while they are needed. */
    received: BodyBytes | undefined;
  }

  interface FastifyContextConfig {
    /** Anyone may call the route. Every other route needs a key. */
    public?: boolean;
    /** The route is the console's: it knows sessions, never keys. */
    console?: boolean;
    /** The route takes JSON bodies up to JSON_BODY_LIMIT. */
    largeBody?: boolean;
    /** The route gets its JSON body as a `ScannedBody`, not parsed. */
    rawBody?: boolean;
    /** The route needs no body: an empty one may be of any type. */
    bodyless?: boolean;
    /** The route takes multipart/form-data, or nothing but that. */
    multipart?: boolean | 'only';
    /** What a key must be for to call the route; `any` takes every key. A route that names none takes keys for everything. */
    scope?: KeyScope | 'any';
    /** The route counts towards this limit of its caller's key. */
    counted?: CountedKind;
  }
}
