import { Button, Group, Select } from '@mantine/core';
import { useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { IconAdjustments } from '@tabler/icons-react';
import { keyNamesQuery, modelsQuery } from '../../api/queries.ts';
import { reasonOf } from '../../parts/failure-words.ts';
import { SearchField } from '../../parts/search-field.tsx';
import { TimeFilter } from '../../parts/time-filter.tsx';
import { activeFilters, outcomesQuery, type TaskFilters } from './task-filters.ts';
import { SavedViewsMenu } from './saved-views.tsx';

const STATUSES = [
  { value: 'pending', label: 'Pending' },
  { value: 'waiting', label: 'Waiting' },
  { value: 'running', label: 'Running' },
  { value: 'completed', label: 'Completed' },
  { value: 'failed', label: 'Failed' },
  { value: 'cancelled', label: 'Canceled' },
];

/** Filters the list; every choice is kept in the URL. */
export function TaskFilterBar({ filters }: { readonly filters: TaskFilters }) {
  const navigate = useNavigate();
  const keys = useQuery(keyNamesQuery);
  const models = useQuery(modelsQuery);
  const change = (changes: TaskFilters) => {
    void navigate({ to: '/tasks', search: { ...filters, ...changes }, replace: true });
  };
  const keyNames = [
    { value: 'playground', label: 'Playground' },
    ...(keys.data?.data.map(({ id, name }) => ({ value: id, label: name })) ?? []),
  ];
  const ids = models.data?.data.map(({ id }) => id) ?? [];
  const [opened, { toggle }] = useDisclosure(false);
  const { length: active } = activeFilters({ ...filters, text: undefined });
  return (
    <Group gap="sm">
      <SearchField
        label="Search prompts"
        placeholder="Search prompts or enter an ID"
        text={filters.text}
        onChange={(text) => change({ text })}
      />
      <SavedViewsMenu filters={filters} />
      <Button
        variant="default"
        hiddenFrom="sm"
        leftSection={<IconAdjustments size={16} />}
        aria-expanded={opened}
        aria-controls="task-filters"
        onClick={toggle}
      >
        Filters{active > 0 && ` (${active})`}
      </Button>
      <div id="task-filters" className="task-filters" data-opened={opened}>
        <Choice
          name="Status"
          data={STATUSES}
          value={filters.status}
          onChange={(status) => change({ status, error: status === 'failed' ? filters.error : undefined })}
        />
        <Choice name="Key" data={keyNames} value={filters.key} onChange={(key) => change({ key })} />
        {(ids.length > 1 || filters.model !== undefined) && (
          <Choice name="Model" data={ids} value={filters.model} onChange={(model) => change({ model })} />
        )}
        <OutcomeChoices filters={filters} onChange={change} />
        <SearchField
          narrow
          label="End user"
          placeholder="Any end user"
          text={filters.end_user}
          onChange={(user) => change({ end_user: user })}
        />
        <SearchField narrow label="Tag" placeholder="Any tag" text={filters.tag} onChange={(tag) => change({ tag })} />
        <TimeFilter times={filters} onChange={change} />
      </div>
    </Group>
  );
}

interface OutcomeChoicesProps {
  readonly filters: TaskFilters;
  readonly onChange: (changes: TaskFilters) => void;
}

/** The providers and errors that there are, each with its number of tasks. */
function OutcomeChoices({ filters, onChange }: OutcomeChoicesProps) {
  // The numbers are of any error, so that another one can be chosen.
  const { error, provider, status } = filters;
  const { data } = useQuery(outcomesQuery({ ...filters, status: error === undefined ? status : undefined }));
  const choices = (
    counts: readonly { name: string; count: number }[] = [],
    hasMore = false,
    wordsOf = (name: string): string => name,
  ) =>
    counts.map(({ name, count }) => ({
      value: name,
      label: `${wordsOf(name)} (${hasMore ? 'at least ' : ''}${count.toLocaleString('en')})`,
    }));
  const providers = choices(data?.providers, data?.more_providers);
  const errors = choices(data?.errors, data?.more_errors, reasonOf);
  return (
    <>
      {(providers.length > 0 || provider !== undefined) && (
        <Choice name="Provider" data={providers} value={provider} onChange={(one) => onChange({ provider: one })} />
      )}
      {(errors.length > 0 || error !== undefined) && (
        <Choice
          name="Error"
          data={errors}
          value={error}
          // Only failed tasks have one.
          onChange={(one) => onChange({ error: one, status: status === 'failed' ? status : undefined })}
        />
      )}
    </>
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly data: readonly (string | { readonly value: string; readonly label: string })[];
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

/** One of several values, or any; a value from the URL is always listed. */
export function Choice({ name, data, value, onChange }: ChoiceProps) {
  const isKnown = data.some((one) => (typeof one === 'string' ? one : one.value) === value);
  return (
    <Select
      aria-label={name}
      placeholder={`Any ${name.toLowerCase()}`}
      clearable
      searchable={name !== 'Status'}
      w={{ base: '100%', sm: 160 }}
      data={isKnown || value === undefined ? data : [...data, value]}
      value={value ?? null}
      onChange={(chosen) => onChange(chosen ?? undefined)}
    />
  );
}
