import { Injectable } from '@nestjs/common';
import { randomUUID } from 'node:crypto';
import { buffer } from 'node:stream/consumers';
import type { Readable } from 'node:stream';
import type { FastifyReply } from 'fastify';
import type { LineOutcome, PlacedImage } from '#batches/batch.js';
import { uploadKey } from '#storage/object-key.js';
import { ObjectNotFound } from '#storage/object-store.js';
import type { StoredFile } from '#uploads/upload.repository.js';
import { pacedBody, type Room } from '../common/paced-body.js';
import { LinkReads, type SeriesOfReads } from '../files/link-reads.js';
import { base64Pieces } from '../images/open-images.js';
import { rawLines } from './raw-lines.js';

/** Bytes of the file that are read at a time. The connection is free for images in between. */
const PAGE_BYTES = 262_144;
/** Lines without images are sent together, up to so many bytes. */
const SENT_BYTES = 65_536;

/** A line as `write-results` wrote it. */
type StoredLine = LineOutcome & { readonly [more: string]: unknown };

/**
 * Sends a file of results, with the images of its lines as base64 in their places. They are read from the store for each
 * download and never as a whole, so neither memory nor the store holds them twice, and a deleted image is gone from here
 * as well: its `b64_json` is null.
 */
@Injectable()
export class DownloadResults {
  constructor(private readonly reads: LinkReads) {}

  /** Throws ObjectNotFound, StorageError, or AppError like LinkReads. */
  async open({ id, bytes }: Pick<StoredFile, 'id' | 'bytes'>, reply: FastifyReply): Promise<Readable> {
    const reading = await this.reads.series(reply);
    try {
      const pages = pagesOf(reading, uploadKey(id), bytes);
      // Read now, so that a missing file is an error and no response that breaks off.
      const first = await pages.next();
      const make = (room: Room): AsyncGenerator<Buffer> => withImages(allOf(first, pages), reading, room);
      return pacedBody({ passage: reply.raw, make, close: reading.leave });
    } catch (error) {
      reading.leave();
      throw error;
    }
  }
}

async function* pagesOf(reading: SeriesOfReads, key: string, bytes: number): AsyncGenerator<Buffer, void> {
  for (let at = 0; at < bytes; at += PAGE_BYTES) {
    const range = { first: at, last: Math.min(at + PAGE_BYTES, bytes) - 1 };
    const { stream, part } = await reading.open(key, range);
    if (part?.first !== at) throw new Error('the store did not send the range of the file');
    yield await buffer(stream);
  }
}

async function* allOf<T>(first: IteratorResult<T, void>, rest: AsyncGenerator<T, void>): AsyncGenerator<T> {
  if (first.done === true) return;
  yield first.value;
  yield* rest;
}

async function* withImages(pages: AsyncIterable<Buffer>, reading: SeriesOfReads, room: Room): AsyncGenerator<Buffer> {
  let ready: Buffer[] = [];
  let bytes = 0;
  for await (const { text = Buffer.alloc(0) } of rawLines(pages, Infinity)) {
    const line = JSON.parse(text.toString()) as StoredLine;
    if (line.images === undefined) {
      ready.push(text, NEWLINE);
      bytes += text.length + 1;
      if (bytes < SENT_BYTES) continue;
    }
    if (bytes > 0) yield Buffer.concat(ready);
    ready = [];
    bytes = 0;
    if (line.images !== undefined) yield* lineWithImages(line, line.images, reading, room);
  }
  if (bytes > 0) yield Buffer.concat(ready);
}

const NEWLINE = Buffer.from('\n');

async function* lineWithImages(
  { images: _, ...line }: StoredLine,
  images: readonly PlacedImage[],
  reading: SeriesOfReads,
  room: Room,
): AsyncGenerator<Buffer> {
  const [start = '', ...texts] = textsAround(line);
  yield Buffer.from(start);
  for (const [index, image] of images.entries()) {
    yield* valueOf(image, reading, room);
    yield Buffer.from(texts[index] ?? '');
  }
  yield NEWLINE;
}

/** The texts before, between and after the images of a line. */
function textsAround(line: StoredLine): string[] {
  const { response } = line;
  if (response === null || typeof response.body === 'string') return [JSON.stringify(line)];
  const place = randomUUID();
  const { data } = response.body as { readonly data: readonly object[] };
  const body = { ...response.body, data: data.map((item) => ({ ...item, b64_json: place })) };
  return JSON.stringify({ ...line, response: { ...response, body } }).split(`"${place}"`);
}

async function* valueOf({ key, bytes }: PlacedImage, reading: SeriesOfReads, room: Room): AsyncGenerator<Buffer> {
  const stored = await reading.open(key).catch((error: unknown) => {
    if (!(error instanceof ObjectNotFound)) throw error;
  });
  if (stored === undefined) {
    yield Buffer.from('null');
    return;
  }
  yield QUOTE;
  yield* base64Pieces({ bytes, read: stored.read }, room);
  stored.stream.destroy();
  yield QUOTE;
}

const QUOTE = Buffer.from('"');
