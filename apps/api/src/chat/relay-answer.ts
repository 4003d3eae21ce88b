import type { FastifyReply } from 'fastify';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { AppError } from '#contract/app-error.js';
import type { ChatAnswer } from '#providers/chat/chat-provider.js';
import { beginAnswer } from './answer-headers.js';
import { usageOfCompletion, tokenUsage, type TokenUsage } from './token-usage.js';
import { UsageFilter } from './usage-filter.js';

/** Bytes of an answer in one piece that are held until it is whole, so that a broken one can still be told as such. */
const MAX_HELD = 1_048_576;
/** Bytes at the end of a longer one in which its usage is looked for. */
const TAIL = 16_384;

/** What was learnt while an answer passed. */
export interface Relayed {
  usage?: TokenUsage | undefined;
}

/**
 * Passes a provider's answer on, byte for byte, as fast as the caller reads; `learnt` is filled in on the way.
 * Throws AppError while nothing has been sent, and the connection's error after that, when it has cut the caller's.
 */
export async function relayAnswer(
  reply: FastifyReply,
  answer: ChatAnswer,
  { hideUsage, learnt }: { readonly hideUsage: boolean; readonly learnt: Relayed },
): Promise<void> {
  if (/^text\/event-stream/i.test(String(answer.headers['content-type']))) {
    await relayEvents(reply, answer, hideUsage, learnt);
  } else {
    await relayWhole(reply, answer, learnt);
  }
}

async function relayEvents(reply: FastifyReply, answer: ChatAnswer, hide: boolean, learnt: Relayed): Promise<void> {
  const filter = new UsageFilter(hide);
  // nginx and its like would collect the events otherwise.
  beginAnswer(reply, answer, { 'x-accel-buffering': 'no' });
  reply.raw.flushHeaders();
  await pump(answer.body, reply.raw, (chunk) => {
    const kept = filter.push(chunk);
    learnt.usage = filter.usage;
    return kept;
  });
  const rest = filter.end();
  learnt.usage = filter.usage;
  reply.raw.end(rest.length > 0 ? rest : undefined);
}

async function relayWhole(reply: FastifyReply, answer: ChatAnswer, learnt: Relayed): Promise<void> {
  const held = await holdUpTo(answer.body, MAX_HELD).catch((cause: unknown) => {
    throw new AppError('chat_upstream_error', 'The provider broke off its answer.', { cause });
  });
  if (held.whole) {
    learnt.usage = usageOfCompletion(held.bytes);
    beginAnswer(reply, answer, { 'content-length': String(held.bytes.length) });
    reply.raw.end(held.bytes);
    return;
  }
  const length = answer.headers['content-length'];
  beginAnswer(reply, answer, typeof length === 'string' ? { 'content-length': length } : {});
  let tail = held.bytes.subarray(-TAIL);
  reply.raw.write(held.bytes);
  await pump(answer.body, reply.raw, (chunk) => {
    tail = chunk.length >= TAIL ? chunk.subarray(-TAIL) : Buffer.concat([tail, chunk]).subarray(-TAIL);
    return chunk;
  });
  learnt.usage = usageInTail(tail.toString('utf8'));
  reply.raw.end();
}

/** The body's first bytes: all of them, or more than `limit`; then the body is paused. */
function holdUpTo(body: Readable, limit: number): Promise<{ whole: boolean; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let bytes = 0;
    const stop = (whole: boolean): void => {
      body.off('data', onData).off('end', onEnd).off('error', reject);
      resolve({ whole, bytes: chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks) });
    };
    const onData = (chunk: Buffer): void => {
      chunks.push(chunk);
      bytes += chunk.length;
      if (bytes <= limit) return;
      body.pause();
      stop(false);
    };
    const onEnd = (): void => {
      stop(true);
    };
    body.on('data', onData).on('end', onEnd).on('error', reject);
  });
}

/** Writes what `map` makes of each piece, and stops reading while the caller does not read. */
function pump(body: Readable, target: ServerResponse, map: (chunk: Buffer) => Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const resume = (): void => {
      body.resume();
    };
    const settle = (error?: Error): void => {
      target.off('drain', resume).off('close', onClose);
      if (error === undefined) resolve();
      else {
        target.destroy();
        reject(error);
      }
    };
    const onClose = (): void => {
      body.destroy();
      settle(new Error('the caller is gone'));
    };
    target.on('drain', resume).on('close', onClose);
    if (target.destroyed) {
      onClose();
      return;
    }
    body
      .on('data', (chunk: Buffer) => {
        const kept = map(chunk);
        if (kept.length > 0 && !target.write(kept)) body.pause();
      })
      .on('end', () => {
        settle();
      })
      .on('error', settle);
    if (!target.writableNeedDrain) body.resume();
  });
}

/** Usage stands near the end of a completion; in a text of the model its quotes would be escaped. */
function usageInTail(tail: string): TokenUsage | undefined {
  const match = /[^\\]"usage"\s*:\s*(\{(?:[^{}]|\{[^{}]*\})*\})/.exec(tail);
  try {
    return match ? tokenUsage(JSON.parse(match[1] ?? '')) : undefined;
  } catch {
    return undefined;
  }
}
