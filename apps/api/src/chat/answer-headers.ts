import type { FastifyReply } from 'fastify';
import type { ChatResponse } from '#providers/chat/chat-provider.js';

/**
 * The provider's response headers that callers receive. The others concern its connection, its cookies, or our account
 * there.
 */
const PASSED = [
  'content-type',
  'content-encoding',
  'cache-control',
  'openai-processing-ms',
  'openai-version',
  'retry-after',
  'retry-after-ms',
  'x-should-retry',
];

/** Selects the headers for the caller; multiple values are joined. */
export function passedHeaders(headers: ChatResponse['headers']): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of PASSED) {
    const value = headers[name];
    if (value !== undefined) passed[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return passed;
}

/** Writes the head of a response whose body is then written by hand. */
export function beginAnswer(reply: FastifyReply, answer: ChatResponse, more: Record<string, string>): void {
  reply.hijack();
  reply.raw.writeHead(answer.status, {
    ...(reply.getHeaders() as Record<string, string>),
    ...passedHeaders(answer.headers),
    ...more,
  });
}
