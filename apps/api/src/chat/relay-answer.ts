import type { FastifyReply } from 'fastify';
import type { ServerResponse } from 'node:http';
import type { Readable } from 'node:stream';
import { ByteCollector } from '#bytes/bytes.js';
import { AppError } from '#contract/app-error.js';
import type { ChatResponse } from '#providers/chat/chat-provider.js';
import type { BodyReservation } from '../common/fastify/body-memory.js';
import { beginAnswer } from './answer-headers.js';
import { OutputMeter } from './chat-estimate.js';
import type { ChatApi } from './chat-api.js';
import { FilteredAnswer } from './filtered-answer.js';
import { responseIdIn, StreamedResponseId } from './response-id.js';
import { usageOfCompletion, type TokenUsage } from './token-usage.js';
import { UsageFilter } from './usage-filter.js';
import { Tail, usageInTail } from './usage-tail.js';

/**
 * Bytes of a non-streamed response that are held back until it is complete, so that a broken one can still be reported
 * as an error; fewer when the memory for bodies is used up.
 */
const MAX_HELD = 1_048_576;
/** How long the id of a streamed response may stay unknown to other requests: shorter streams need one write, not two. */
const SOON_MS = 50;

/** What was seen of a response on its way to the caller. */
interface Seen {
  usage: TokenUsage | undefined;
  /** The provider completed its response. */
  whole: boolean;
  readonly output: OutputMeter;
  /** Whether the provider stopped it for its content; undefined where nobody asks. */
  readonly filtered: FilteredAnswer | undefined;
}

/** A response that was passed on. */
export interface Relayed extends Readonly<Seen> {
  /**
   * Undefined when the caller got all of it. AppError while nothing was sent; after that, an Error when the provider's
   * connection broke (the caller's is then closed), or when the caller disconnected and no more bytes may be read.
   */
  readonly error: Error | undefined;
}

/** How a response is passed on. */
export interface Relaying {
  readonly api: ChatApi;
  readonly hideUsage: boolean;
  /** Bytes that are still read after the caller disconnected. */
  readonly afterHangupBytes: number;
  /** Whether to find out if the provider stopped the response for its content. */
  readonly findsFiltered?: boolean;
  /**
   * Called with the id of a response that its provider stores, soon after it is seen; the end of the response waits for
   * it. Again when the usage of a longer stream is known, for which nothing waits (`later`). Must not fail.
   */
  readonly stored?: (id: string, usage: TokenUsage | undefined, later?: boolean) => Promise<void>;
  /** Counts what is held back, until the caller has read the response. */
  readonly memory: BodyReservation;
}

/** Passes a provider's response on, byte for byte, as fast as the caller reads. Never fails. */
export async function relayAnswer(reply: FastifyReply, answer: ChatResponse, relaying: Relaying): Promise<Relayed> {
  // `pump` finds an error of the moment between `hold` and itself, which would otherwise end the process.
  answer.body.on('error', () => undefined);
  const streamed = /^text\/event-stream/i.test(String(answer.headers['content-type']));
  const seen: Seen = {
    usage: undefined,
    whole: false,
    output: new OutputMeter(streamed, relaying.api),
    filtered: relaying.findsFiltered === true ? new FilteredAnswer() : undefined,
  };
  try {
    await (streamed ? relayEvents : relayWhole)(reply, answer, relaying, seen);
    return { ...seen, error: undefined };
  } catch (error) {
    return { ...seen, error: error as Error };
  } finally {
    const release = (): void => relaying.memory.release();
    if (reply.raw.closed) release();
    else reply.raw.once('close', release);
  }
}

async function relayEvents(
  reply: FastifyReply,
  answer: ChatResponse,
  { hideUsage, afterHangupBytes, stored }: Relaying,
  seen: Seen,
): Promise<void> {
  const filter = new UsageFilter(hideUsage);
  if (!reply.raw.destroyed) {
    // Keeps nginx and similar proxies from buffering the events.
    beginAnswer(reply, answer, { 'x-accel-buffering': 'no' });
    reply.raw.flushHeaders();
  }
  const storing = stored && new StreamedResponse(stored);
  const map = (chunk: Buffer): Buffer => {
    see(seen, chunk);
    storing?.push(chunk);
    const kept = filter.push(chunk);
    seen.usage = filter.usage;
    return kept;
  };
  let rest: Buffer | undefined;
  try {
    await pump(answer.body, reply.raw, map, afterHangupBytes);
    rest = filter.end();
    seen.usage = filter.usage;
    seen.whole = true;
  } finally {
    await storing?.end(seen.usage);
  }
  endAnswer(reply, rest);
}

/** Stores the id of a streamed response: soon after it was seen, and again with its usage, or once if it ends by then. */
class StreamedResponse {
  private readonly ids = new StreamedResponseId();
  private id: string | undefined;
  private timer: NodeJS.Timeout | undefined;
  private storing: Promise<void> | undefined;

  constructor(private readonly stored: NonNullable<Relaying['stored']>) {}

