import { StreamableFile } from '@nestjs/common';

type Rows = readonly (readonly (string | number | null)[])[];

/**
 * Spreadsheets treat text that starts like this as a formula, some of them also in full width, or after spaces, line
 * breaks and invisible characters, which they remove.
 */
const FORMULA = /^[\s\p{C}]*[=+\-@＝＋－＠﹢﹣﹦﹫−]|^[\t\r\n]/u;

/** Rows as a download. Not with @Header, because an error must not be saved under the file's name. */
export function csvFile(name: string, rows: Rows): StreamableFile {
  const options = { type: 'text/csv; charset=utf-8', disposition: `attachment; filename="${name}"` };
  return new StreamableFile(Buffer.from(csv(rows)), options);
}

/** Comma-separated lines (RFC 4180). Text that looks like a formula is escaped, so that it is shown and never run. */
export function csv(rows: Rows): string {
  return rows.map((cells) => `${cells.map(cellOf).join(',')}\r\n`).join('');
}

function cellOf(value: string | number | null): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = FORMULA.test(value) ? `'${value}` : value;
  return /[",\r\n\t]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
