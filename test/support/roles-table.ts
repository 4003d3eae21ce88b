import { ABILITIES, ROLES } from '#accounts/person-rules.js';

/** The table of docs/operations.md with the permissions of each role. */
export function rolesTable(): string {
  const rows = Object.values(ABILITIES).map(({ what, roles }) => [
    what,
    ...ROLES.map((role) => ((roles as readonly string[]).includes(role) ? '✓' : '')),
  ]);
  const table = [['', ...ROLES], ...rows];
  const widths = ['', ...ROLES].map((_, column) => Math.max(3, ...table.map((row) => row[column]!.length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(' | ')} |`;
  const [head = [], ...others] = table;
  return [line(head), `| ${widths.map((width) => '-'.repeat(width)).join(' | ')} |`, ...others.map(line)].join('\n');
}
