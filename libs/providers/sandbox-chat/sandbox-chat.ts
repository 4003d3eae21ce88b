import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import type { ProviderEntry } from '../provider-entry.js';
import { BLOCKED } from '../provider-error.js';
import { AppError } from '#contract/app-error.js';
import {
  chatChunk,
  chatCompletion,
  STREAM_END,
  usageChunk,
  type ChatChoice,
  type ChatHead,
  type ChatUsage,
} from '#contract/chat-completion.js';
import type { ChatResponse, ChatCall, ChatProvider } from '../chat/chat-provider.js';
import { readDirectives, type Directives, type Fault } from '../sandbox/directives.js';
import { readMessages, sampleChoices, sampleUsage, tokensOf, type SandboxChatFields } from './sample-answer.js';

const JSON_TYPE = 'application/json';
const EVENT_TYPE = 'text/event-stream; charset=utf-8';
/** Maximum pieces of a streamed response. */
const MAX_PIECES = 40;
/** Only this much of a body is hashed to vary the response. */
const MAX_HASHED_BYTES = 1_048_576;

type Fields = SandboxChatFields & { model?: unknown; stream_options?: { include_usage?: unknown } | null };

/** Generates chat completions itself: free, the same for the same chat, and as slow or faulty as the user requests. */
export class SandboxChat implements ChatProvider {
  /** `obeyDirectives`: whether messages may request latency and faults. */
  constructor(private readonly obeyDirectives = true) {}

  /** Throws the signal's reason when aborted, and an error when it was told to hang. */
  async call(_provider: ProviderEntry, call: ChatCall): Promise<ChatResponse> {
    let fields: Fields;
    try {
      fields = call.value() as Fields;
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      return refusal(error.status, 'invalid_request_error', error.code, error.message);
    }
    const said = readMessages(fields.messages);
    const read = readDirectives(said.text);
    const directives = this.obeyDirectives ? read : { ...read, latency: 0, fault: undefined };
    if (!call.streamed) await pause(directives.latency, call.signal);
    const failure = failureOf(directives.fault);
    if (failure !== undefined) return failure;
    if (directives.fault === 'hang') return hang(call);
    const choices = directives.fault === 'empty' ? [] : sampleChoices(fields, said, directives.prompt);
    const head = headOf(call.body, fields.model);
    const usage = sampleUsage(said, choices);
    if (!call.streamed) return answer(200, JSON_TYPE, [JSON.stringify(chatCompletion(head, choices, usage))]);
    const counted = fields.stream_options?.include_usage === true ? usage : undefined;
    const texts = chunksOf(head, choices, counted).map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`);
    return answer(200, EVENT_TYPE, paced([...texts, `data: ${STREAM_END}\n\n`], directives, call.signal));
  }

  async close(): Promise<void> {
    // There are no connections to close.
  }
}

function headOf(body: readonly Buffer[], model: unknown): ChatHead {
  const hash = createHash('sha256');
  for (const piece of body) hash.update(piece.subarray(0, MAX_HASHED_BYTES));
  const digest = hash.digest('hex').slice(0, 24);
  const created = Math.floor(Date.now() / 1000);
  return { id: `chatcmpl-sandbox-${digest}`, created, model: String(model), fingerprint: 'sandbox' };
}

function* piecesOf({ content, toolCalls }: ChatChoice): Generator<object> {
  yield { role: 'assistant', content: content === null ? null : '', refusal: null };
  for (const [index, { function: called, ...call }] of (toolCalls ?? []).entries()) {
    yield { tool_calls: [{ index, ...call, function: { name: called.name, arguments: '' } }] };
    yield { tool_calls: [{ index, function: { arguments: called.arguments } }] };
  }
  const tokens = tokensOf(content ?? '');
  const size = Math.ceil(tokens.length / MAX_PIECES);
  for (let at = 0; at < tokens.length; at += size) yield { content: tokens.slice(at, at + size).join('') };
}

function chunksOf(head: ChatHead, choices: readonly ChatChoice[], usage: ChatUsage | undefined): object[] {
  const chunks = choices.flatMap((choice, index) => [
    ...[...piecesOf(choice)].map((delta) => chatChunk(head, index, delta)),
    chatChunk(head, index, {}, choice.finish),
  ]);
  if (usage === undefined) return chunks;
  return [...chunks.map((chunk) => ({ ...chunk, usage: null })), usageChunk(head, usage)];
}

/** Spreads the latency over the pieces; the fault that truncates a response does so in the middle. */
async function* paced(
  texts: readonly string[],
  { latency, fault }: Directives,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const cutAt = fault === 'crash-after-accept' ? Math.ceil(texts.length / 2) : Infinity;
  for (const [index, text] of texts.entries()) {
    if (latency > 0) await pause(latency / texts.length, signal);
    signal.throwIfAborted();
    if (index >= cutAt) throw new Error('the sandbox was told to break off');
    yield Buffer.from(text);
  }
}

/** Faults that are reported by a status. */
function failureOf(fault: Fault | undefined): ChatResponse | undefined {
  if (fault === 'http-429') {
    return refusal(429, 'rate_limit_error', 'rate_limit_exceeded', 'The provider is limiting requests.', '1');
  }
  if (fault === 'http-500') return refusal(500, 'server_error', null, 'The provider failed.');
  if (fault === 'http-503') return refusal(503, 'server_error', null, 'The provider is overloaded.');
  if (fault !== 'moderation') return undefined;
  return refusal(400, 'invalid_request_error', 'content_filter', BLOCKED);
}

function refusal(
  status: number,
  type: string,
  code: string | null,
  message: string,
  retryAfter?: string,
): ChatResponse {
  const refused = answer(status, JSON_TYPE, [JSON.stringify({ error: { message, type, param: null, code } })]);
  return retryAfter === undefined
    ? refused
    : { ...refused, headers: { ...refused.headers, 'retry-after': retryAfter } };
}

function answer(status: number, type: string, texts: Iterable<string> | AsyncIterable<Buffer>): ChatResponse {
  const pieces = Symbol.asyncIterator in texts ? texts : [...texts].map((text) => Buffer.from(text));
  return { status, headers: { 'content-type': type }, body: Readable.from(pieces, { objectMode: false }) };
}

/** Behaves like a provider that never responds, until the caller gives up. */
async function hang({ firstByteMs, signal }: ChatCall): Promise<never> {
  await pause(firstByteMs, signal);
  throw new Error('the sandbox was told to hang');
}

async function pause(milliseconds: number, signal: AbortSignal): Promise<void> {
  if (milliseconds <= 0) return;
  await wait(milliseconds, undefined, { signal }).catch((error: unknown) => {
    signal.throwIfAborted();
    throw error;
  });
}
