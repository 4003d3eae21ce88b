import { appendFileSync } from 'node:fs';

/** Says how long something took, and keeps it for `--record`, which writes docs/failure.md. */
export function measured(row: string, what: string, milliseconds: number): void {
  const file = process.env['TEST_FAULT_FIGURES'];
  const line = { row, what, milliseconds: Math.round(milliseconds) };
  process.stdout.write(`measured: ${row}: ${what}: ${(milliseconds / 1_000).toFixed(2)} s\n`);
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(line)}\n`);
}
