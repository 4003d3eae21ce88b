import { changesOf, type Step } from './step.js';

/** Re-encodes images with an orientation, because its tag is removed, and images with colors other than RGB or gray. */
export const upright: Step = {
  name: 'upright',
  run: (image) =>
    image.header.needsRotation || image.header.needsRgbConversion ? { ...image, changes: changesOf(image) } : image,
};
