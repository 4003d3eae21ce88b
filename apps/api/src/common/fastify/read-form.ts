import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { EventEmitter } from 'node:events';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Transform, type Readable } from 'node:stream';
import { AppError } from '#contract/app-error.js';
import type { BodyReservation } from './body-memory.js';
import { discardRest, burstLimiter } from '../request-stream.js';

/** Large enough for any prompt within its limit. */
const MAX_TEXT_BYTES = 262_144;
const MAX_TEXTS = 64;
/** Limit for all texts of a form together. */
const MAX_TEXTS_BYTES = 1_048_576;
const MAX_PARTS = 128;
/**
 * Bytes of one part that are buffered for its reader. Busboy stops forever when a skipped part ends while more than
 * this is buffered, so it exceeds what a connection delivers at once (64 KiB read and as much still buffered).
 */
const PART_BUFFER_BYTES = 262_144;
/** Memory of a form while it is read: one buffered part, and one incomplete text. */
const FORM_BYTES = PART_BUFFER_BYTES + 2 * MAX_TEXT_BYTES;
/**
 * Smaller chunks are combined before they reach the parser, because each chunk costs more than its bytes; larger ones in
 * which a part may begin are divided, because the parser reads a chunk to its end, even after the form is rejected.
 */
const PIECE_BYTES = 16_384;
/** What is before each part's boundary. A chunk without it is the middle of one part, of an image mostly. */
const BEFORE_BOUNDARY = '\r\n--';
/** How long smaller chunks are collected, in ms. */
const GATHER_MS = 20;

/** Name of a part without one, for the list of ignored parts. */
export const UNNAMED = 'unnamed';

/** What the headers of a part say about it. */
export interface PartHead {
  readonly name: string;
  /** Empty for a file input of a page in which nothing was chosen. */
  readonly fileName: string | undefined;
  /** Media type without parameters, in lower case. */
  readonly type: string;
}

/** Whether the sender of a part means a file. */
export function sentAsFile({ fileName, type }: PartHead): boolean {
  return fileName !== undefined || type === 'application/octet-stream' || type.startsWith('image/');
}

/** A route's handler for the parts of a form, in their order of arrival. */
export interface FormParts<T> {
  /** Whether to read a part as a file; clients send text fields as files, too. */
  isFile(head: PartHead): boolean;
  /** Must read the stream to its end, or destroy it. */
  file(name: string, stream: Readable, fileName: string | undefined): void;
  /** `cut`: the value exceeded the maximum size and was truncated. */
  text(name: string, value: string, cut: boolean): void;
  /** Aborts the files that are being read; the form is rejected. */
  abandon(error: Error): void;
  /** Resolves when no file is being read any more; never rejects. */
  settled(): Promise<void>;
  /** Called once, when the form is complete. May throw AppError. */
  result(): T;
}

/** A form to read, and its limits. */
export interface FormSource {
  readonly payload: IncomingMessage;
  readonly maxBytes: number;
  /** Its share of the memory for bodies. */
  readonly hold: BodyReservation;
}

/**
 * Parses a multipart form as it arrives. `open` receives a function that rejects the form. Throws the error that the
 * form was rejected with, AppError (invalid_multipart, request_too_large, server_is_overloaded), or the connection's
 * error. By then no part is being read, and the caller discards what it has stored.
 */
export async function readForm<T>(
  source: FormSource,
  open: (refuse: (error: Error) => void) => FormParts<T>,
): Promise<T> {
  try {
    source.hold.reserve(FORM_BYTES);
  } catch (error) {
    discardRest(source.payload);
    throw error;
  }
  try {
    return await readParts(source, open);
  } finally {
    source.hold.release();
  }
}

