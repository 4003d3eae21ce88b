import { send } from '../../api/request.ts';
import type { AcceptedTask, ImageOrder } from '../../api/types.ts';

const PARTIAL_IMAGES = 3;

/**
 * Orders images; with reference images it is an edit. The same key never creates a second task. Throws RequestError.
 */
export async function submit(
  order: ImageOrder,
  files: readonly File[],
  mask: Blob | null,
  idempotencyKey: string,
): Promise<AcceptedTask> {
  const { extra, ...named } = order;
  const fields = { ...extra, ...named };
  if (files.length === 0) {
    const body = { ...fields, partial_images: PARTIAL_IMAGES };
    return await send<AcceptedTask>('POST', '/images', body, idempotencyKey);
  }
  const form = new FormData();
  for (const [name, value] of Object.entries(fields)) form.append(name, String(value));
  form.append('stream', 'true');
  form.append('partial_images', String(PARTIAL_IMAGES));
  for (const file of files) form.append('image[]', file, file.name);
  if (mask !== null) form.append('mask', mask, 'mask.png');
  return await send<AcceptedTask>('POST', '/edits', form, idempotencyKey);
}
