import { AppError } from '#contract/app-error.js';

/** Where a value stands: from its first byte to the byte after its last. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** Of an object or an array: whether it holds nothing. */
  readonly isEmpty?: boolean;
}

/** What a body may hold. */
export interface ScanLimits {
  /** Values, names of members, and ends of objects and arrays. */
  readonly tokens: number;
  /** Members of all objects together. */
  readonly members: number;
  /** Objects and arrays within each other. */
  readonly depth: number;
  /** Bytes besides long texts that are images. */
  readonly rest: number;
}

/** Of bodies that are parsed: what a parser costs grows with these, not with the bytes of their images. */
export const PARSED_LIMITS: ScanLimits = { tokens: 100_000, members: 1_000, depth: 32, rest: 1_048_576 };
/** Of chats, which are passed on and never parsed. */
export const CHAT_LIMITS: ScanLimits = { tokens: 1_000_000, members: 1_000_000, depth: 512, rest: Infinity };
const NO_LIMITS: ScanLimits = { tokens: Infinity, members: Infinity, depth: 10_000, rest: Infinity };

/** Longest name of a member, and longest number, in bytes. */
const MAX_WORD_BYTES = 1_024;
/** Members of the outermost object, which are remembered by name. */
const MAX_OUTER_MEMBERS = 1_000;
/** From this many bytes on a text that begins as an image does is kept apart. */
const LONG_TEXT_BYTES = 16_384;
const IMAGE_START = 'data:image';

const [QUOTE, BACKSLASH, COMMA, COLON] = [0x22, 0x5c, 0x2c, 0x3a];
const [OPEN_OBJECT, CLOSE_OBJECT, OPEN_ARRAY, CLOSE_ARRAY] = [0x7b, 0x7d, 0x5b, 0x5d];
const [TAB, LF, CR, SPACE, LOWER_U] = [0x09, 0x0a, 0x0d, 0x20, 0x75];
const ESCAPES: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));
const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** What may come next. */
const [VALUE, FIRST_ITEM, FIRST_NAME, NAME, AFTER_NAME] = [0, 1, 2, 3, 4];
const [AFTER_VALUE, IN_TEXT, IN_ESCAPE, IN_HEX, IN_SCALAR] = [5, 6, 7, 8, 9];

/**
 * Looks at the bytes of a JSON text while they arrive, at each of them once: whether they are JSON, how much they hold,
 * where the members of the outermost object stand, and which texts are images. So what no reader could digest is
 * refused before one sees it, and the work of a moment is that of the bytes which have just come.
 */
export class JsonScan {
  /** Values of the outermost object by the names of their members. */
  readonly members = new Map<string, Span>();
  /** Members of all objects together, those of one name too. */
  memberCount = 0;
  /** Long texts that begin as images do, with their quotes. */
  readonly images: Span[] = [];
  /** Where the outermost value begins, and where it has ended. */
  start = 0;
  end = 0;
  private tokens = 0;
  private imageBytes = 0;
  /** Whether each open container is an object, outermost first. */
  private readonly open: boolean[] = [];
  private state = VALUE;
  private at = 0;
  /** Where the text or the scalar that is being read begins. */
  private wordStart = 0;
  private isName = false;
  private hexLeft = 0;
  private outerName = '';
  private outerStart = 0;

  constructor(private readonly limits: ScanLimits = NO_LIMITS) {}

  /**
   * Looks at what it has not seen of the bytes before `end`; earlier ones stand where they stood.
   * Throws AppError: `invalid_json`, or `request_too_large` for too much that is no image.
   */
  advance(bytes: Buffer, end: number): void {
    while (this.at < end) {
      if (this.state === IN_TEXT) this.passText(bytes, end);
      else if (this.state === IN_SCALAR) this.passScalar(bytes, end);
      else this.take(bytes[this.at] ?? 0);
    }
    this.assertRest(bytes, end);
  }

