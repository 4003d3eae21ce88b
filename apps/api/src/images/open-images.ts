import { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AppError } from '#contract/app-error.js';
import type { ObjectStore, StoredObject } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import type { TaskImage, TaskSummary } from '#tasks/row/task.js';
import type { Accepted } from './accept-image.js';
import { DeliveryMarks } from './delivery-marks.js';

/** Opens a finished task's images for the caller that waited for it. */
@Injectable()
export class OpenImages {
  constructor(
    @Inject(OBJECT_STORE) private readonly store: ObjectStore,
    private readonly marks: DeliveryMarks,
  ) {}

  /**
   * Opens the first image now, and the others when they are read, in the middle of the response. Throws AppError
   * `storage_error`; an equal request may then get the task, so that an image that briefly can't be read is not bought
   * again.
   */
  async open({ id, images }: TaskSummary, accepted: Accepted, reply: FastifyReply): Promise<StoredObject[]> {
    const [first, ...others] = images ?? [];
    if (first === undefined) return [];
    try {
      const opened = await this.openOne(id, first);
      return [opened, ...others.map((image) => ({ bytes: image.bytes, stream: this.openedWhenRead(id, image) }))];
    } catch (error) {
      await this.marks.markUndelivered(reply, accepted);
      throw error;
    }
  }

  private openedWhenRead(taskId: string, image: TaskImage): Readable {
    const bytes = async function* (this: OpenImages): AsyncGenerator<Buffer> {
      const { stream } = await this.openOne(taskId, image);
      yield* stream as AsyncIterable<Buffer>;
    };
    return Readable.from(bytes.call(this), { objectMode: false });
  }

  private async openOne(taskId: string, image: TaskImage): Promise<StoredObject> {
    return this.store.open(image.key).catch((cause: unknown) => {
      throw new AppError('storage_error', 'The image cannot be read right now. Poll the task for a link.', {
        taskId,
        cause,
      });
    });
  }
}

/** A JSON text with long base64 strings that are never in memory as a whole. */
export interface Base64Body {
  readonly stream: Readable;
  /** Exact length in bytes. */
  readonly length: number;
}

const PLACE = '@@image@@';

/** Placeholder for each base64 string in the object passed to `base64Body`. */
export const BASE64_PLACE = PLACE;

/** Streams `body` as JSON, with the bytes of `images` as base64 in place of each BASE64_PLACE, in order. */
export function base64Body(body: object, ...images: readonly { stream: Readable; bytes: number }[]): Base64Body {
  const texts = JSON.stringify(body).split(PLACE);
  const ofTexts = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
  const length = images.reduce((sum, { bytes }) => sum + 4 * Math.ceil(bytes / 3), ofTexts);
  const streams = images.map((image) => image.stream);
  const stream = Readable.from(allPieces(texts, streams), { objectMode: false });
  // A store error before the first read is reported by that read; without a listener it would end the process.
  for (const image of streams) image.on('error', () => undefined);
  // When the caller stops reading, stops reading from the store too.
  stream.once('close', () => {
    for (const image of streams) image.destroy();
  });
  return { stream, length };
}

async function* allPieces([head = '', ...texts]: string[], images: readonly Readable[]): AsyncGenerator<Buffer> {
  yield Buffer.from(head);
  for (const [index, image] of images.entries()) yield* pieces(image, texts[index] ?? '');
}

/** Encodes each chunk but the last in multiples of three bytes, so that no padding appears in between. */
async function* pieces(image: AsyncIterable<Buffer>, tail: string): AsyncGenerator<Buffer> {
  let rest: Buffer = Buffer.alloc(0);
  for await (const chunk of image) {
    const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
    const whole = bytes.length - (bytes.length % 3);
    if (whole > 0) yield Buffer.from(bytes.toString('base64', 0, whole), 'latin1');
    rest = Buffer.from(bytes.subarray(whole));
  }
  yield Buffer.from(rest.toString('base64') + tail);
}
