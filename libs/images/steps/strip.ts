import { stripMetadata } from '../strip-metadata.js';
import type { Step } from './step.js';

/** Drops metadata and trailing bytes without touching a pixel. */
export const strip: Step = {
  name: 'strip',
  run: async (image) => ({ ...image, bytes: await stripMetadata(image.bytes, image.header.type) }),
};