  /** To be called with all bytes. Throws as `advance` does, and `invalid_json` when they are not one whole value. */
  finish(bytes: Buffer, end: number): void {
    this.advance(bytes, end);
    if (this.state === IN_SCALAR) this.endScalar(bytes);
    if (this.state !== AFTER_VALUE || this.open.length > 0) throw invalidJson();
  }

  /** Throws as `advance` does when what was seen is more than limits closer than its own. */
  assertWithin(limits: Omit<ScanLimits, 'depth'>): void {
    if (this.tokens > limits.tokens || this.memberCount > limits.members) throw tooManyValues();
    if (this.at - this.imageBytes > limits.rest) throw tooMuch(limits.rest);
  }

  private take(byte: number): void {
    if (this.state === IN_ESCAPE) this.takeEscape(byte);
    else if (this.state === IN_HEX) this.takeHex(byte);
    else if (byte === SPACE || byte === LF || byte === CR || byte === TAB) this.at++;
    else if (this.state === AFTER_VALUE) this.takeSeparator(byte);
    else if (this.state === AFTER_NAME) this.takeColon(byte);
    else if (this.state === NAME || this.state === FIRST_NAME) this.takeName(byte);
    else if (this.state === FIRST_ITEM && byte === CLOSE_ARRAY) this.close();
    else this.takeValue(byte);
  }

