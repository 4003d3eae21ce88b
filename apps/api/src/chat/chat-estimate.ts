import type { TokenPrices } from '#catalog/catalog.js';
import { tokenCost } from '#billing/quote.js';
import { RESPONSES, type ChatApi } from './chat-api.js';
import { valueAt } from './json-members.js';
import type { ChatRequest } from './chat-request.js';
import type { TokenUsage } from './token-usage.js';

/** The rule of docs/billing.md ("Chats"); change the numbers there too. */
const BYTES_PER_TOKEN = 4;
const TOKENS_PER_IMAGE = 1_500;
/** Largest expected response in tokens, when the request sets no limit. */
const USUAL_OUTPUT = 4_096;
const MAX_CHOICES = 128;
/** No model writes more; a larger limit in a request would reserve what others have left. */
const MAX_OUTPUT = 131_072;
/** Lowest assumed output rate of a provider, in tokens per second, while its response can't be seen. */
const TOKENS_PER_SECOND = 50;
/** A larger piece holds an image or audio. */
const MAX_PIECE_TOKENS = 4_096;
/** Shorter lines of a stream are comments, event names, and its end. */
const SHORTEST_LINE = 32;
const MAX_COUNT = 2_147_483_647;
/** Longest number, in bytes. */
const MAX_NUMBER = 20;
const LF = 0x0a;
/** Of the lines `event: <name>` and `data: <JSON>`. */
const FIRST_OF_EVENT = 0x65;
const FIRST_OF_DATA = 0x64;
/** Bytes before a URL that are searched for its member name, and of a line that are searched for its event's. */
const MAX_NAME = 64;

/**
 * Estimates a request's tokens from its bytes; large images in its messages count as images, and a
 * response that it continues by its tokens.
 */
export function estimatedInput({ api, bytes, body, members, earlierTokens }: ChatRequest): number {
  const { start: first, end: last } = members.get(api.input) ?? { start: 0, end: 0 };
  const images = body.scan.images.filter(({ start }) => start > first && start < last && isAddress(bytes, start));
  const length = images.reduce((left, { start, end }) => left - (end - start), bytes.length);
  return Math.min(Math.ceil(length / BYTES_PER_TOKEN) + images.length * TOKENS_PER_IMAGE + earlierTokens, MAX_COUNT);
}

/** Whether the text at `at` is an image URL; any other text is counted by its bytes. */
function isAddress(bytes: Buffer, at: number): boolean {
  return /"(?:image_)?url"\s*:\s*$/.test(bytes.toString('latin1', Math.max(0, at - MAX_NAME), at));
}

/** Counts the tokens of a response on its way to the caller, in case its provider reports no usage. */
export class OutputMeter {
  private lines = 0;
  private bytes = 0;
  private shortest = Infinity;
  private line = 0;

  /** The first byte of the current line: of the field's name. */
  private first: number | undefined;
  /** The end of the current line, if it names an event. */
  private name = '';
  /** Whether the current event has new text: Responses repeat it in others at its end. */
  private hasText = true;

  /** `streamed`: the response consists of events with at least one token each; otherwise it is a single text. */
  constructor(
    private readonly streamed: boolean,
    private readonly api: ChatApi,
  ) {}

  push(chunk: Buffer): void {
    if (!this.streamed) {
      this.bytes += chunk.length;
      return;
    }
    let start = 0;
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, start)) {
      this.readName(chunk, start, at);
      this.endLine(at - start);
      start = at + 1;
    }
    this.readName(chunk, start, chunk.length);
    this.line += chunk.length - start;
  }

  get tokens(): number {
    if (!this.streamed) return Math.min(Math.ceil(this.bytes / BYTES_PER_TOKEN), 4 * MAX_PIECE_TOKENS);
    const content = this.lines === 0 ? 0 : this.bytes - this.lines * this.shortest;
    return Math.max(this.lines, Math.ceil(content / BYTES_PER_TOKEN));
  }

  private endLine(rest: number): void {
    const length = this.line + rest;
    this.line = 0;
    if (!this.isText()) return;
    if (length < SHORTEST_LINE) return;
    this.lines++;
    this.shortest = Math.min(this.shortest, length);
    this.bytes += Math.min(length, this.shortest + MAX_PIECE_TOKENS * BYTES_PER_TOKEN);
  }

  /** Of Responses. Lines of data, which are most of a stream, are not copied. */
  private readName(chunk: Buffer, start: number, end: number): void {
    if (this.api !== RESPONSES || start === end) return;
    this.first ??= chunk[start];
    if (this.first !== FIRST_OF_EVENT) return;
    this.name = (this.name + chunk.toString('latin1', Math.max(start, end - MAX_NAME), end)).slice(-MAX_NAME);
  }

  /** Whether the line that has just ended may hold new text of the model. */
  private isText(): boolean {
    if (this.api !== RESPONSES) return true;
    const { first, name } = this;
    this.first = undefined;
    this.name = '';
    if (first === FIRST_OF_EVENT) this.hasText = name.trimEnd().endsWith('.delta');
    return first === FIRST_OF_DATA && this.hasText;
  }
}

/** The largest expected response in tokens: the request's limit, for all of its choices. */
export function expectedOutput(chat: ChatRequest): number {
  const limits = chat.api.outputLimits.map((name) => numberOf(chat, name));
  const limit = limits.find((one) => one !== undefined) ?? USUAL_OUTPUT;
  const choices = Math.min(numberOf(chat, 'n') ?? 1, MAX_CHOICES);
  return Math.min(limit * choices, MAX_OUTPUT);
}

/** The amount to reserve for a chat, in millionths. */
export function reserveOf(chat: ChatRequest, prices: TokenPrices): number {
  const tokens = { input: estimatedInput(chat), output: expectedOutput(chat), cached: null };
  return tokenCost(prices, tokens) ?? 0;
}

/** A finished chat whose cost is computed. */
export interface FinishedChat {
  /** The usage that its provider reported, if any. */
  readonly usage: TokenUsage | undefined;
  /** The provider completed its response, so its usage covers all of it. */
  readonly whole: boolean;
  /** Tokens of the response that were received. */
  readonly output: number;
  /** For a disconnected caller: seconds that the provider worked before any of its response was received. */
  readonly unseenSeconds: number;
}

/**
 * The cost of a chat in millionths: by the provider's usage, or by the estimate where that is missing or may be too
 * low. In the background, most of the response is never seen here: then it is at least what was reserved.
 */
export function costOfChat(chat: ChatRequest, prices: TokenPrices, seen: FinishedChat): number {
  const { usage, whole } = seen;
  if (whole && usage !== undefined && usage.input !== null && usage.output !== null) {
    return tokenCost(prices, usage) ?? 0;
  }
  const unseen = Math.min(Math.ceil(seen.unseenSeconds * TOKENS_PER_SECOND), expectedOutput(chat));
  const output = Math.max(seen.output, unseen, usage?.output ?? 0);
  const input = usage?.input ?? estimatedInput(chat);
  const cost = tokenCost(prices, { input, output: Math.min(output, MAX_COUNT), cached: usage?.cached ?? null }) ?? 0;
  return chat.inBackground ? Math.max(cost, reserveOf(chat, prices)) : cost;
}

/** A positive integer among the request's members. */
function numberOf({ bytes, members }: ChatRequest, name: string): number | undefined {
  const span = members.get(name);
  const value = span === undefined || span.end - span.start > MAX_NUMBER ? undefined : valueAt(bytes, span);
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined;
}