function readParts<T>(
  { payload, maxBytes, hold }: FormSource,
  open: (refuse: (error: Error) => void) => FormParts<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const parts = open(fail);
    const { parser, encodingOf } = openParser(payload.headers, fail);
    const pieces = gathered();
    const takeTurns = burstLimiter(payload);
    let received = 0;
    let textBytes = 0;
    let texts = 0;
    let over = false;

    function fail(error: Error): void {
      if (over) return;
      over = true;
      payload.unpipe(pieces);
      // What has been gathered may hold ten thousand parts.
      if (parser !== undefined) pieces.unpipe(parser);
      parts.abandon(error);
      discardRest(payload);
      // Files that are being stored must stop before they can be discarded.
      void parts.settled().then(() => reject(error));
    }

    if (parser === undefined) return;
    // A chunk may hold many parts, so parts may still arrive after the rejected one.
    // A part's name may be missing, whatever the type says, or empty.
    parser.on('file', (given: string | undefined, stream, fileName: string | undefined, _encoding, type) => {
      const name = given || UNNAMED;
      const encoding = encodingOf();
      const head = { name, fileName, type };
      if (over) passBy(stream);
      else if (encoding.transfer !== undefined) fail(encodedPart(name, encoding.transfer));
      else if (parts.isFile(head)) parts.file(name, stream, fileName);
      else readText(name, stream, encoding.charset);
    });

    /** Collects a text, up to its limit; a truncated part fails its stream, and also the form. */
    function readText(name: string, stream: Readable, charset: string): void {
      const chunks: Buffer[] = [];
      let bytes = 0;
      if (++texts > MAX_TEXTS) fail(tooManyParts());
      stream.on('error', () => undefined);
      stream.on('data', (chunk: Buffer) => {
        if (bytes < MAX_TEXT_BYTES) chunks.push(chunk.subarray(0, MAX_TEXT_BYTES - bytes));
        bytes += chunk.length;
        textBytes += chunk.length;
        if (textBytes > MAX_TEXTS_BYTES) fail(textsTooLong());
      });
      stream.on('end', () => {
        refusing(() => {
          hold.reserve(Math.min(bytes, MAX_TEXT_BYTES));
          const cut = bytes > MAX_TEXT_BYTES;
          parts.text(name, decoded(Buffer.concat(chunks), charset, { name, cut }), cut);
        });
      });
    }

    for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
      parser.on(limit, () => fail(tooManyParts()));
    }
    parser.on('error', () => fail(invalidMultipart('The multipart body is malformed or incomplete.')));
    parser.on('finish', () => {
      parts
        .settled()
        .then(() => {
          if (!over) resolve(parts.result());
          over = true;
        })
        .catch(reject);
    });
    payload.on('data', (chunk: Buffer) => {
      received += chunk.length;
      if (received > maxBytes) fail(formTooLarge(maxBytes));
      else refusing(() => takeTurns(chunk));
    });
    payload.on('error', fail);
    payload.on('close', () => {
      if (!payload.complete) fail(invalidMultipart('The multipart body is incomplete.'));
    });
    payload.pipe(pieces).pipe(parser);

    function refusing(work: () => void): void {
      if (over) return;
      try {
        work();
      } catch (error) {
        fail(error instanceof Error ? error : new Error('the form was refused'));
      }
    }
  });
}

/** Skips a file. A truncated part fails its stream, perhaps before it is read. */
function passBy(stream: Readable): void {
  stream.on('error', () => undefined).resume();
}

/** Combines small chunks into larger ones, and passes them on when no more arrive in time. Divides large ones with parts. */
function gathered(): Transform {
  let room = Buffer.alloc(0);
  let size = 0;
  let timer: NodeJS.Timeout | undefined;
  const pass = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (size > 0) pieces.push(room.subarray(0, size));
    // The passed-on bytes belong to their reader now.
    size = 0;
  };
  const pieces = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (size + chunk.length > room.length) pass();
      if (chunk.length >= PIECE_BYTES) {
        pass();
        const step = chunk.includes(BEFORE_BOUNDARY) ? PIECE_BYTES : chunk.length;
        for (let at = 0; at < chunk.length; at += step) pieces.push(chunk.subarray(at, at + step));
        done();
        return;
      }
      if (size === 0) room = Buffer.allocUnsafeSlow(PIECE_BYTES);
      room.set(chunk, size);
      size += chunk.length;
      timer ??= setTimeout(pass, GATHER_MS);
      done();
    },
    flush(done) {
      pass();
      done();
    },
    destroy(error, done) {
      clearTimeout(timer);
      done(error);
    },
  });
  return pieces;
}

