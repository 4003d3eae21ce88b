/** Adds a warning for an option that the provider can't honor, if it was given. */
export function warnIgnored(name: string, value: string | undefined, warnings: string[]): undefined {
  if (value !== undefined && value !== 'auto')
    warnings.push(`The provider does not support ${name}, so it was ignored.`);
}

export const NO_PARTIALS = 'The provider sent no partial images.';
