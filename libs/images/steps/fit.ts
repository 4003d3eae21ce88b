import { changesOf, type Step } from './step.js';

/** Brings the picture to exactly the target's pixels: scaled to cover, cut at the edges, Lanczos. */
export const fit: Step = {
  name: 'fit',
  run(picture, { target }) {
    const { width, height } = picture.header;
    if (target === undefined || (target.width === width && target.height === height)) return picture;
    const changes = changesOf(picture).resize(target.width, target.height, {
      fit: 'cover',
      position: 'centre',
      kernel: 'lanczos3',
    });
    return { ...picture, changes };
  },
};