/** How the current part is encoded. */
interface PartEncoding {
  /** Of its text. */
  readonly charset: string;
  /** A transfer encoding that would have to be undone; undefined for the usual ones. */
  readonly transfer: string | undefined;
}

interface OpenParser {
  readonly parser: BusboyInstance | undefined;
  readonly encodingOf: () => PartEncoding;
}

function openParser(headers: IncomingHttpHeaders, fail: (error: Error) => void): OpenParser {
  /** Whether the latest part is one that Busboy has not asked about. */
  let unknown = false;
  let encoding: PartEncoding = { charset: 'utf-8', transfer: undefined };
  try {
    const busboy = new Busboy({
      headers: { ...headers, 'content-type': headers['content-type'] ?? '' },
      fileHwm: PART_BUFFER_BYTES,
      limits: { parts: MAX_PARTS, headerPairs: 32, headerSize: 16_384 },
      // Every part arrives as bytes: Busboy replaces those of a text that are not in its encoding, without a word.
      isPartAFile: () => {
        unknown = false;
        return true;
      },
    });
    const inner = allParts(busboy);
    const failIfSkipped = (): void => {
      if (unknown) fail(invalidMultipart('A part of the form has no valid Content-Disposition header.'));
    };
    const watch = (part: Readable): void => {
      failIfSkipped();
      // The rest of the piece may hold thousands of parts.
      if (unknown) inner.off('part', watch);
      unknown = true;
      // Before Busboy, which then announces the part.
      part.prependListener('header', (header: PartHeaders) => {
        encoding = encodingIn(header);
      });
      part.on('header', failIfSkipped);
    };
    inner.on('part', watch);
    return { parser: busboy.on('finish', failIfSkipped), encodingOf: () => encoding };
  } catch {
    // Deferred, because `fail` uses the parser, which does not exist yet.
    queueMicrotask(() => fail(invalidMultipart('The multipart body has no valid boundary.')));
    return { parser: undefined, encodingOf: () => encoding };
  }
}

type PartHeaders = Readonly<Record<string, readonly string[] | undefined>>;

function encodingIn(header: PartHeaders): PartEncoding {
  const charset = /;\s*charset\s*=\s*"?([^\s;"]+)/i.exec(header['content-type']?.[0] ?? '')?.[1];
  const transfer = header['content-transfer-encoding']?.[0]?.trim().toLowerCase();
  return {
    charset: charset ?? 'utf-8',
    transfer: transfer === undefined || /^(?:7bit|8bit|binary|)$/.test(transfer) ? undefined : transfer,
  };
}

/** Throws AppError `invalid_value` for bytes that are no text in their encoding: an image of garbage would be bought. */
function decoded(bytes: Buffer, charset: string, { name, cut }: { name: string; cut: boolean }): string {
  try {
    // A text that was cut may end inside a character, and is refused for its length.
    return new TextDecoder(charset, { fatal: !cut, ignoreBOM: true }).decode(bytes);
  } catch (cause) {
    const param = name.slice(0, 64);
    const known = charset.slice(0, 32).replace(/[^\w.:-]/g, '_');
    throw new AppError('invalid_value', `The text part ${param} is not valid ${known.toUpperCase()}.`, {
      param,
      cause,
    });
  }
}

/**
 * Emits every part, after Busboy has seen it. Busboy itself skips parts whose Content-Disposition is missing or
 * malformed, and has no event for them, so that only its inner parser knows of them.
 */
function allParts(busboy: BusboyInstance): EventEmitter {
  return (busboy as unknown as { _parser: { parser: EventEmitter } })._parser.parser;
}

function formTooLarge(maxBytes: number): AppError {
  return new AppError('request_too_large', `The form is larger than ${maxBytes} bytes.`);
}

function textsTooLong(): AppError {
  return new AppError('request_too_large', `The text fields of the form are longer than ${MAX_TEXTS_BYTES} bytes.`);
}

function tooManyParts(): AppError {
  return invalidMultipart('The form has too many parts.');
}

function encodedPart(name: string, encoding: string): AppError {
  const what = `The part ${name.slice(0, 64)} has the transfer encoding ${encoding.slice(0, 32)}; send it as it is.`;
  return invalidMultipart(what);
}

function invalidMultipart(message: string): AppError {
  return new AppError('invalid_multipart', message);
}
