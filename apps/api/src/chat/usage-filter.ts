import { tokenUsage, type TokenUsage } from './token-usage.js';

const [LF, CR, COLON, OPEN_OBJECT] = [0x0a, 0x0d, 0x3a, 0x7b];
const NOTHING: Buffer = Buffer.alloc(0);
const USAGE = Buffer.from('"usage"');
/** In bytes; the event with the usage is shorter. */
const MAX_HELD = 65_536;

/**
 * Finds the usage in a streamed chat's events, and hides the event that contains only usage from callers who did not
 * ask for it. All other bytes pass unchanged: at once when nothing is hidden, otherwise as soon as their event is
 * complete.
 */
export class UsageFilter {
  usage: TokenUsage | undefined;
  private held: Buffer = NOTHING;
  /** Inside an event that is too long to be the usage event. */
  private passing = false;

  constructor(private readonly hiding: boolean) {}

  /** Returns the bytes that may be sent now. */
  push(chunk: Buffer): Buffer {
    if (this.held.length === 0 && !this.passing && endsEvent(chunk) && !tellsUsage(chunk)) return chunk;
    const kept = this.take(this.held.length === 0 ? chunk : Buffer.concat([this.held, chunk]));
    return this.hiding ? kept : chunk;
  }

  /** Returns the remaining bytes at the end of the stream. */
  end(): Buffer {
    const rest = this.held;
    this.held = NOTHING;
    const hidden = !this.passing && this.isHidden(rest);
    return this.hiding && !hidden ? rest : NOTHING;
  }

  private take(data: Buffer): Buffer {
    const kept: Buffer[] = [];
    let start = 0;
    for (let end = endOfEvent(data, start); end !== -1; end = endOfEvent(data, start)) {
      const event = data.subarray(start, end);
      if (this.passing || !this.isHidden(event)) kept.push(event);
      this.passing = false;
      start = end;
    }
    this.held = data.subarray(start);
    if (this.passing || this.held.length > MAX_HELD) {
      // The last bytes may be the start of the blank line that ends the event.
      const breaks = startOfBreaks(this.held);
      kept.push(this.held.subarray(0, breaks));
      this.held = this.held.subarray(breaks);
      this.passing = true;
    }
    return kept.length === 1 ? (kept[0] ?? NOTHING) : Buffer.concat(kept);
  }

  private isHidden(event: Buffer): boolean {
    if (!tellsUsage(event)) return false;
    const chunk = dataOf(event);
    const usage = tokenUsage(chunk?.usage);
    if (usage === undefined) return false;
    this.usage = usage;
    return this.hiding && Array.isArray(chunk?.choices) && chunk.choices.length === 0;
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

function dataOf(event: Buffer): { usage?: unknown; choices?: unknown } | undefined {
  const lines = event.toString('utf8').split(/\r?\n/);
  const data = lines.filter((line) => line.startsWith('data:')).map((line) => line.slice(5));
  try {
    return JSON.parse(data.join('\n')) as { usage?: unknown; choices?: unknown };
  } catch {
    return undefined;
  }
}

function endsEvent(bytes: Buffer): boolean {
  const last = bytes.length - 1;
  return bytes[last] === LF && (bytes[last - 1] === LF || (bytes[last - 1] === CR && bytes[last - 2] === LF));
}

/** Index of the first of the trailing line breaks. */
function startOfBreaks(bytes: Buffer): number {
  let start = bytes.length;
  while (bytes[start - 1] === LF || bytes[start - 1] === CR) start--;
  return start;
}

/** Index after the blank line that ends the event; -1 when it has not arrived yet. */
function endOfEvent(bytes: Buffer, start: number): number {
  for (let at = bytes.indexOf(LF, start); at !== -1; at = bytes.indexOf(LF, at + 1)) {
    if (bytes[at + 1] === LF) return at + 2;
    if (bytes[at + 1] === CR && bytes[at + 2] === LF) return at + 3;
  }
  return -1;
}
