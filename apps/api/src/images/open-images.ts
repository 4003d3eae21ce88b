import type { Readable } from 'node:stream';
import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { AppError } from '#contract/app-error.js';
import type { ObjectStore, StoredObject } from '#storage/object-store.js';
import { OBJECT_STORE } from '#storage/storage.module.js';
import type { TaskImage, TaskSummary } from '#tasks/row/task.js';
import { pacedBody, type Passage, type Room } from '../common/paced-body.js';
import type { Accepted } from './accept-image.js';
import { DeliveryMarks } from './delivery-marks.js';

/** An image of a task, to be read once. */
export interface OpenedImage extends Pick<StoredObject, 'bytes' | 'read'> {
  /** Ends reading. */
  readonly close: () => void;
}

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
  async open({ id, images }: TaskSummary, accepted: Accepted, reply: FastifyReply): Promise<OpenedImage[]> {
    const [first, ...others] = images ?? [];
    if (first === undefined) return [];
    try {
      const { bytes, read, stream } = await this.openOne(id, first);
      const opened = { bytes, read, close: () => void stream.destroy() };
      return [opened, ...others.map((image) => this.openedWhenRead(id, image))];
    } catch (error) {
      await this.marks.markUndelivered(reply, accepted);
      throw error;
    }
  }

  private openedWhenRead(taskId: string, image: TaskImage): OpenedImage {
    let opened: Promise<StoredObject> | undefined;
    return {
      bytes: image.bytes,
      read: async (room) => {
        opened ??= this.openOne(taskId, image);
        return await (await opened).read(room);
      },
      close: () => {
        opened?.then(({ stream }) => stream.destroy()).catch(() => undefined);
      },
    };
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
/**
 * Bytes read at a time: whole groups of three, so that no padding appears in between. Each read wakes a thread, so they
 * are few.
 */
const READ_BYTES = 393_216;
/** Bytes encoded at a time: V8 keeps larger strings apart, and spends most of the time on that. */
const ENCODED_BYTES = 49_152;

/** Placeholder for each base64 string in the object passed to `base64Body`. */
export const BASE64_PLACE = PLACE;

/**
 * Streams `body` as JSON, with the bytes of `images` as base64 in place of each BASE64_PLACE, in order. Closes the images
 * when it ends, or its caller stops reading.
 */
export function base64Body(body: object, images: readonly OpenedImage[], passage: Passage): Base64Body {
  const texts = JSON.stringify(body)
    .split(PLACE)
    .map((text) => Buffer.from(text));
  const ofTexts = texts.reduce((sum, text) => sum + text.length, 0);
  const length = images.reduce((sum, { bytes }) => sum + base64Length(bytes), ofTexts);
  const stream = pacedBody({
    length,
    passage,
    make: (room) => allPieces(texts, images, room),
    close: () => {
      for (const image of images) image.close();
    },
  });
  return { stream, length };
}

async function* allPieces(
  texts: readonly Buffer[],
  images: readonly OpenedImage[],
  room: Room,
): AsyncGenerator<Buffer> {
  for (const [index, text] of texts.entries()) {
    yield text;
    const image = images[index];
    if (image !== undefined) yield* base64Pieces(image, room);
  }
}

/** An image as base64. Throws when it is shorter than it says. */
export async function* base64Pieces(image: Pick<OpenedImage, 'bytes' | 'read'>, room: Room): AsyncGenerator<Buffer> {
  const bytes = Buffer.allocUnsafeSlow(Math.min(READ_BYTES, image.bytes));
  for (let left = image.bytes; left > 0;) {
    const wanted = Math.min(left, bytes.length);
    const read = await image.read(bytes.subarray(0, wanted));
    if (read < wanted) throw new Error(`the image ends ${left - read} bytes before the end that its task names`);
    left -= read;
    const text = room(base64Length(read));
    for (let at = 0, end = 0; at < read; at += ENCODED_BYTES) {
      end += text.write(bytes.toString('base64', at, Math.min(at + ENCODED_BYTES, read)), end, 'latin1');
    }
    yield text;
  }
}

function base64Length(bytes: number): number {
  return 4 * Math.ceil(bytes / 3);
}
