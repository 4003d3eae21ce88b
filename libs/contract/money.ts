const MICROS = 1_000_000;
const DECIMALS = 6;

/** Millionths as a decimal number of whole units, `0.040000`: a text, because sums of JSON numbers drift. */
export function decimalOf(micros: number): string {
  const [sign, size] = micros < 0 ? ['-', -micros] : ['', micros];
  return `${sign}${Math.floor(size / MICROS)}.${String(size % MICROS).padStart(DECIMALS, '0')}`;
}

/** Reads a decimal number of at most six places as millionths; undefined when it is none, or too large. */
export function microsOf(text: string): number | undefined {
  const match = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text);
  return match ? Number(match[1]) * MICROS + Number((match[2] ?? '').padEnd(DECIMALS, '0')) : undefined;
}
