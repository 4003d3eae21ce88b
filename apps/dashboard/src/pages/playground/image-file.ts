import type { TaskDetail } from '../../api/types.ts';
import type { Draft } from './draft.ts';

/**
 * Downloads a stored image as a file to send with an order, named by its media type; rejects when it is no longer
 * stored.
 */
export async function imageFile(url: string, nameOf: (type: string) => string): Promise<File> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The image could not be loaded (HTTP ${response.status}).`);
  const bytes = await response.blob();
  return new File([bytes], nameOf(bytes.type), { type: bytes.type });
}

/** The input images of a task; rejects unless all of them are still stored. */
export async function inputsOf(task: TaskDetail): Promise<Pick<Draft, 'files' | 'overlay'>> {
  const { reference_images: images, mask, markup } = task;
  const load = async (url: string | null, name: string): Promise<File> => {
    if (url === null) throw new Error('The image is not stored.');
    return await imageFile(url, (type) => `${name}.${type.split('/')[1] ?? 'png'}`);
  };
  const files = await Promise.all(images.map(({ url }, index) => load(url, `image-${index + 1}`)));
  const kind = markup === null ? 'mask' : 'markup';
  const over = markup ?? mask;
  return { files, overlay: over === null ? null : { kind, image: await load(over.url, kind) } };
}
