import { changesOf, type Step } from './step.js';

/** Puts white behind transparent pixels where transparency can't be stored or wasn't wanted. */
export const flatten: Step = {
  name: 'flatten',
  run(image, { format, background }) {
    if (!image.header.hasAlpha || (format !== 'jpeg' && background !== 'opaque')) return image;
    return { ...image, changes: changesOf(image).flatten({ background: 'white' }) };
  },
};
