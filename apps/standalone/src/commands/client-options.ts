import { Option } from 'commander';
import { DEFAULT_RESPONSE_FORMATS } from '#contract/accepted-values.js';
import { SUBMIT_MODES, type ApiKeySettings } from '#accounts/api-keys.js';

/** Key settings for compatibility with its client. */
export type ClientSettings = Pick<ApiKeySettings, 'defaultResponseFormat' | 'allowPixelSize' | 'submitMode'>;

/** Values of the options; undefined = not given. */
export interface ClientOptions {
  readonly responseFormat?: (typeof DEFAULT_RESPONSE_FORMATS)[number] | 'default' | undefined;
  readonly pixelSizes?: 'yes' | 'no' | 'default';
  readonly submitMode?: ClientSettings['submitMode'] | 'default';
}

/** The only one of these options that an account has too, as the default for its keys. */
export function responseFormatOption(): Option {
  return new Option('--response-format <format>', 'default for calls without response_format').choices([
    ...DEFAULT_RESPONSE_FORMATS,
    'default',
  ]);
}

/** Client compatibility options; `default` means the deployment's default. */
export function clientOptions(): Option[] {
  return [
    responseFormatOption(),
    new Option('--pixel-sizes <yes or no>', 'whether generations take sizes such as 1024x1024').choices([
      'yes',
      'no',
      'default',
    ]),
    new Option('--submit-mode <mode>', 'whether generations return the image, or a task immediately').choices([
      ...SUBMIT_MODES,
      'default',
    ]),
  ];
}

/** The settings that were given. */
export function clientSettings({ responseFormat, pixelSizes, submitMode }: ClientOptions): Partial<ClientSettings> {
  return {
    ...(responseFormat === undefined
      ? {}
      : { defaultResponseFormat: responseFormat === 'default' ? null : responseFormat }),
    ...(pixelSizes === undefined ? {} : { allowPixelSize: pixelSizes === 'default' ? null : pixelSizes === 'yes' }),
    ...(submitMode === undefined ? {} : { submitMode: submitMode === 'default' ? 'sync' : submitMode }),
  };
}

/** The given settings, named as in the console's audit log. */
export function clientChanges(client: Partial<ClientSettings>): Record<string, unknown> {
  const { defaultResponseFormat, allowPixelSize, submitMode } = client;
  const changes = {
    default_response_format: defaultResponseFormat,
    allow_pixel_size: allowPixelSize,
    submit_mode: submitMode,
  };
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

/** `, answers url, no pixel sizes, submit mode apimart`; only values that differ from the defaults. */
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