  push(chunk: Buffer): void {
    if (this.id !== undefined) return;
    const id = this.ids.push(chunk);
    if (id === undefined) return;
    this.id = id;
    this.timer = setTimeout(() => (this.storing = this.stored(id, undefined)), SOON_MS);
  }

  /** Resolves once the id is stored. */
  async end(usage: TokenUsage | undefined): Promise<void> {
    clearTimeout(this.timer);
    if (this.id === undefined) return;
    if (this.storing !== undefined && usage !== undefined) void this.stored(this.id, usage, true);
    await (this.storing ?? this.stored(this.id, usage));
  }
}

async function relayWhole(
  reply: FastifyReply,
  answer: ChatResponse,
  { afterHangupBytes, stored, memory }: Relaying,
  seen: Seen,
): Promise<void> {
  const held = await hold(answer.body, memory, (chunk) => see(seen, chunk)).catch((cause: unknown) => {
    throw new AppError('chat_upstream_error', "The provider's response was interrupted.", { cause });
  });
  const store = async (bytes: Buffer, usage?: TokenUsage): Promise<void> => {
    const id = stored && responseIdIn(bytes);
    if (id !== undefined) await stored?.(id, usage);
  };
  if (held.whole) {
    seen.usage = usageOfCompletion(held.bytes);
    seen.whole = true;
    await store(held.bytes, seen.usage);
    if (reply.raw.destroyed) throw callerGone();
    beginAnswer(reply, answer, { 'content-length': String(held.bytes.length) });
    reply.raw.end(held.bytes);
    return;
  }
  const storing = store(held.bytes);
  const length = answer.headers['content-length'];
  const tail = new Tail();
  tail.add(held.bytes);
  if (!reply.raw.destroyed) {
    beginAnswer(reply, answer, typeof length === 'string' ? { 'content-length': length } : {});
    reply.raw.write(held.bytes);
  }
  const map = (chunk: Buffer): Buffer => {
    see(seen, chunk);
    tail.add(chunk);
    return chunk;
  };
  await pump(answer.body, reply.raw, map, afterHangupBytes);
  seen.usage = usageInTail(tail.last);
  seen.whole = true;
  await storing;
  endAnswer(reply);
}

function see({ output, filtered }: Seen, chunk: Buffer): void {
  output.push(chunk);
  filtered?.push(chunk);
}

/** Throws when the caller has disconnected. */
function endAnswer(reply: FastifyReply, rest: Buffer = Buffer.alloc(0)): void {
  if (reply.raw.destroyed) throw callerGone();
  reply.raw.end(rest.length > 0 ? rest : undefined);
}

/** The body's first bytes: all of them, or those that exceeded MAX_HELD or the memory, with the body paused. */
function hold(
  body: Readable,
  memory: BodyReservation,
  onChunk: (chunk: Buffer) => void,
): Promise<{ whole: boolean; bytes: Buffer }> {
  return new Promise((resolve, reject) => {
    const held = new ByteCollector();
    const stop = (whole: boolean): void => {
      body.off('data', onData).off('end', onEnd).off('error', reject);
      const pieces = held.pieces();
      resolve({ whole, bytes: pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces) });
    };
    const onData = (chunk: Buffer): void => {
      held.add(chunk);
      onChunk(chunk);
      if (held.bytes <= MAX_HELD && memory.tryReserve(chunk.length)) return;
      body.pause();
      stop(false);
    };
    const onEnd = (): void => stop(true);
    body.on('data', onData).on('end', onEnd).on('error', reject);
  });
}

/**
 * Writes the result of `map` for each chunk, those of one turn of the event loop together, and pauses the body while the
 * caller does not read. After the caller disconnects, it reads up to `bytesAlone` more bytes.
 */
function pump(
  body: Readable,
  target: ServerResponse,
  map: (chunk: Buffer) => Buffer,
  bytesAlone: number,
): Promise<void> {
  return new Promise((resolve, reject) => {
    let left = bytesAlone;
    const gathered: Buffer[] = [];
    const write = (): void => {
      const [first, ...more] = gathered.splice(0);
      if (first === undefined || target.destroyed) return;
      if (!target.write(more.length === 0 ? first : Buffer.concat([first, ...more]))) body.pause();
    };
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
    const stop = (): void => {
      body.destroy();
      settle(callerGone());
    };
    const onClose = (): void => {
      if (left > 0) resume();
      else stop();
    };
    target.on('drain', resume).on('close', onClose);
    if (target.destroyed && left <= 0) {
      stop();
      return;
    }
    // A body whose last chunk was read before it was paused has ended since.
    if (body.errored !== null || body.readableEnded) {
      settle(body.errored ?? undefined);
      return;
    }
    body
      .on('data', (chunk: Buffer) => {
        const kept = map(chunk);
        if (target.destroyed) {
          left -= chunk.length;
          if (left <= 0) stop();
        } else if (kept.length > 0) {
          if (gathered.push(kept) === 1) setImmediate(write);
        }
      })
      .on('end', () => {
        write();
        settle();
      })
      .on('error', settle);
    if (target.destroyed || !target.writableNeedDrain) resume();
  });
}

function callerGone(): Error {
  return new Error('the caller disconnected');
}
