import { Busboy, type BusboyInstance } from '@fastify/busboy';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Transform, type Readable } from 'node:stream';
import { AppError } from '#contract/app-error.js';
import type { BodyHold } from './body-memory.js';
import { discardRest, turnsOf } from '../request-stream.js';

/** A text part of this many bytes holds any prompt that is not too long. */
const MAX_TEXT_BYTES = 262_144;
const MAX_TEXTS = 64;
/** All texts of a form together. */
const MAX_TEXTS_BYTES = 1_048_576;
const MAX_PARTS = 128;
/**
 * Bytes of one part that wait for its reader. Busboy never goes on when a part that it skips ends while it is fuller than
 * this, so it is more than a connection hands over at a time (64 KiB read and as much still waiting).
 */
const PART_BUFFER_BYTES = 262_144;
/** What a form may hold while it is read: a part that waits for its reader, and a text that is not whole. */
const FORM_BYTES = PART_BUFFER_BYTES + 2 * MAX_TEXT_BYTES;
/** The parser gets no smaller pieces, for each costs more than its bytes. */
const PIECE_BYTES = 16_384;
/** How long they are waited for, in ms. */
const GATHER_MS = 20;

/** What a part without a name is called, for those that tell which names they ignore. */
const UNNAMED = 'unnamed';

/** What a route makes of a form's parts, in the order in which they arrive. */
export interface FormParts<T> {
  /** Must read the stream to its end, or destroy it. */
  file(name: string, stream: Readable, fileName: string | undefined): void;
  /** `cut`: there was more of the value than any field may have. */
  text(name: string, value: string, cut: boolean): void;
  /** Ends the files that are being read; the form is refused. */
  abandon(error: Error): void;
  /** Resolves when no file is being read any more; never rejects. */
  settled(): Promise<void>;
  /** Asked once, when the form is whole. May throw AppError. */
  result(): T;
}

/** Where a form comes from. */
export interface FormSource {
  readonly payload: IncomingMessage;
  readonly maxBytes: number;
  /** What it takes of the memory for bodies. */
  readonly hold: BodyHold;
}

/**
 * Takes a multipart form apart while it arrives. `open` gets a function that refuses the form.
 * Throws what the form was refused with, AppError (invalid_multipart, request_too_large, server_is_overloaded), or the
 * connection's error; by then no part is being read any more, and the caller discards what it has stored.
 */
export async function readForm<T>(
  source: FormSource,
  open: (refuse: (error: Error) => void) => FormParts<T>,
): Promise<T> {
  try {
    source.hold.take(FORM_BYTES);
  } catch (error) {
    discardRest(source.payload);
    throw error;
  }
  try {
    return await readParts(source, open);
  } finally {
    source.hold.give();
  }
}

function readParts<T>(
  { payload, maxBytes, hold }: FormSource,
  open: (refuse: (error: Error) => void) => FormParts<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const parts = open(fail);
    const parser = openParser(payload.headers, fail);
    const pieces = gathered();
    const takeTurns = turnsOf(payload);
    let received = 0;
    let textBytes = 0;
    let over = false;

    function fail(error: Error): void {
      if (over) return;
      over = true;
      payload.unpipe(pieces);
      parts.abandon(error);
      discardRest(payload);
      // Files on their way to the store must have stopped before they can be discarded.
      void parts.settled().then(() => reject(error));
    }

    if (parser === undefined) return;
    // One piece of the body may hold many parts; those behind the one that was refused still come.
    // A file may come without a name, whatever the type says.
    parser.on('file', (name: string | undefined, stream, fileName) => {
      if (over) passBy(stream);
      else parts.file(name ?? UNNAMED, stream, fileName);
    });
    parser.on('field', (name, value, _nameCut, valueCut) => {
      textBytes += value.length;
      if (textBytes > MAX_TEXTS_BYTES) fail(textsTooLong());
      else
        refusing(() => {
          hold.take(value.length);
          parts.text(name, value, valueCut);
        });
    });
    for (const limit of ['partsLimit', 'filesLimit', 'fieldsLimit'] as const) {
      parser.on(limit, () => fail(invalidMultipart('The form has too many parts.')));
    }
    parser.on('error', () => fail(invalidMultipart('The multipart body is malformed or cut short.')));
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
      if (!payload.complete) fail(invalidMultipart('The multipart body was cut off.'));
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

/** Skips a file. A part that is cut short fails its stream, maybe before anyone reads it. */
export function passBy(stream: Readable): void {
  stream.on('error', () => undefined).resume();
}

/** Passes bytes on in pieces that are worth it, or as they are when no more come. */
function gathered(): Transform {
  let room = Buffer.alloc(0);
  let size = 0;
  let timer: NodeJS.Timeout | undefined;
  const pass = (): void => {
    clearTimeout(timer);
    timer = undefined;
    if (size > 0) pieces.push(room.subarray(0, size));
    // What was passed on belongs to its reader.
    size = 0;
  };
  const pieces = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (size + chunk.length > room.length) pass();
      if (chunk.length >= PIECE_BYTES) {
        pass();
        done(null, chunk);
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

function openParser(headers: IncomingHttpHeaders, fail: (error: Error) => void): BusboyInstance | undefined {
  try {
    return new Busboy({
      headers: { ...headers, 'content-type': headers['content-type'] ?? '' },
      fileHwm: PART_BUFFER_BYTES,
      limits: { fieldSize: MAX_TEXT_BYTES, fields: MAX_TEXTS, parts: MAX_PARTS, headerPairs: 32, headerSize: 16_384 },
      isPartAFile: (_name: string | undefined, type: string | undefined, fileName: string | undefined) =>
        fileName !== undefined || type === 'application/octet-stream' || (type ?? '').startsWith('image/'),
    });
  } catch {
    // Deferred, because `fail` looks at the parser that is being made.
    queueMicrotask(() => fail(invalidMultipart('The multipart body has no valid boundary.')));
    return undefined;
  }
}

function formTooLarge(maxBytes: number): AppError {
  return new AppError('request_too_large', `The form is larger than ${maxBytes} bytes.`);
}

function textsTooLong(): AppError {
  return new AppError('request_too_large', `The texts of the form are longer than ${MAX_TEXTS_BYTES} bytes.`);
}

function invalidMultipart(message: string): AppError {
  return new AppError('invalid_multipart', message);
}
