import { send } from '../../api/request.ts';
import type { AcceptedTask, ImageOrder } from '../../api/types.ts';
import type { Overlay } from './overlay.ts';

const PARTIAL_IMAGES = 3;

/**
 * Orders images; with reference images it is an edit. The same key never creates a second task. Throws RequestError.
 */
export async function submit(
  order: ImageOrder,
  files: readonly File[],
  overlay: Overlay | null,
  idempotencyKey: string,
): Promise<AcceptedTask> {
  if (files.length === 0) {
    const body = { ...order, partial_images: PARTIAL_IMAGES };
    return await send<AcceptedTask>('POST', '/images', body, idempotencyKey);
  }
  const form = new FormData();
  for (const [name, value] of Object.entries(order)) form.append(name, String(value));
  form.append('stream', 'true');
  form.append('partial_images', String(PARTIAL_IMAGES));
  for (const file of files) form.append('image[]', file, file.name);
  if (overlay !== null) form.append(overlay.kind, overlay.image, `${overlay.kind}.png`);
  return await send<AcceptedTask>('POST', '/edits', form, idempotencyKey);
}
