import { checkDecodes } from '../decode-check.js';
import type { Step } from './step.js';

/** Decodes the provider's own file completely, once; a file that we encoded needs no check. */
export const decode: Step = {
  name: 'decode',
  async run(image) {
    if (image.isOriginal) await checkDecodes(image);
    return image;
  },
};
