import { changesOf, type Step } from './step.js';

/** Resizes the image to exactly the target's pixels: scaled to cover, cropped at the edges, Lanczos. */
export const fit: Step = {
  name: 'fit',
  run(image, { target }) {
    const { width, height } = image.header;
    if (target === undefined || (target.width === width && target.height === height)) return image;
    const changes = changesOf(image).resize(target.width, target.height, {
      fit: 'cover',
      position: 'center',
      kernel: 'lanczos3',
    });
    return { ...image, changes };
  },
};
