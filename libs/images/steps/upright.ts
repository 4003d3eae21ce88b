import { changesOf, type Step } from './step.js';

/** Turns the pixels the way the file says they are seen, since that note is dropped. */
export const upright: Step = {
  name: 'upright',
  run: (image) =>
    image.header.isTurned || image.header.isForeignColor ? { ...image, changes: changesOf(image) } : image,
};
