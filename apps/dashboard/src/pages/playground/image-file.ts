import type { TaskDetail } from '../../api/types.ts';
import type { Draft } from './draft.ts';

/**
 * Downloads a stored image as a file to send with an order, named by its media type; rejects when it is no longer
 * stored.
 */
async function imageFile(url: string, nameOf: (type: string) => string): Promise<File> {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`The image could not be loaded (HTTP ${response.status}).`);
  const bytes = await response.blob();
  return new File([bytes], nameOf(bytes.type), { type: bytes.type });
}

/** Types of reference images. */
const TYPES = ['image/png', 'image/jpeg', 'image/webp'];

/** Whether an image of a task can become a reference: not one from another origin, or of an unsupported type. */
export function canBeReference(task: TaskDetail, index: number): boolean {
  const image = task.images[index];
  return image !== undefined && image.url.startsWith('/') && TYPES.includes(image.content_type);
}

/** An image of a task; rejects when it is no longer stored. */
export async function fileOf(task: TaskDetail, index: number): Promise<File> {
  const image = task.images[index];
  if (image === undefined) throw new Error('There is no such image.');
  return await imageFile(image.url, () => image.file_name);
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
