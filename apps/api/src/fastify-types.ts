import type { KeyScope } from '#accounts/api-keys.js';
import type { AppError } from '#contract/app-error.js';
import type { Caller } from './auth/caller.js';
import type { Session } from '#accounts/session-store.js';
import type { BodyBytes } from './common/fastify/body-bytes.js';
import type { CountedKind } from './limits/limit-requests.js';

declare module 'fastify' {
  interface FastifyRequest {
    /** The caller; set before the body is read, undefined on public routes. */
    caller: Caller | undefined;
    /** The console session; undefined on other routes, and without a sign-in. */
    session: Session | undefined;
    /** Throws the AppError that the request would be refused with now. */
    recheckAccess: (() => Promise<void>) | undefined;
    /** The error that the request was answered with. */
    refusal: AppError | undefined;
    /** The task that this request created or read, for the log. */
    taskId: string | undefined;
    /** Whether that task already existed: the request repeats another one. */
    attached: boolean;
    /** The bytes of its JSON body, as long as they are needed. */
    received: BodyBytes | undefined;
  }

  interface FastifyContextConfig {
    /** The route needs no key; all others do. */
    public?: boolean;
    /** The route belongs to the console: it accepts sessions, never keys. */
    console?: boolean;
    /** The route accepts JSON bodies up to JSON_BODY_LIMIT. */
    largeBody?: boolean;
    /** The route receives its JSON body unparsed, as a `ScannedBody`. */
    rawBody?: boolean;
    /** The route needs no body: an empty one may have any content type. */
    bodyless?: boolean;
    /** Changes nothing, or must always work: not counted as a change of the console's user. */
    uncapped?: boolean;
    /** The route accepts multipart/form-data; `only`: nothing else. */
    multipart?: boolean | 'only';
    /** The route accepts a form without files, as `URLSearchParams`. */
    urlencoded?: boolean;
    /** The route accepts access tokens of OAuth clients, besides keys. */
    accessTokens?: boolean;
    /** The scope that a key needs; `any` accepts every key. Without it, the route accepts only keys without scopes. */
    scope?: KeyScope | 'any';
    /** Counts the request against this limit of the caller's key. */
    counted?: CountedKind;
  }
}
