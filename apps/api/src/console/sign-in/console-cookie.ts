import type { CookieSerializeOptions } from '@fastify/cookie';
import type { FastifyReply, FastifyRequest } from 'fastify';

/** A cookie that no script reads, and that is sent for the console's paths alone where that is possible. */
export class ConsoleCookie {
  private readonly name: string;
  private readonly attributes: CookieSerializeOptions;

  /**
   * Under an https address the cookie is a `__Host-` one: no other host of the domain, and nobody on a plain
   * connection, can plant it. The prefix asks for the path `/`; the public API never looks at cookies.
   */
  constructor(publicUrl: string, name: string, { path, sameSite }: { path: string; sameSite: 'strict' | 'lax' }) {
    const secure = publicUrl.startsWith('https:');
    this.name = secure ? `__Host-${name}` : name;
    this.attributes = { path: secure ? '/' : path, httpOnly: true, secure, sameSite };
  }

  read({ server, headers }: FastifyRequest): string | undefined {
    return headers.cookie === undefined ? undefined : server.parseCookie(headers.cookie)[this.name];
  }

  set(reply: FastifyReply, value: string, maxAgeSeconds: number): void {
    void reply.setCookie(this.name, value, { ...this.attributes, maxAge: maxAgeSeconds });
  }

  clear(reply: FastifyReply): void {
    void reply.clearCookie(this.name, this.attributes);
  }
}
