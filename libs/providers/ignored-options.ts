import type { RequestedOptions } from '#contract/image-options.js';

/** Adds a warning for an option that the provider can't honor, if it was given. */
export function warnIgnored(name: string, value: string | undefined, warnings: string[]): undefined {
  if (value !== undefined && value !== 'auto')
    warnings.push(`The provider does not support ${name}, so it was ignored.`);
}

/** Adds warnings for the options that only OpenAI has. */
export function warnUnsupported(
  { complexity, frameCount, frameDurationMs }: Pick<RequestedOptions, 'complexity' | 'frameCount' | 'frameDurationMs'>,
  warnings: string[],
): void {
  warnIgnored('complexity', complexity, warnings);
  warnIgnored('frame_count', frameCount?.toString(), warnings);
  warnIgnored('frame_duration_ms', frameDurationMs?.toString(), warnings);
}

/** Adds warnings for the fields that only the model's entry knows, where they can't be sent on. */
export function warnExtra({ extra = {} }: Pick<RequestedOptions, 'extra'>, warnings: string[]): void {
  for (const [name, value] of Object.entries(extra)) warnIgnored(name, String(value), warnings);
}

export const NO_PARTIALS = 'The provider sent no partial images.';
