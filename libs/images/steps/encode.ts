import { checkDecodes, undecodable } from '../decode-check.js';
import { encodeAs } from '../encode.js';
import { readHeader } from '../header.js';
import { inTurn } from '../sharp.js';
import { changesOf, type FinishOrder, type PictureInWork, type Step } from './step.js';

/** Writes the changed picture; one that is right already keeps its bytes after a decode to the last pixel. */
export const encode: Step = {
  name: 'encode',
  async run(picture, order) {
    if (picture.changes === undefined && picture.header.type === order.format) {
      await checkDecodes(picture.bytes, picture.header);
      return picture;
    }
    const bytes = await write(picture, order);
    return { bytes, header: await readHeader(bytes), changes: undefined };
  },
};

async function write(picture: PictureInWork, order: FinishOrder): Promise<Buffer> {
  try {
    const { width, height } = picture.header;
    return await inTurn(() => encodeAs(changesOf(picture), order.format, order.compression).toBuffer(), width * height);
  } catch (cause) {
    throw undecodable(cause);
  }
}
