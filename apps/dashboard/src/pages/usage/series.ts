import type { Usage, UsageRow } from '../../api/types.ts';

/** Without greens and reds, which stand for success and failure. Each has enough contrast in light and dark. */
const COLORS = [
  ...['safelight.6', 'indigo.5', 'cyan.7', 'grape.5', 'yellow.7', 'pink.6', 'blue.4', 'violet.7', 'orange.4', 'dark.2'],
] as const;
const OTHERS_COLOR = 'gray.6';
/** Maximum series of a chart; more are hard to tell apart. */
const MOST = 8;
const NO_PROVIDER = 'No provider';

/** A series of a chart: a group, or all groups after the largest ones. */
export interface Series {
  /** Key in the chart's data. Not the group's name, because recharts takes a dot in it for a path. */
  readonly id: string;
  readonly label: string;
  readonly color: string;
  /** Undefined: several groups together. */
  readonly group: string | null | undefined;
  has(row: UsageRow): boolean;
}

/** The label of the group null. */
export function noGroupOf(by: string): string {
  return by === 'end_user' ? 'All others' : NO_PROVIDER;
}

/** The largest groups, and the rest as one series. A group keeps its color, whatever is shown next to it. */
export function seriesOf(groups: Usage['groups'], names: readonly string[], noGroup = NO_PROVIDER): Series[] {
  const size = ({ images, chats, failed }: Usage['groups'][number]) => images + chats + failed;
  const largest = [...groups].sort((one, other) => size(other) - size(one)).slice(0, MOST);
  const shown = new Set(largest.map(({ group }) => group));
  const series = groups
    .filter(({ group }) => shown.has(group))
    .map(({ group }, index): Series => ({
      id: `g${index}`,
      label: group ?? noGroup,
      color: colorOf(group, names),
      group,
      has: (row) => row.group === group,
    }));
  const others = groups.length - shown.size;
  if (others === 0) return series;
  const label = others === 1 ? '1 other' : `${others} others`;
  const rest = { id: 'others', label, color: OTHERS_COLOR, group: undefined };
  return [...series, { ...rest, has: (row) => !shown.has(row.group) }];
}

/** By the position among all names; by a hash of the name if it is no longer listed. */
export function colorOf(group: string | null, names: readonly string[]): string {
  if (group === null) return OTHERS_COLOR;
  const place = names.indexOf(group);
  const letters = [...group].reduce((sum, letter) => sum * 31 + (letter.codePointAt(0) ?? 0), 7);
  return COLORS[(place === -1 ? letters : place) % COLORS.length] ?? OTHERS_COLOR;
}
