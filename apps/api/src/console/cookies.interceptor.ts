import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { map, type Observable } from 'rxjs';
import type { CookieChange } from './console-cookie.js';

/** A handler's result together with changed cookies. */
export class WithCookies<T> {
  constructor(
    readonly body: T,
    readonly cookies: readonly CookieChange[],
  ) {}
}

/** Sends the body and cookies of handlers that return both. */
@Injectable()
export class CookiesInterceptor implements NestInterceptor {
  intercept(context: ExecutionContext, next: CallHandler<unknown>): Observable<unknown> {
    const reply = context.switchToHttp().getResponse<FastifyReply>();
    return next.handle().pipe(
      map((answer) => {
        if (!(answer instanceof WithCookies)) return answer;
        const changed: WithCookies<unknown> = answer;
        for (const { name, value, attributes } of changed.cookies) {
          if (value === null) void reply.clearCookie(name, attributes);
          else void reply.setCookie(name, value, attributes);
        }
        return changed.body;
      }),
    );
  }
}