  private takeValue(byte: number): void {
    this.count();
    if (this.open.length === 0) this.start = this.at;
    if (this.open.length === 1) this.outerStart = this.at;
    this.wordStart = this.at;
    if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
      if (this.open.length >= this.limits.depth) {
        throw new AppError('invalid_json', `The request body is nested deeper than ${this.limits.depth} levels.`);
      }
      this.open.push(byte === OPEN_OBJECT);
      this.at++;
      this.state = byte === OPEN_OBJECT ? FIRST_NAME : FIRST_ITEM;
    } else if (byte === QUOTE) {
      this.isName = false;
      this.at++;
      this.state = IN_TEXT;
    } else if (endsScalar(byte)) {
      throw invalidJson();
    } else {
      this.state = IN_SCALAR;
    }
  }

  private takeName(byte: number): void {
    if (byte === CLOSE_OBJECT && this.state === FIRST_NAME) {
      this.close();
      return;
    }
    if (byte !== QUOTE) throw invalidJson();
    this.count();
    if (++this.memberCount > this.limits.members) throw tooManyValues();
    this.isName = true;
    this.wordStart = this.at++;
    this.state = IN_TEXT;
  }

  private takeColon(byte: number): void {
    if (byte !== COLON) throw invalidJson();
    this.at++;
    this.state = VALUE;
  }

  private takeSeparator(byte: number): void {
    const isObject = this.open.at(-1);
    if (isObject === undefined) throw invalidJson();
    if (byte === COMMA) {
      this.at++;
      this.state = isObject ? NAME : VALUE;
    } else if (byte === (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) {
      this.close();
    } else {
      throw invalidJson();
    }
  }

  private close(): void {
    this.count();
    this.open.pop();
    this.at++;
    this.endValue(this.state === FIRST_ITEM || this.state === FIRST_NAME);
  }

  /** Every byte of a text is looked at: what no JSON text may hold is found here, also in texts that nobody parses. */
  private passText(bytes: Buffer, end: number): void {
    let at = this.at;
    while (at < end) {
      const byte = bytes[at] ?? 0;
      if (byte === QUOTE || byte === BACKSLASH || byte < SPACE) break;
      at++;
    }
    this.at = at;
    if (at === end) return;
    if (bytes[at] === BACKSLASH) {
      this.at++;
      this.state = IN_ESCAPE;
    } else if (bytes[at] === QUOTE) {
      this.at++;
      if (this.isName) this.endName(bytes);
      else this.endText(bytes);
    } else {
      throw invalidJson();
    }
  }

  private takeEscape(byte: number): void {
    if (byte !== LOWER_U && !ESCAPES.has(byte)) throw invalidJson();
    this.at++;
    this.hexLeft = 4;
    this.state = byte === LOWER_U ? IN_HEX : IN_TEXT;
  }

  private takeHex(byte: number): void {
    const isHex = (byte >= 0x30 && byte <= 0x39) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
    if (!isHex) throw invalidJson();
    this.at++;
    if (--this.hexLeft === 0) this.state = IN_TEXT;
  }

  private endName(bytes: Buffer): void {
    this.state = AFTER_NAME;
    if (this.at - this.wordStart > MAX_WORD_BYTES) throw longName();
    if (this.open.length !== 1) return;
    const plain = bytes.toString('utf8', this.wordStart + 1, this.at - 1);
    this.outerName = plain.includes('\\') ? (JSON.parse(`"${plain}"`) as string) : plain;
    if (this.members.has(this.outerName)) {
      throw new AppError('invalid_json', 'The request body names a member twice.');
    }
    if (this.members.size >= MAX_OUTER_MEMBERS) throw tooManyValues();
  }

  private endText(bytes: Buffer): void {
    if (this.isImage(bytes, this.at)) {
      this.images.push({ start: this.wordStart, end: this.at });
      this.imageBytes += this.at - this.wordStart;
    }
    this.endValue();
  }

  private passScalar(bytes: Buffer, end: number): void {
    let at = this.at;
    while (at < end && !endsScalar(bytes[at] ?? 0)) at++;
    this.at = at;
    if (at - this.wordStart > MAX_WORD_BYTES) throw invalidJson();
    if (at < end) this.endScalar(bytes);
  }

  private endScalar(bytes: Buffer): void {
    if (!SCALAR.test(bytes.toString('latin1', this.wordStart, this.at))) throw invalidJson();
    this.endValue();
  }

  private endValue(isEmpty = false): void {
    this.state = AFTER_VALUE;
    if (this.open.length === 0) this.end = this.at;
    if (this.open.length === 1 && this.open[0] === true) {
      this.members.set(this.outerName, { start: this.outerStart, end: this.at, isEmpty });
    }
  }

  private count(): void {
    if (++this.tokens > this.limits.tokens) throw tooManyValues();
  }

  private isImage(bytes: Buffer, end: number): boolean {
    const start = this.wordStart + 1;
    if (end - start < LONG_TEXT_BYTES) return false;
    return bytes.toString('latin1', start, start + IMAGE_START.length).toLowerCase() === IMAGE_START;
  }

  /** A text that has not ended counts too, unless it is an image so far. */
  private assertRest(bytes: Buffer, end: number): void {
    const inText = this.state === IN_TEXT || this.state === IN_ESCAPE || this.state === IN_HEX;
    if (inText && this.isName && end - this.wordStart > MAX_WORD_BYTES) throw longName();
    const rest = end - this.imageBytes;
    if (rest <= this.limits.rest) return;
    if (inText && !this.isName && this.isImage(bytes, end) && this.wordStart - this.imageBytes <= this.limits.rest)
      return;
    throw tooMuch(this.limits.rest);
  }
}

function endsScalar(byte: number): boolean {
  return (
    byte === COMMA ||
    byte === CLOSE_OBJECT ||
    byte === CLOSE_ARRAY ||
    byte === SPACE ||
    byte === LF ||
    byte === CR ||
    byte === TAB
  );
}

/** What is told of bytes that are no JSON. */
export function invalidJson(): AppError {
  return new AppError('invalid_json', 'The request body is not valid JSON.');
}

function tooManyValues(): AppError {
  return new AppError('invalid_json', 'The request body holds too many values.');
}

function longName(): AppError {
  return new AppError(
    'invalid_json',
    `The request body has a member whose name is longer than ${MAX_WORD_BYTES} bytes.`,
  );
}

function tooMuch(limit: number): AppError {
  return new AppError('request_too_large', `The request body holds more than ${limit} bytes besides its images.`);
}
