/** Reasons for the most common error codes. */
const REASONS: Readonly<Record<string, string>> = {
  approval_expired: 'Nobody approved it in time',
  approval_rejected: 'Not approved',
  end_user_blocked: 'End user blocked',
  failed_to_download_image: 'A reference image could not be downloaded',
  generation_timeout: 'Not finished in time',
  internal_error: 'Internal error',
  interrupted: 'Interrupted before the image was complete',
  invalid_image_file: 'The provider could not use one of the images',
  invalid_image_url: 'The URL of a reference image cannot be used',
  invalid_mask: 'The mask cannot be used',
  model_not_found: 'The model is not in the catalog',
  moderation_blocked: 'Blocked by moderation',
  server_is_overloaded: 'The service was overloaded',
  storage_error: 'The image could not be stored',
  unsupported_image_media_type: 'A reference image has an unsupported format',
  upstream_error: 'The provider failed',
  upstream_invalid_response: 'The provider returned no usable image',
};

/** The meaning of an error code: "Blocked by moderation". */
export function reasonOf(code: string): string {
  const words = code.replaceAll('_', ' ');
  return REASONS[code] ?? words.charAt(0).toUpperCase() + words.slice(1);
}

/** `image[2]` of the API is "Reference 3" to those who added it in the console; undefined for other parameters. */
function referenceOf(param: string | null | undefined): string | undefined {
  const match = /^image(?:\[(\d+)\])?$/.exec(param ?? '');
  return match === null ? undefined : `Reference ${Number(match[1] ?? 0) + 1}`;
}

/** An error message about a request field, in the console's words. */
export function inConsoleWords(message: string, param: string | null | undefined): string {
  const name = referenceOf(param);
  if (name === undefined || param === null || param === undefined) return message;
  return message.startsWith(param) ? `${name}${message.slice(param.length)}` : `${name}: ${message}`;
}
