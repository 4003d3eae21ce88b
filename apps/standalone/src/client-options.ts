import { SetupError } from '#embedded/setup-error.js';
import { DEFAULT_RESPONSE_FORMATS } from '#contract/image-request.js';
import type { ApiKeySettings } from '#accounts/api-keys.js';

/** What of a key suits the client that uses it. */
export type ClientSettings = Pick<ApiKeySettings, 'defaultResponseFormat' | 'allowPixelSize' | 'submitMode'>;

const text = { type: 'string' } as const;
export const CLIENT_OPTIONS = { 'response-format': text, 'pixel-sizes': text, 'submit-mode': text };
type Option = keyof typeof CLIENT_OPTIONS;

/** What was set; `default` takes a setting back to what is usual. Throws SetupError with a sentence. */
export function readClient(values: Readonly<Partial<Record<Option, string>>>): Partial<ClientSettings> {
  const { 'response-format': format, 'pixel-sizes': pixels, 'submit-mode': mode } = values;
  return {
    ...(format === undefined ? {} : { defaultResponseFormat: formatOf(format) }),
    ...(pixels === undefined ? {} : { allowPixelSize: yesOrNo(pixels) }),
    ...(mode === undefined ? {} : { submitMode: modeOf(mode) }),
  };
}

/** What was set, under the names that the console writes into the audit log. */
export function clientChanges(client: Partial<ClientSettings>): Record<string, unknown> {
  const { defaultResponseFormat, allowPixelSize, submitMode } = client;
  const changes = {
    default_response_format: defaultResponseFormat,
    allow_pixel_size: allowPixelSize,
    submit_mode: submitMode,
  };
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

/** `, answers url, no pixel sizes, submit mode apimart`, of what is not as usual. */
export function clientText({
  defaultResponseFormat: format,
  allowPixelSize: pixels,
  submitMode,
}: ClientSettings): string {
  return [
    ...(format === null ? [] : [`answers ${format}`]),
    ...(pixels === null ? [] : [pixels ? 'pixel sizes' : 'no pixel sizes']),
    ...(submitMode === 'sync' ? [] : [`submit mode ${submitMode}`]),
  ]
    .map((part) => `, ${part}`)
    .join('');
}

function formatOf(given: string): ClientSettings['defaultResponseFormat'] {
  const format = DEFAULT_RESPONSE_FORMATS.find((known) => known === given);
  if (format === undefined && given !== 'default') throw wrong('response-format', DEFAULT_RESPONSE_FORMATS);
  return format ?? null;
}

function yesOrNo(given: string): boolean | null {
  if (given === 'yes' || given === 'no') return given === 'yes';
  if (given === 'default') return null;
  throw wrong('pixel-sizes', ['yes', 'no']);
}

function modeOf(given: string): ClientSettings['submitMode'] {
  if (given === 'apimart') return given;
  if (given === 'sync' || given === 'default') return 'sync';
  throw wrong('submit-mode', ['sync', 'apimart']);
}

function wrong(option: Option, values: readonly string[]): SetupError {
  return new SetupError(`--${option} takes ${values.join(', ')} or default.`);
}
