import { markXmp } from '../provenance-mark.js';
import type { Provenance, Step } from './step.js';

/**
 * Decides what the file's metadata states about the image's origin, without touching a pixel:
 *
 * - A file that we encoded gets our mark.
 * - The provider's own file keeps its content credentials and XMP. If it has no other metadata, it does not change.
 * - Metadata that may be personal (EXIF, text, comments, previews, trailing bytes) is removed. XMP then stays, but
 *   credentials don't: they contain a digest of the file and would no longer be valid, so it gets our mark instead.
 * - A provider's file without either gets our mark.
 * - If the order has no mark, all metadata is removed.
 */
export const provenance: Step = {
  name: 'provenance',
  async run(image, { mark }) {
    const { file, header } = image;
    const done = (pieces: readonly Buffer[], found: Provenance) => ({ ...image, pieces, provenance: found });
    if (mark === undefined) return done(await file.image(), 'none');
    const hasProvenance = image.isOriginal && (file.hasCredentials || file.hasXmp);
    if (hasProvenance && !file.mustBeCleaned) return done([file.bytes], 'kept');
    if (hasProvenance && !file.hasCredentials) return done(await file.imageWithXmp(), 'kept');
    return done(file.marked(markXmp(mark), header), 'marked');
  },
};
