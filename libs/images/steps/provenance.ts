import { FileStructure } from '../file-structure.js';
import { markXmp } from '../provenance-mark.js';
import type { Provenance, Step } from './step.js';

/**
 * Decides what the file says about where the image comes from, without touching a pixel:
 *
 * - A file that we wrote is marked.
 * - The provider's own file keeps its content credentials and XMP. If that is all the metadata it has, nothing changes.
 * - What may be personal (EXIF, text, comments, previews, trailing bytes) is removed. XMP stays then; credentials don't,
 *   because they hold a digest of the file and would be found to be broken: then the file is marked instead.
 * - A file of the provider without either is marked.
 * - Without an order to mark, all of it is removed.
 */
export const provenance: Step = {
  name: 'provenance',
  async run(image, { mark }) {
    const { header } = image;
    const file = await FileStructure.of(image.bytes, header.type);
    const done = (bytes: Buffer, found: Provenance) => ({ ...image, bytes, provenance: found });
    if (mark === undefined) return done(await file.image(), 'none');
    const tells = image.isOriginal && (file.hasCredentials || file.hasXmp);
    if (tells && !file.mustBeCleaned) return done(image.bytes, 'kept');
    if (tells && !file.hasCredentials) return done(await file.imageWithXmp(), 'kept');
    return done(await file.marked(markXmp(mark), header), 'marked');
  },
};
