/** Texts that spreadsheets take for formulas begin so. */
const FORMULA = /^[=+\-@\t\r]/;

/** Lines of comma-separated cells (RFC 4180). A text that would be a formula is shown, never run. */
export function csv(rows: readonly (readonly (string | number | null)[])[]): string {
  return rows.map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('');
}

function cellOf(value: string | number | null): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
