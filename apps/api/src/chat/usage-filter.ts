import { tokenUsage, type TokenUsage } from './token-usage.js';
import { Tail, usageInTail } from './usage-tail.js';

const LF = 0x0a;
const CR = 0x0d;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const NOTHING: Buffer = Buffer.alloc(0);
const USAGE = Buffer.from('"usage"');
/** In bytes; the event with a chat completion's usage is shorter. */
const MAX_HELD = 65_536;
const MIN_BUFFER = 512;

/** The last event of Responses repeats the whole response, so that it may be of any length. Usage is in `response`. */
const RESPONSE_DEPTH = 2;

/** The members of an event that are read. */
interface EventData {
  /** Of Responses' events. */
  readonly response?: { readonly usage?: unknown } | null;
  readonly usage?: unknown;
  readonly choices?: unknown;
  readonly error?: unknown;
}

/**
 * Finds the usage in a streamed chat's events, and hides the event that contains only usage from callers who did not
 * ask for it. All other bytes pass unchanged: at once when nothing is hidden, otherwise as soon as their event is
 * complete. However small its pieces are, each byte is copied and searched a constant number of times.
 */
export class UsageFilter {
  usage: TokenUsage | undefined;
  private readonly held = new HeldBytes();
  /** Whether the event that is arriving is too long to be the usage event. */
  private isTooLong = false;
  /** The end of an event that is too long to be held. */
  private tail: Tail | undefined;
  /** Of a blank line, what has arrived: 1 after a line break, 2 after a line break and a carriage return. */
  private breaks: 0 | 1 | 2 = 0;

  constructor(private readonly hiding: boolean) {}

  /** Returns the bytes that may be sent now. */
  push(chunk: Buffer): Buffer {
    const isBetween = this.held.bytes === 0 && !this.isTooLong && this.breaks === 0;
    if (isBetween && endsEvent(chunk) && !tellsUsage(chunk)) return chunk;
    const kept = this.take(chunk);
    return this.hiding ? kept : chunk;
  }

  /** Returns the remaining bytes at the end of the stream. */
  end(): Buffer {
    const rest = this.held.take();
    if (this.isTooLong) this.endLong(rest);
    const hidden = !this.isTooLong && this.isHidden(rest);
    return this.hiding && !hidden ? rest : NOTHING;
  }

  private take(chunk: Buffer): Buffer {
    const kept: Buffer[] = [];
    let start = 0;
    for (let end = this.endOfEvent(chunk, start); end !== -1; end = this.endOfEvent(chunk, start)) {
      const event = this.held.takeWith(chunk.subarray(start, end));
      if (this.isTooLong) this.endLong(event);
      if (this.isTooLong || !this.isHidden(event)) kept.push(event);
      this.isTooLong = false;
      start = end;
    }
    if (start < chunk.length) {
      const rest = chunk.subarray(start);
      if (this.isTooLong) {
        this.tail?.add(rest);
        kept.push(rest);
      } else this.held.add(rest);
    }
    if (this.held.bytes > MAX_HELD) {
      const beginning = this.held.take();
      this.tail = new Tail();
      this.tail.add(beginning);
      kept.push(beginning);
      this.isTooLong = true;
    }
    return kept.length === 1 ? (kept[0] ?? NOTHING) : Buffer.concat(kept);
  }

  /** Index after the blank line that ends the event; -1 when it has not arrived yet. */
  private endOfEvent(chunk: Buffer, start: number): number {
    let at = start;
    while (at < chunk.length) {
      if (this.breaks === 0) {
        const line = chunk.indexOf(LF, at);
        if (line === -1) return -1;
        this.breaks = 1;
        at = line + 1;
        continue;
      }
      const byte = chunk[at++];
      const isBlank = byte === LF;
      this.breaks = !isBlank && byte === CR && this.breaks === 1 ? 2 : 0;
      if (isBlank) return at;
    }
    return -1;
  }

  /** Looks for the usage at the end of an event that was too long to be held. */
  private endLong(rest: Buffer): void {
    this.tail?.add(rest);
    this.usage = (this.tail && usageInTail(this.tail.last, RESPONSE_DEPTH)) ?? this.usage;
    this.tail = undefined;
  }

  private isHidden(event: Buffer): boolean {
    if (!tellsUsage(event)) return false;
    const chunk = dataOf(event);
    const usage = tokenUsage(chunk?.usage ?? chunk?.response?.usage);
    if (usage === undefined) return false;
    this.usage = usage;
    const choices = chunk?.choices ?? [];
    // Some servers leave out `choices`, which no client expects; an error must reach the caller.
    return this.hiding && Array.isArray(choices) && choices.length === 0 && (chunk?.error ?? null) === null;
  }
}

/** The beginning of an event, in one buffer that grows by doubling. */
class HeldBytes {
  bytes = 0;
  private buffer = NOTHING;

  add(piece: Buffer): void {
    const needed = this.bytes + piece.length;
    if (needed > this.buffer.length) {
      const larger = Buffer.allocUnsafe(Math.max(MIN_BUFFER, 2 * needed));
      this.buffer.copy(larger, 0, 0, this.bytes);
      this.buffer = larger;
    }
    piece.copy(this.buffer, this.bytes);
    this.bytes = needed;
  }

  /** All bytes, which the caller may keep. */
  take(): Buffer {
    const taken = this.buffer.subarray(0, this.bytes);
    this.buffer = NOTHING;
    this.bytes = 0;
    return taken;
  }

  /** All bytes and one more piece, without a copy if there are no others. */
  takeWith(piece: Buffer): Buffer {
    if (this.bytes === 0) return piece;
    this.add(piece);
    return this.take();
  }
}

/** Whether the bytes contain a `usage` member with an object; inside the model's text its quotes would be escaped. */
function tellsUsage(bytes: Buffer): boolean {
  for (let at = bytes.indexOf(USAGE); at !== -1; at = bytes.indexOf(USAGE, at + 1)) {
    let next = skipBlanks(bytes, at + USAGE.length);
    if (bytes[next] !== COLON) continue;
    next = skipBlanks(bytes, next + 1);
    if (bytes[next] === OPEN_OBJECT) return true;
  }
  return false;
}

function skipBlanks(bytes: Buffer, at: number): number {
  let next = at;
  while (bytes[next] === 0x20) next++;
  return next;
}

function dataOf(event: Buffer): EventData | undefined {
  const lines = event.toString('utf8').split(/\r?\n/);
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5));
  try {
    return JSON.parse(data.join('\n')) as EventData;
  } catch {
    return undefined;
  }
}

function endsEvent(bytes: Buffer): boolean {
  const last = bytes.length - 1;
  return bytes[last] === LF && (bytes[last - 1] === LF || (bytes[last - 1] === CR && bytes[last - 2] === LF));
}
