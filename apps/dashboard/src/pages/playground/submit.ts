import { RequestError, send } from '../../api/request.ts';
import type { AcceptedTask, ImageOrder } from '../../api/types.ts';
import { inConsoleWords } from '../../parts/failure-words.ts';
import type { Overlay } from './overlay.ts';

const PARTIAL_IMAGES = 3;

/** A drawing is one document, which is whole or nothing. */
function partialsOf({ output_format: format }: ImageOrder): Record<string, number> {
  return format === 'svg' ? {} : { partial_images: PARTIAL_IMAGES };
}

/**
 * Orders images; with reference images it is an edit. The same key never creates a second task. Throws RequestError.
 */
export async function submit(
  order: ImageOrder,
  files: readonly File[],
  overlay: Overlay | null,
  idempotencyKey: string,
): Promise<AcceptedTask> {
  const { extra, ...named } = order;
  const fields = { ...extra, ...named };
  if (files.length === 0) {
    const body = { ...fields, ...partialsOf(order) };
    return await send<AcceptedTask>('POST', '/images', body, idempotencyKey);
  }
  const form = new FormData();
  const partials = partialsOf(order);
  if ('partial_images' in partials) form.append('stream', 'true');
  for (const [name, value] of Object.entries({ ...fields, ...partials })) form.append(name, String(value));
  for (const file of files) form.append('image[]', file, file.name);
  if (overlay !== null) form.append(overlay.kind, overlay.image, `${overlay.kind}.png`);
  try {
    return await send<AcceptedTask>('POST', '/edits', form, idempotencyKey);
  } catch (error) {
    if (error instanceof RequestError) error.message = inConsoleWords(error.message, error.param);
    throw error;
  }
}
