import { appendFileSync } from 'node:fs';

/** Logs how long something took, and saves it for `--record`, which writes docs/failure.md. */
export function measured(row: string, what: string, milliseconds: number): void {
  keep(`${row}: ${what}: ${(milliseconds / 1_000).toFixed(2)} s`, {
    row,
    what,
    milliseconds: Math.round(milliseconds),
  });
}

/** The same for other figures. */
export function counted(row: string, what: string, value: string): void {
  keep(`${row}: ${what}: ${value}`, { row, what, value });
}

function keep(line: string, figure: object): void {
  process.stdout.write(`measured: ${line}\n`);
  const file = process.env['TEST_FAULT_FIGURES'];
  if (file !== undefined) appendFileSync(file, `${JSON.stringify(figure)}\n`);
}
