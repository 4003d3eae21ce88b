import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { AppError } from '#contract/app-error.js';
import { LongText } from '#contract/long-text.js';
import { BodyBytes } from './body-bytes.js';
import { BodyHold, type BodyMemory } from './body-memory.js';
import { CHAT_LIMITS, invalidJson, JsonScan, PARSED_LIMITS, type ScanLimits } from './json-scan.js';
import { networkOf } from '../network-of.js';
import { collectBody, discardRest } from '../request-stream.js';

const SPACE = 0x20;

/** The bytes of a whole JSON text, and what a scan has found in them. */
export class ScannedBody {
  constructor(
    readonly bytes: Buffer,
    readonly scan: JsonScan,
  ) {}

  /** Scans what is already here. Throws AppError `invalid_json`. */
  static of(bytes: Buffer, limits: ScanLimits = CHAT_LIMITS): ScannedBody {
    const scan = new JsonScan(limits);
    blankMark(bytes);
    scan.finish(bytes, bytes.length);
    return new ScannedBody(bytes, scan);
  }

  /**
   * The value; images in it are `LongText`s of these bytes, so that only what is short is parsed.
   * Throws AppError (invalid_json, request_too_large) when it holds more than a parser can take at once.
   */
  value(limits: Omit<ScanLimits, 'depth'> = PARSED_LIMITS): unknown {
    this.scan.assertWithin(limits);
    const { images } = this.scan;
    if (images.length === 0) return parsed(this.bytes.toString('utf8'));
    // Nobody can know the word that stands for an image, so that no text of a caller is taken for one.
    const word = randomBytes(16).toString('hex');
    let text = '';
    let from = 0;
    for (const [index, { start, end }] of images.entries()) {
      text += `${this.bytes.toString('utf8', from, start)}"${word}${index}"`;
      from = end;
    }
    const texts = images.map(({ start, end }) => new LongText(this.bytes.subarray(start + 1, end - 1)));
    return restored(parsed(text + this.bytes.toString('utf8', from)), word, texts);
  }
}

/** Where a body is read from and to. */
export interface BodySource {
  readonly request: FastifyRequest;
  readonly payload: IncomingMessage;
  /** Most bytes. */
  readonly limit: number;
  readonly memory: BodyMemory;
}

/**
 * Reads and parses a JSON body. Its bytes stay in `request.received` while images in it refer to them.
 * Throws as `readBody` does.
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
 * Reads a JSON body and looks at it meanwhile. All its bytes are accounted, before they are kept, until
 * `request.received` is freed, which the end of the request does.
 * Throws AppError (invalid_json, request_too_large, server_is_overloaded) or the connection's error.
 */
export async function readBody(source: BodySource, limits: ScanLimits = CHAT_LIMITS): Promise<ScannedBody> {
  const { request, payload, limit } = source;
  const announced = Number(request.headers['content-length'] ?? 0);
  if (announced > limit) {
    discardRest(payload);
    throw tooLarge(limit);
  }
  const received = new BodyBytes(limit, announced, new BodyHold(source.memory, sourceOf(request)));
  const scan = new JsonScan(limits);
  let isMarked: boolean | undefined;
  try {
    await collectBody(payload, (chunk) => {
      if (received.length + chunk.length > limit) throw tooLarge(limit);
      received.append(chunk);
      if (received.length < 3 && announced !== received.length) return;
      isMarked ??= blankMark(received.room);
      scan.advance(received.room, received.length);
    });
    scan.finish(received.room, received.length);
  } catch (error) {
    received.free();
    throw error;
  }
  request.received = received;
  return new ScannedBody(received.whole, scan);
}

/** Gives back the memory of a body whose images are stored. */
export function releaseBody(request: FastifyRequest): void {
  request.body = undefined;
  request.received?.free();
}

/** Whose share of the memory for bodies a request takes: its account's, or its network's while nobody knows more. */
export function sourceOf(request: FastifyRequest): string {
  const accountId = request.caller?.accountId ?? request.session?.accountId;
  return accountId === undefined ? `network ${networkOf(request.ip)}` : `account ${accountId}`;
}

/** Makes blanks of the byte order mark, which is no part of JSON. */
function blankMark(bytes: Buffer): boolean {
  const isMarked = bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;
  if (isMarked) bytes.fill(SPACE, 0, 3);
  return isMarked;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw invalidJson();
  }
}

/** Puts the images where they belong. A member `__proto__` stays a member. */
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
