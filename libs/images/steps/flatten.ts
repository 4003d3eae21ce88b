import { changesOf, type Step } from './step.js';

/** Puts white behind transparent pixels where transparency can't be stored or wasn't wanted. */
export const flatten: Step = {
  name: 'flatten',
  run(picture, { format, background }) {
    if (!picture.header.hasAlpha || (format !== 'jpeg' && background !== 'opaque')) return picture;
    return { ...picture, changes: changesOf(picture).flatten({ background: 'white' }) };
  },
};
