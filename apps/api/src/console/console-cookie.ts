import type { CookieSerializeOptions } from '@fastify/cookie';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { pathOfPublicUrl } from '#config/public-url.js';

/** A cookie that scripts can't read; sent only for the console's paths where possible. */
export interface ConsoleCookie {
  readonly name: string;
  readonly attributes: CookieSerializeOptions;
}

/** The paths and requests that a cookie is sent with. */
interface CookieScope {
  readonly path: string;
  readonly sameSite: 'strict' | 'lax';
}

/**
 * With https, the cookie has the prefix `__Host-`: no other host of the domain, and no plain http connection, can set
 * it. The prefix requires the path `/`; the public API never reads cookies. Where PUBLIC_URL has a path, the host
 * belongs to others too, maybe to a second installation, so the cookie is sent below that path only; `__Secure-` is the
 * prefix that allows it.
 */
export function consoleCookie(publicUrl: string, name: string, { path, sameSite }: CookieScope): ConsoleCookie {
  const secure = publicUrl.startsWith('https:');
  const publicPath = pathOfPublicUrl(publicUrl);
  const sharesHost = publicPath !== '';
  return {
    name: secure ? `${sharesHost ? '__Secure-' : '__Host-'}${name}` : name,
    attributes: { path: secure && !sharesHost ? '/' : publicPath + path, httpOnly: true, secure, sameSite },
  };
}

/** Cookies by name. */
export type Cookies = Readonly<Record<string, string | undefined>>;

/** Injects the browser's cookies into a handler. */
export const Cookies = createParamDecorator((_data: unknown, context: ExecutionContext): Cookies => {
  return cookiesOf(context.switchToHttp().getRequest<FastifyRequest>());
});

/** The browser's cookies; parsed on demand, because the public API never reads cookies. */
export function cookiesOf({ server, headers }: FastifyRequest): Cookies {
  return headers.cookie === undefined ? {} : server.parseCookie(headers.cookie);
}

/** A cookie to set, or to delete when `value` is null. */
export interface CookieChange extends ConsoleCookie {
  readonly value: string | null;
}

/** Sets the cookie. */
export function setCookie({ name, attributes }: ConsoleCookie, value: string, maxAgeSeconds: number): CookieChange {
  return { name, value, attributes: { ...attributes, maxAge: maxAgeSeconds } };
}
