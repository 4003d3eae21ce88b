import { AppError } from '#contract/app-error.js';
import { IMAGE_TEXT } from '#contract/image-shapes.js';
import { endOfPlainText } from './plain-text.js';

/** The position of a value: its first byte, and the byte after its last. */
export interface Span {
  readonly start: number;
  readonly end: number;
  /** For an object or array: whether it is empty. */
  readonly isEmpty?: boolean;
  /** Of a member of the outermost object: the first byte of its name, with its quote. */
  readonly nameStart?: number;
}

/** Limits of a JSON body. */
export interface ScanLimits {
  /** Values, member names, and ends of objects and arrays. */
  readonly tokens: number;
  /** Members of all objects together. */
  readonly members: number;
  /** Nesting depth of objects and arrays. */
  readonly depth: number;
  /** Bytes outside of long image texts. */
  readonly rest: number;
  /** How a text begins that is kept as an image; default: as a data URI of an image. */
  readonly imageStart?: RegExp;
  /** The outermost member, an array, whose items are kept in `items`. */
  readonly itemsOf?: string;
  /** The outermost member, an array, whose items with a member `tools` are noted in `hasItemTools`. */
  readonly toolsIn?: string;
}

/** For bodies that are parsed: a parser's cost grows with these, not with the size of images. */
export const PARSED_LIMITS: ScanLimits = {
  tokens: 100_000,
  members: 1_000,
  depth: 32,
  rest: 1_048_576,
  imageStart: IMAGE_TEXT,
};
/** For chats, which are passed on unparsed. */
export const CHAT_LIMITS: ScanLimits = {
  tokens: 1_000_000,
  members: 1_000_000,
  depth: 512,
  rest: Infinity,
  itemsOf: 'messages',
  toolsIn: 'input',
};
const NO_LIMITS: ScanLimits = { tokens: Infinity, members: Infinity, depth: 10_000, rest: Infinity };

/** Longest member name and longest number, in bytes. */
const MAX_WORD_BYTES = 1_024;
/** Members of the outermost object, which are kept by name. */
const MAX_OUTER_MEMBERS = 1_000;
/** A text that starts like an image is kept unparsed from this size on, in bytes. */
const LONG_TEXT_BYTES = 16_384;
const DATA_IMAGE = /^data:image/i;
/** Bytes of a text that tell whether it is an image. */
const IMAGE_START_BYTES = 32;
/** Items that are kept of an array: the last ones, of which a chat's newest messages are the most recent. */
const MAX_ITEMS = 1_000;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const TAB = 0x09;
const LF = 0x0a;
const CR = 0x0d;
const SPACE = 0x20;
const LOWER_U = 0x75;
const ESCAPES: ReadonlySet<number> = new Set(Buffer.from('"\\/bfnrt'));
const SCALAR = /^(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)$/;

/** Parser states. */
const VALUE = 0;
const FIRST_ITEM = 1;
const FIRST_NAME = 2;
const NAME = 3;
const AFTER_NAME = 4;
const AFTER_VALUE = 5;
const IN_TEXT = 6;
const IN_ESCAPE = 7;
const IN_HEX = 8;
const IN_SCALAR = 9;

/**
 * Scans a JSON text as it arrives, each byte once: checks that it is valid JSON and within its limits, and finds the
 * members of the outermost object and the texts that are images. So oversized content is rejected before it is parsed,
 * and each chunk costs only its own bytes.
 */
export class JsonScan {
  /** Values of the outermost object, by member name. */
  readonly members = new Map<string, Span>();
  /** Members of all objects, including duplicates. */
  memberCount = 0;
  /** Long texts that start like images, with their quotes. */
  readonly images: Span[] = [];
  /** All long texts, with their quotes. */
  readonly longTexts: Span[] = [];
  /** The last items of the array `itemsOf`, and how many there are in all. */
  readonly items: Span[] = [];
  itemCount = 0;
  /** Whether an item of the array `toolsIn` has a member `tools`. */
  hasItemTools = false;
  /** Start of the outermost value; `end` is the byte after it. */
  start = 0;
  end = 0;
  private tokens = 0;
  private imageBytes = 0;
  /** For each open container, outermost first: whether it is an object. */
  private readonly open: boolean[] = [];
  private state = VALUE;
  private at = 0;
  /** Start of the current text or scalar. */
  private wordStart = 0;
  private isName = false;
  private hexLeft = 0;
  private outerName = '';
  private outerNameStart = 0;
  private outerStart = 0;
  private itemStart = 0;

  constructor(private readonly limits: ScanLimits = NO_LIMITS) {}

