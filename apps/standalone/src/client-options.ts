import { Option } from 'commander';
import { DEFAULT_RESPONSE_FORMATS } from '#contract/accepted-values.js';
import type { ApiKeySettings } from '#accounts/api-keys.js';

/** What of a key suits the client that uses it. */
export type ClientSettings = Pick<ApiKeySettings, 'defaultResponseFormat' | 'allowPixelSize' | 'submitMode'>;

/** Values of the options; undefined was not given. */
export interface ClientOptions {
  readonly responseFormat?: (typeof DEFAULT_RESPONSE_FORMATS)[number] | 'default' | undefined;
  readonly pixelSizes?: 'yes' | 'no' | 'default';
  readonly submitMode?: ClientSettings['submitMode'] | 'default';
}

/** The one of them that an account has too, for its keys without one. */
export function responseFormatOption(): Option {
  return new Option('--response-format <format>', 'default for calls without response_format').choices([
    ...DEFAULT_RESPONSE_FORMATS,
    'default',
  ]);
}

/** Options that set what suits a client; `default` is as the deployment says. */
export function clientOptions(): Option[] {
  return [
    responseFormatOption(),
    new Option('--pixel-sizes <yes or no>', 'whether generations take sizes such as 1024x1024').choices([
      'yes',
      'no',
      'default',
    ]),
    new Option(
      '--submit-mode <mode>',
      'whether generations are answered with the image, or at once with a task',
    ).choices(['sync', 'apimart', 'default']),
  ];
}

/** What was set. */
export function clientSettings({ responseFormat, pixelSizes, submitMode }: ClientOptions): Partial<ClientSettings> {
  return {
    ...(responseFormat === undefined
      ? {}
      : { defaultResponseFormat: responseFormat === 'default' ? null : responseFormat }),
    ...(pixelSizes === undefined ? {} : { allowPixelSize: pixelSizes === 'default' ? null : pixelSizes === 'yes' }),
    ...(submitMode === undefined ? {} : { submitMode: submitMode === 'default' ? 'sync' : submitMode }),
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
