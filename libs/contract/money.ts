const MICROS = 1_000_000;
const DECIMALS = 6;

/**
 * Converts millionths to a decimal number of units, `0.040000`. A string, because sums of JSON numbers lose precision.
 */
export function decimalOf(micros: number): string {
  const [sign, size] = micros < 0 ? ['-', -micros] : ['', micros];
  return `${sign}${Math.floor(size / MICROS)}.${String(size % MICROS).padStart(DECIMALS, '0')}`;
}

/** Parses a decimal number with at most six places as millionths; undefined if it is not one or is too large. */
export function microsOf(text: string): number | undefined {
  const match = /^(\d{1,9})(?:\.(\d{1,6}))?$/.exec(text);
  return match ? Number(match[1]) * MICROS + Number((match[2] ?? '').padEnd(DECIMALS, '0')) : undefined;
}

/** "$0.04": an amount for people, on every page and in every alert; with two decimals, or more if it has more. */
export function amountIn(amount: string | number, currency: string): string {
  return new Intl.NumberFormat('en', {
    style: 'currency',
    currency,
    minimumFractionDigits: 2,
    maximumFractionDigits: DECIMALS,
  }).format(Number(amount));
}
