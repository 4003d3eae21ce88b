import { Group, SegmentedControl, Select, Text, TextInput, useMatches } from '@mantine/core';
import { useId } from '@mantine/hooks';
import { useNavigate } from '@tanstack/react-router';
import type { Usage } from '../../api/types.ts';
import { SearchField } from '../../parts/search-field.tsx';
import { daysBetween, lastDays, utcDay, type TimeSpan } from '../../parts/time-span.ts';

/** Filters of the page; kept in the URL, so that it can be shared. */
export interface UsageFilters {
  /** The last N days; or `from` and `to`, the first and the last day. */
  readonly days?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly group?: string | undefined;
  readonly model?: string | undefined;
  /** Name of a key. */
  readonly key?: string | undefined;
  readonly provider?: string | undefined;
  /** Identifier of an end user; only if grouped by end user, as `tag` if by tag. */
  readonly end_user?: string | undefined;
  readonly tag?: string | undefined;
}

const SPANS = [
  { value: '1', label: '24 hours' },
  { value: '7', label: '7 days' },
  { value: '30', label: '30 days' },
  { value: '90', label: '90 days' },
  { value: '365', label: '1 year' },
];
const GROUPS = [
  { value: 'model', label: 'Model' },
  { value: 'key', label: 'Key' },
  { value: 'provider', label: 'Provider' },
  { value: 'end_user', label: 'End user' },
  { value: 'tag', label: 'Tag' },
] as const;
export type UsageGroup = (typeof GROUPS)[number]['value'];
const USUAL_DAYS = '7';

/** The selected time span; the default if the URL has no valid one. End users and tags have whole days alone. */
export function spanOf({ days, from, to, group }: UsageFilters, now: number): TimeSpan {
  const chosen = from !== undefined && to !== undefined ? daysBetween(from, to) : undefined;
  const span = chosen ?? lastDays(Number(presetOf(days, group)), now);
  return isLabel(groupOf({ group })) ? { ...span, by: 'day' } : span;
}

/** Whether usage is grouped by end user or by tag, which has neither hours nor other filters. */
export function isLabel(group: UsageGroup): group is 'end_user' | 'tag' {
  return group === 'end_user' || group === 'tag';
}

function spansOf(group: string | undefined) {
  return isLabel(groupOf({ group })) ? SPANS.filter(({ value }) => value !== '1') : SPANS;
}

export function groupOf({ group }: UsageFilters): UsageGroup {
  return GROUPS.find(({ value }) => value === group)?.value ?? 'model';
}

function presetOf(days: string | undefined, group: string | undefined): string {
  return spansOf(group).some(({ value }) => value === days) ? (days ?? USUAL_DAYS) : USUAL_DAYS;
}

interface FilterBarProps {
  readonly filters: UsageFilters;
  readonly span: TimeSpan;
  /** The values to choose from, once loaded. */
  readonly names: Usage['names'] | undefined;
}

export function UsageFilterBar({ filters, span, names }: FilterBarProps) {
  const navigate = useNavigate();
  const size = useMatches({ base: 'xs', sm: 'sm' });
  const groupLabel = useId();
  const change = (changes: UsageFilters) => {
    void navigate({ to: '/usage', search: { ...filters, ...changes }, replace: true });
  };
  const isOwn = filters.from !== undefined && filters.to !== undefined;
  const first = utcDay(span.from);
  const last = utcDay(span.to - 1);
  const day = (field: 'from' | 'to', label: string, value: string) => (
    <TextInput
      type="date"
      aria-label={label}
      flex={{ base: 1, sm: '0 0 150px' }}
      max={utcDay(Date.now())}
      value={value}
      onChange={({ currentTarget: { value: chosen } }) => {
        if (chosen === '') return;
        const days = { from: first, to: last, [field]: chosen };
        // Moving one end past the other selects that day.
        change({ ...(days.from <= days.to ? days : { from: chosen, to: chosen }), days: undefined });
      }}
    />
  );
  return (
    <Group gap="sm">
      <SegmentedControl
        aria-label="Time range"
        size={size}
        w={{ base: '100%', sm: 'auto' }}
        data={spansOf(filters.group)}
        // No preset while two days are selected.
        value={isOwn ? '' : presetOf(filters.days, filters.group)}
        onChange={(days) => change({ days, from: undefined, to: undefined })}
      />
      <Group gap={6} wrap="nowrap" w={{ base: '100%', sm: 'auto' }}>
        {day('from', 'First day', first)}
        <span aria-hidden>–</span>
        {day('to', 'Last day', last)}
      </Group>
      <Group gap="xs" wrap="nowrap" w={{ base: '100%', sm: 'auto' }}>
        <Text size="sm" c="dimmed" id={groupLabel} className="nowrap">
          Group by
        </Text>
        <SegmentedControl
          aria-labelledby={groupLabel}
          size={size}
          flex={{ base: 1, sm: 'none' }}
          data={[...GROUPS]}
          value={groupOf(filters)}
          onChange={(group) => change({ group })}
        />
      </Group>
      <GroupFilters filters={filters} names={names} onChange={change} />
    </Group>
  );
}

interface GroupFiltersProps extends Pick<FilterBarProps, 'filters' | 'names'> {
  readonly onChange: (changes: UsageFilters) => void;
}

/** One end user or tag, if grouped by them; otherwise any model, key and provider. */
function GroupFilters({ filters, names, onChange: change }: GroupFiltersProps) {
  const group = groupOf(filters);
  if (group === 'end_user') {
    return (
      <SearchField
        key={group}
        narrow
        label="End user"
        placeholder="Any end user"
        text={filters.end_user}
        onChange={(user) => change({ end_user: user })}
      />
    );
  }
  if (group === 'tag') {
    return (
      <SearchField
        key={group}
        narrow
        label="Tag"
        placeholder="Any tag"
        text={filters.tag}
        onChange={(tag) => change({ tag })}
      />
    );
  }
  return (
    <>
      <Choice name="Model" values={names?.model ?? []} value={filters.model} onChange={(model) => change({ model })} />
      <Choice
        name="Key"
        values={[...(names?.key ?? []), 'Playground']}
        value={filters.key}
        onChange={(key) => change({ key })}
      />
      <Choice
        name="Provider"
        values={names?.provider ?? []}
        value={filters.provider}
        onChange={(provider) => change({ provider })}
      />
    </>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly values: readonly string[];
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

/** One of several values, or any; a value from the URL is always listed. */
function Choice({ name, values, value, onChange }: ChoiceProps) {
  return (
    <Select
      aria-label={name}
      placeholder={`Any ${name.toLowerCase()}`}
      clearable
      searchable
      flex={{ base: '1 1 140px', sm: '0 0 160px' }}
      data={[...new Set([...values, ...(value === undefined ? [] : [value])])]}
      value={value ?? null}
      onChange={(chosen) => onChange(chosen ?? undefined)}
    />
  );
}
