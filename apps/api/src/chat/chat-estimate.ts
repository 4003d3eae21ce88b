import type { TokenPrices } from '#catalog/catalog.js';
import { tokenCost } from '#billing/quote.js';
import { valueAt } from './json-members.js';
import type { ChatRequest } from './chat-request.js';
import type { TokenUsage } from './token-usage.js';

/** The rule of docs/billing.md ("Chats"); whoever changes a number changes it there. */
const BYTES_PER_TOKEN = 4;
const TOKENS_PER_PICTURE = 1_500;
/** Tokens that an answer without a limit of its own is expected to have at most. */
const USUAL_OUTPUT = 4_096;
const MAX_CHOICES = 128;
/** No model writes more; a caller who names a larger limit would set aside what others have left. */
const MAX_OUTPUT = 131_072;
/** Tokens that a provider writes in a second at least, while nobody sees them. */
const TOKENS_PER_SECOND = 50;
/** What is longer in one piece holds an image or a sound. */
const MAX_PIECE_TOKENS = 4_096;
/** Shorter lines of a stream are comments, names of events, and its end. */
const SHORTEST_LINE = 32;
const MAX_COUNT = 2_147_483_647;
/** Bytes that a number may be written with. */
const MAX_NUMBER = 20;
const LF = 0x0a;
/** Bytes before an address in which its name is looked for. */
const MAX_NAME = 64;

/** Tokens of a request, by its bytes; large images among its messages count as such. */
export function estimatedInput({ bytes, body, members }: Pick<ChatRequest, 'bytes' | 'body' | 'members'>): number {
  const { start: first, end: last } = members.get('messages') ?? { start: 0, end: 0 };
  const pictures = body.scan.images.filter(({ start }) => start > first && start < last && isAddress(bytes, start));
  const length = pictures.reduce((left, { start, end }) => left - (end - start), bytes.length);
  return Math.ceil(length / BYTES_PER_TOKEN) + pictures.length * TOKENS_PER_PICTURE;
}

/** Whether the text at `at` is the address of an image: any other text costs its bytes, whatever it begins with. */
function isAddress(bytes: Buffer, at: number): boolean {
  return /"(?:image_)?url"\s*:\s*$/.test(bytes.toString('latin1', Math.max(0, at - MAX_NAME), at));
}

/** Counts an answer on its way, for when its provider does not say what it has used. */
export class OutputMeter {
  private lines = 0;
  private bytes = 0;
  private shortest = Infinity;
  private line = 0;

  /** `streamed`: the answer is events, of which each is a token or more; else it is one text. */
  constructor(private readonly streamed: boolean) {}

  push(chunk: Buffer): void {
    if (!this.streamed) {
      this.bytes += chunk.length;
      return;
    }
    let start = 0;
    for (let at = chunk.indexOf(LF); at !== -1; at = chunk.indexOf(LF, start)) {
      this.endLine(at - start);
      start = at + 1;
    }
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
    if (length < SHORTEST_LINE) return;
    this.lines++;
    this.shortest = Math.min(this.shortest, length);
    this.bytes += Math.min(length, this.shortest + MAX_PIECE_TOKENS * BYTES_PER_TOKEN);
  }
}

/** The most tokens that an answer is expected to have: by the limit of the request, for all its choices. */
export function expectedOutput(chat: ChatRequest): number {
  const limit = numberOf(chat, 'max_completion_tokens') ?? numberOf(chat, 'max_tokens') ?? USUAL_OUTPUT;
  const choices = Math.min(numberOf(chat, 'n') ?? 1, MAX_CHOICES);
  return Math.min(limit * choices, MAX_OUTPUT);
}

/** What is set aside for a chat, in millionths. */
export function reserveOf(chat: ChatRequest, prices: TokenPrices): number {
  const tokens = { input: estimatedInput(chat), output: expectedOutput(chat), cached: null };
  return tokenCost(prices, tokens) ?? 0;
}

/** How a chat went whose cost is asked for. */
export interface SeenChat {
  /** What its provider has counted, if it said so. */
  readonly usage: TokenUsage | undefined;
  /** The provider has ended its answer, so that nothing came after what it counted. */
  readonly whole: boolean;
  /** Tokens that were seen of the answer. */
  readonly output: number;
  /** Of a chat whose caller left: seconds that its provider was at work before anything of the answer was seen. */
  readonly unseenSeconds: number;
}

/** What a chat has cost, in millionths: by its provider's count, and where that is missing or may be too low, by the estimate. */
export function costOfChat(chat: ChatRequest, prices: TokenPrices, seen: SeenChat): number {
  const { usage, whole } = seen;
  if (whole && usage !== undefined && usage.input !== null && usage.output !== null) {
    return tokenCost(prices, usage) ?? 0;
  }
  const unseen = Math.min(Math.ceil(seen.unseenSeconds * TOKENS_PER_SECOND), expectedOutput(chat));
  const output = Math.max(seen.output, unseen, usage?.output ?? 0);
  const input = usage?.input ?? estimatedInput(chat);
  return tokenCost(prices, { input, output: Math.min(output, MAX_COUNT), cached: usage?.cached ?? null }) ?? 0;
}

/** A whole number above 0 among the members of the request. */
function numberOf({ bytes, members }: ChatRequest, name: string): number | undefined {
  const span = members.get(name);
  const value = span === undefined || span.end - span.start > MAX_NUMBER ? undefined : valueAt(bytes, span);
  return typeof value === 'number' && Number.isInteger(value) && value > 0 ? value : undefined;
}
