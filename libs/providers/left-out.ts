/** Says that an option was left out, where one was given that the provider has no way to honor. */
export function leaveOut(name: string, value: string | undefined, warnings: string[]): undefined {
  if (value !== undefined && value !== 'auto') warnings.push(`The provider takes no ${name}, so it was left out.`);
}

export const NO_PARTIALS = 'The provider sent no partial images.';
