import type { CookieSerializeOptions } from '@fastify/cookie';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';

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

/** Cookies by their names. */
export type Cookies = Readonly<Record<string, string | undefined>>;

/** Hands a handler the cookies that the browser sent. */
export const Cookies = createParamDecorator((_data: unknown, context: ExecutionContext): Cookies => {
  return cookiesOf(context.switchToHttp().getRequest<FastifyRequest>());
});

/** What the browser sent; read where it is asked for, because the public API never looks at cookies. */
export function cookiesOf({ server, headers }: FastifyRequest): Cookies {
  return headers.cookie === undefined ? {} : server.parseCookie(headers.cookie);
}

/** A cookie that the browser is to keep, or to forget when `value` is null. */
export interface CookieChange extends ConsoleCookie {
  readonly value: string | null;
}

/** Has the browser keep it. */
export function setCookie({ name, attributes }: ConsoleCookie, value: string, maxAgeSeconds: number): CookieChange {
  return { name, value, attributes: { ...attributes, maxAge: maxAgeSeconds } };
}
