import { Catch, HttpException, type ArgumentsHost, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { Logger } from '#telemetry/logger.js';
import { sendError } from './error-reply.js';
import { errorOfThrown, reportError } from './thrown-error.js';

/** The methods of our routes. */
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;

/** Turns every error of a request into the contract's error body. */
@Catch()
export class ErrorFilter implements ExceptionFilter {
  constructor(private readonly logger: Logger) {}

  catch(thrown: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const reply = http.getResponse<FastifyReply>();
    const error = this.appError(thrown, request, reply);
    // An error caused by a disconnected caller is not ours, and there is no one to send it to.
    if (reply.raw.destroyed) return;
    if (error.status >= 500 && error.code !== 'still_running') reportError(error, request, this.logger);
    sendError(error, request, reply);
  }

  private appError(thrown: unknown, request: FastifyRequest, reply: FastifyReply): AppError {
    const isUnknown = thrown instanceof HttpException && thrown.getStatus() === 404;
    return isUnknown ? notFound(request, reply) : errorOfThrown(thrown);
  }
}

/** Tells a wrong method from an unknown URL. */
function notFound(request: FastifyRequest, reply: FastifyReply): AppError {
  const { method, url } = request;
  const methods = NOT_OFFERED.test(url) ? [] : methodsOf(request);
  if (methods.length === 0 || methods.includes(method)) return new AppError('unknown_url', unknownUrl(url));
  void reply.header('allow', methods.join(', '));
  return new AppError('method_not_allowed', `This URL does not support ${method}, only ${methods.join(', ')}.`);
}

/** The methods that a URL accepts; those of its own route come before those of a route that takes its end for an id. */
function methodsOf({ server, url }: FastifyRequest): string[] {
  // Fastify's type leaves out that there may be none.
  const routeOf = (method: (typeof METHODS)[number]): { params: object } | null => server.findRoute({ method, url });
  return METHODS.flatMap((method) => {
    const route = routeOf(method);
    return route === null ? [] : [{ method, params: Object.keys(route.params).length }];
  })
    .sort((a, b) => a.params - b.params)
    .map(({ method }) => method);
}

/** Endpoints of OpenAI's and Anthropic's APIs that clients call, and that do not exist here. */
const NOT_OFFERED =
  /^\/(?:v1\/)?(?:responses\/(?:compact|input_tokens)|conversations|audio|embeddings|completions|moderations|assistants|threads|vector_stores|fine_tuning|realtime|videos|evals|containers|messages|images\/variations|chat\/completions\/.+)(?=\/|\?|$)/;

/** Says that an endpoint is not offered, so that callers do not look for a mistake in the address. */
function unknownUrl(url: string): string {
  const [path] = NOT_OFFERED.exec(url) ?? [];
  if (path === undefined) return 'Unknown URL. Check the base URL and the path; the API reference is at /docs.';
  const chats = 'chats (/v1/chat/completions, /v1/responses)';
  const offered = `It offers images (/v1/images/generations, /v1/images/edits) and ${chats}`;
  return `This service does not offer ${path}. ${offered}; the API reference is at /docs.`;
}
