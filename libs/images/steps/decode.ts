import { checkDecodes } from '../decode-check.js';
import { makeThumbnail, THUMBNAIL_EDGE } from '../thumbnail.js';
import type { Step } from './step.js';

/**
 * Decodes the provider's own file completely, once; creating the thumbnail does so too. A small image needs no
 * thumbnail, and a file that we encoded needs no check.
 */
export const decode: Step = {
  name: 'decode',
  async run(image, { thumbnail }) {
    const { file, header, isOriginal } = image;
    if (thumbnail && Math.max(header.width, header.height) > THUMBNAIL_EDGE) {
      return { ...image, thumbnail: await makeThumbnail(file.bytes, header) };
    }
    if (isOriginal) await checkDecodes(image);
    return image;
  },
};
