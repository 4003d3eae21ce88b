/** Error codes that the bytes of an image can cause. */
export type ImageErrorCode =
  | 'invalid_image_file'
  | 'unsupported_image_media_type'
  | 'image_too_large'
  | 'image_too_small'
  | 'image_file_too_large'
  | 'invalid_mask'
  | 'upstream_invalid_response';

/** Bytes that are not an acceptable image. The message is safe to show to callers. */
export class ImageError extends Error {
  override readonly name = 'ImageError';

  constructor(
    readonly code: ImageErrorCode,
    message: string,
    cause?: unknown,
  ) {
    super(message, { cause });
  }
}
