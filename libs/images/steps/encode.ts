import { undecodable } from '../decode-check.js';
import { encodeAs } from '../encode.js';
import { openResult } from '../header.js';
import { withImageSlot } from '../sharp.js';
import { changesOf, type FinishOrder, type ImageInWork, type Step } from './step.js';

/** Encodes the changed image; an image that already matches the order keeps its file. */
export const encode: Step = {
  name: 'encode',
  async run(image, order) {
    if (image.changes === undefined && image.header.type === order.format) return image;
    const bytes = await write(image, order);
    return { ...image, ...(await openResult(bytes)), pieces: [bytes], changes: undefined, isOriginal: false };
  },
};

async function write(image: ImageInWork, order: FinishOrder): Promise<Buffer> {
  try {
    const { width, height } = image.header;
    return await withImageSlot(
      () => encodeAs(changesOf(image), order.format, order.compression).toBuffer(),
      width * height,
    );
  } catch (cause) {
    throw undecodable(cause);
  }
}
