import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A cookie that no script reads, and that is sent for the console's paths alone where that is possible. */
export interface ConsoleCookie {
  readonly name: string;
  readonly attributes: CookieSerializeOptions;
}

/** Where a cookie is sent. */
interface CookieScope {
  readonly path: string;
  readonly sameSite: 'strict' | 'lax';
}

/**
 * Under an https address the cookie is a `__Host-` one: no other host of the domain, and nobody on a plain connection,
 * can plant it. The prefix asks for the path `/`; the public API never looks at cookies.
 */
export function consoleCookie(publicUrl: string, name: string, { path, sameSite }: CookieScope): ConsoleCookie {
  const secure = publicUrl.startsWith('https:');
  return {
    name: secure ? `__Host-${name}` : name,
    attributes: { path: secure ? '/' : path, httpOnly: true, secure, sameSite },
  };
}

/** What the browser sent of it. */
export function readCookie({ server, headers }: FastifyRequest, { name }: ConsoleCookie): string | undefined {
  return headers.cookie === undefined ? undefined : server.parseCookie(headers.cookie)[name];
}

/** Has the browser keep it. */
export function setCookie(
  reply: FastifyReply,
  { name, attributes }: ConsoleCookie,
  value: string,
  maxAgeSeconds: number,
): void {
  void reply.setCookie(name, value, { ...attributes, maxAge: maxAgeSeconds });
}

/** Has the browser forget it. */
export function clearCookie(reply: FastifyReply, { name, attributes }: ConsoleCookie): void {
  void reply.clearCookie(name, attributes);
}
