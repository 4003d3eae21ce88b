import { isUtf8 } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { LongText } from '#contract/long-text.js';
import { BodyBytes } from './body-bytes.js';
import { BodyReservation, type BodyMemory } from './body-memory.js';
import { CHAT_LIMITS, invalidJson, JsonScan, PARSED_LIMITS, tooMuch, type ScanLimits, type Span } from './json-scan.js';
import { collectBody, discardRest } from '../request-stream.js';
import { sourceOf } from '../source-of.js';

const SPACE = 0x20;

/** The bytes of a complete JSON text, and the result of its scan. */
export class ScannedBody {
  constructor(
    readonly bytes: Buffer,
    readonly scan: JsonScan,
  ) {}

  /** Scans bytes that are already complete. Throws AppError `invalid_json`. */
  static of(bytes: Buffer, limits: ScanLimits = CHAT_LIMITS): ScannedBody {
    const scan = new JsonScan(limits);
    blankMark(bytes);
    finish(scan, bytes);
    return new ScannedBody(bytes, scan);
  }

  /**
   * Parses the text; images become `LongText`s of the same bytes, so that only short texts are parsed. Throws AppError
   * (invalid_json, request_too_large) when it exceeds the limits of a parser.
   */
  value(limits: Omit<ScanLimits, 'depth'> = PARSED_LIMITS): unknown {
    this.scan.assertWithin(limits);
    return this.parse({ start: 0, end: this.bytes.length }, this.scan.images);
  }

  /**
   * Parses one value of the text; all long texts in it become `LongText`s. Throws AppError `request_too_large` when it
   * has more bytes than `rest` besides them.
   */
  valueAt(span: Span, rest: number): unknown {
    const texts = this.scan.longTexts.filter(({ start, end }) => start >= span.start && end <= span.end);
    if (this.restOf(span, texts) > rest) throw tooMuch(rest);
    return this.parse(span, texts);
  }

  private restOf(span: Span, texts: readonly Span[]): number {
    return texts.reduce((bytes, { start, end }) => bytes - (end - start), span.end - span.start);
  }

  private parse(span: Span, longTexts: readonly Span[]): unknown {
    if (longTexts.length === 0) return parsed(this.bytes.toString('utf8', span.start, span.end));
    // A random placeholder for long texts, so that no caller's text can be mistaken for one.
    const word = randomBytes(16).toString('hex');
    let text = '';
    let from = span.start;
    for (const [index, { start, end }] of longTexts.entries()) {
      text += `${this.bytes.toString('utf8', from, start)}"${word}${index}"`;
      from = end;
    }
    const texts = longTexts.map(({ start, end }) => new LongText(this.bytes.subarray(start + 1, end - 1)));
    return restored(parsed(text + this.bytes.toString('utf8', from, span.end)), word, texts);
  }
}

/** A body to read, its limit, and the memory it counts in. */
export interface BodySource {
  readonly request: FastifyRequest;
  readonly payload: IncomingMessage;
  /** In bytes. */
  readonly limit: number;
  readonly memory: BodyMemory;
}

/**
 * Reads and parses a JSON body. Its bytes stay in `request.received` while images refer to them. Throws like
 * `readBody`.
 */
export async function readJsonBody(source: BodySource): Promise<unknown> {
  const body = await readBody(source, PARSED_LIMITS);
  const { received } = source.request;
  try {
    const value = body.value();
    if (body.scan.images.length === 0) received?.free();
    return value;
  } catch (error) {
    received?.free();
    throw error;
  }
}

/**
 * Reads a JSON body and scans it as it arrives. Its bytes are counted before they are stored, until `request.received`
 * is freed, at the latest when the request ends. Throws AppError (invalid_json, request_too_large,
 * server_is_overloaded) or the connection's error.
 */
export async function readBody(source: BodySource, limits: ScanLimits = CHAT_LIMITS): Promise<ScannedBody> {
  const { request, payload, limit } = source;
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) {
    discardRest(payload);
    throw tooLarge(limit);
  }
  const received = new BodyBytes(limit, announced, new BodyReservation(source.memory, bodySourceOf(request)));
  const scan = new JsonScan(limits);
  let isMarked: boolean | undefined;
  try {
    await collectBody(payload, (chunk) => {
      if (received.length + chunk.length > limit) throw tooLarge(limit);
      received.append(chunk);
      if (received.length < 3 && announced !== received.length) return;
      isMarked ??= blankMark(received.room);
      scan.advance(received.room, received.length, chunk);
    });
    finish(scan, received.whole);
  } catch (error) {
    received.free();
    throw error;
  }
  request.received = received;
  return new ScannedBody(received.whole, scan);
}

/** Releases the memory of a body whose images are stored. */
export function releaseBody(request: FastifyRequest): void {
  request.body = undefined;
  request.received?.free();
}

/** The source of a body: a user of the console for small ones, so that they can disable a key whatever it sends. */
export function bodySourceOf(request: FastifyRequest): string {
  const { session, routeOptions } = request;
  const isSmall = routeOptions.config.largeBody !== true;
  return session !== undefined && isSmall ? `person ${session.personId}` : sourceOf(request);
}

/** Replaces a byte order mark, which is not part of JSON, with spaces. */
function blankMark(bytes: Buffer): boolean {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  if (isMarked) bytes.fill(SPACE, 0, 3);
  return isMarked;
}

/** Ends the scan of a complete text. Throws AppError `invalid_json`, also for bytes that are not UTF-8. */
function finish(scan: JsonScan, bytes: Buffer): void {
  scan.finish(bytes, bytes.length);
  // Decoding would replace them silently, and a provider would draw another prompt than the caller's.
  if (!isUtf8(bytes)) throw new AppError('invalid_json', 'The request body is not valid UTF-8.');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidJson();
  }
}

/** Puts the images back in place of their placeholders. A member `__proto__` stays a plain member. */
function restored(value: unknown, word: string, texts: readonly LongText[]): unknown {
  if (typeof value === 'string') {
    return value.startsWith(word) ? (texts[Number(value.slice(word.length))] ?? value) : value;
  }
  if (typeof value !== 'object' || value === null) return value;
  for (const [name, item] of Object.entries(value)) {
    const whole = restored(item, word, texts);
    if (whole !== item) Object.defineProperty(value, name, { value: whole });
  }
  return value;
}

function tooLarge(limit: number): AppError {
  return new AppError('request_too_large', `The request body is larger than ${limit} bytes.`);
}
