import type { FastifyReply } from 'fastify';
import type { ChatAnswer } from '#providers/chat/chat-provider.js';

/**
 * What callers may see of a provider's headers. All else speaks of its connection, of its cookies, or of the account
 * that we have there, and stays.
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

/** Those of a chat provider's headers that its caller gets; one with several values has them joined. */
export function passedHeaders(headers: ChatAnswer['headers']): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of PASSED) {
    const value = headers[name];
    if (value !== undefined) passed[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return passed;
}

/** Writes the head of an answer that is then written by hand. */
export function beginAnswer(reply: FastifyReply, answer: ChatAnswer, more: Record<string, string>): void {
  reply.hijack();
  reply.raw.writeHead(answer.status, {
    ...(reply.getHeaders() as Record<string, string>),
    ...passedHeaders(answer.headers),
    ...more,
  });
}
