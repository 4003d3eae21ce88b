/**
 * `describe` for tests that need a program: where it is missing they are skipped, and the run says so in one line. In CI,
 * where nothing may be left out, it throws.
 */
export function describeWith(program: unknown, otherwise: string): typeof describe {
  return saidUnless(program, otherwise) ? describe : describe.skip;
}

/** Whether the program is there; says what is left out without it. */
export function saidUnless(program: unknown, otherwise: string): boolean {
  if (program !== undefined && program !== false) return true;
  if (process.env['CI'] === 'true') throw new Error(otherwise);
  process.stdout.write(`${otherwise}\n`);
  return false;
}
