import { changesOf, type Step } from './step.js';

/** Puts white behind transparent pixels for jpeg, which has no transparency, and for opaque backgrounds. */
export const flatten: Step = {
  name: 'flatten',
  run(image, { format, background }) {
    if (!image.header.hasAlpha || (format !== 'jpeg' && background !== 'opaque')) return image;
    return { ...image, changes: changesOf(image).flatten({ background: 'white' }) };
  },
};