  /**
   * Scans the new bytes before `end`; earlier bytes must not have moved. `latest` contains the last of them as they
   * arrived: a buffer that grows in place is read several times slower. Throws AppError: `invalid_json`, or
   * `request_too_large` for too much content besides images.
   */
  advance(bytes: Buffer, end: number, latest = bytes): void {
    const isNew = latest !== bytes && this.at >= end - latest.length;
    const read = isNew ? latest : bytes;
    const offset = isNew ? end - latest.length : 0;
    while (this.at < end) {
      if (this.state === IN_TEXT) {
        this.at = offset + endOfPlainText(read, this.at - offset, end - offset);
        if (this.at < end) this.leaveText(bytes, read[this.at - offset] ?? 0);
      } else if (this.state === IN_SCALAR) {
        this.at = offset + endOfScalar(read, this.at - offset, end - offset);
        if (this.at - this.wordStart > MAX_WORD_BYTES) throw invalidJson();
        if (this.at < end) this.endScalar(bytes);
      } else {
        this.take(read[this.at - offset] ?? 0);
      }
    }
    this.assertRest(bytes, end);
  }

  /** Must be called with all bytes. Throws like `advance`, and `invalid_json` when they are not one complete value. */
  finish(bytes: Buffer, end: number): void {
    this.advance(bytes, end);
    if (this.state === IN_SCALAR) this.endScalar(bytes);
    if (this.state !== AFTER_VALUE || this.open.length > 0) throw invalidJson();
  }

  /** Throws like `advance` when the text exceeds these stricter limits. */
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
    if (this.open.length === 2) this.itemStart = this.at;
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

  /** Every byte of a text has been looked at, so that invalid bytes are found even in texts that are never parsed. */
  private leaveText(bytes: Buffer, byte: number): void {
    if (byte !== BACKSLASH && byte !== QUOTE) throw invalidJson();
    this.at++;
    if (byte === BACKSLASH) this.state = IN_ESCAPE;
    else if (this.isName) this.endName(bytes);
    else this.endText(bytes);
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
    if (this.open.length === 3 && this.outerName === this.limits.toolsIn && this.open[1] === false) {
      this.hasItemTools ||= this.nameIn(bytes) === 'tools';
    }
    if (this.open.length !== 1) return;
    this.outerName = this.nameIn(bytes);
    this.outerNameStart = this.wordStart;
    if (this.members.has(this.outerName)) {
      throw new AppError('invalid_json', 'The request body contains a duplicate member.');
    }
    if (this.members.size >= MAX_OUTER_MEMBERS) throw tooManyValues();
  }

  private endText(bytes: Buffer): void {
    const text = { start: this.wordStart, end: this.at };
    if (text.end - text.start > LONG_TEXT_BYTES) this.longTexts.push(text);
    if (this.isImage(bytes, this.at)) {
      this.images.push(text);
      this.imageBytes += text.end - text.start;
    }
    this.endValue();
  }

  /** The member name that has just ended. */
  private nameIn(bytes: Buffer): string {
    const plain = bytes.toString('utf8', this.wordStart + 1, this.at - 1);
    return plain.includes('\\') ? (JSON.parse(`"${plain}"`) as string) : plain;
  }

  private endScalar(bytes: Buffer): void {
    if (!SCALAR.test(bytes.toString('latin1', this.wordStart, this.at))) throw invalidJson();
    this.endValue();
  }

  private endValue(isEmpty = false): void {
    this.state = AFTER_VALUE;
    if (this.open.length === 0) this.end = this.at;
    if (this.open.length === 1 && this.open[0] === true) {
      this.members.set(this.outerName, {
        start: this.outerStart,
        end: this.at,
        isEmpty,
        nameStart: this.outerNameStart,
      });
    }
    if (this.open.length === 2 && this.open[1] === false && this.outerName === this.limits.itemsOf) this.endItem();
  }

  private endItem(): void {
    this.itemCount++;
    this.items.push({ start: this.itemStart, end: this.at });
    if (this.items.length > 2 * MAX_ITEMS) this.items.splice(0, MAX_ITEMS);
  }

  private count(): void {
    if (++this.tokens > this.limits.tokens) throw tooManyValues();
  }

  private isImage(bytes: Buffer, end: number): boolean {
    const start = this.wordStart + 1;
    if (end - start < LONG_TEXT_BYTES) return false;
    return (this.limits.imageStart ?? DATA_IMAGE).test(bytes.toString('latin1', start, start + IMAGE_START_BYTES));
  }

  /** Counts an unfinished text too, unless it looks like an image so far. */
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

function endOfScalar(bytes: Buffer, start: number, end: number): number {
  let at = start;
  while (at < end && !endsScalar(bytes[at] ?? 0)) at++;
  return at;
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

/** The error for invalid JSON. */
export function invalidJson(): AppError {
  return new AppError('invalid_json', 'The request body is not valid JSON.');
}

function tooManyValues(): AppError {
  return new AppError('invalid_json', 'The request body contains too many values.');
}

function longName(): AppError {
  return new AppError(
    'invalid_json',
    `The request body has a member whose name is longer than ${MAX_WORD_BYTES} bytes.`,
  );
}

/** The error for too much content besides images. */
export function tooMuch(limit: number): AppError {
  return new AppError('request_too_large', `The request body contains more than ${limit} bytes besides its images.`);
}
