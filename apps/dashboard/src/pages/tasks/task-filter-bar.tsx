import { Button, Group, Select, TextInput } from '@mantine/core';
import { useDebouncedCallback, useDidUpdate, useDisclosure } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { IconAdjustments, IconSearch } from '@tabler/icons-react';
import { useState } from 'react';
import { keyNamesQuery, modelsQuery } from '../../api/queries.ts';
import { activeFilters, type TaskFilters } from './task-filters.ts';
import { TimeFilter } from './time-filter.tsx';

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
      <Search text={filters.text} onChange={(text) => change({ text })} />
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
        <Choice name="Status" data={STATUSES} value={filters.status} onChange={(status) => change({ status })} />
        <Choice name="Key" data={keyNames} value={filters.key} onChange={(key) => change({ key })} />
        {(ids.length > 1 || filters.model !== undefined) && (
          <Choice name="Model" data={ids} value={filters.model} onChange={(model) => change({ model })} />
        )}
        {filters.provider !== undefined && (
          <Choice name="Provider" data={[]} value={filters.provider} onChange={(provider) => change({ provider })} />
        )}
        <TimeFilter times={filters} onChange={change} />
      </div>
    </Group>
  );
}

interface SearchProps {
  readonly text: string | undefined;
  readonly onChange: (text: string | undefined) => void;
}

function Search({ text: searched, onChange }: SearchProps) {
  const [text, setText] = useState(searched ?? '');
  // Cleared elsewhere: by a link, or by the browser's back button.
  useDidUpdate(() => {
    if (searched === undefined) setText('');
  }, [searched === undefined]);
  const search = useDebouncedCallback((words: string) => onChange(words === '' ? undefined : words), 300);
  return (
    <TextInput
      aria-label="Search prompts"
      placeholder="Search prompts or enter an ID"
      leftSection={<IconSearch size={16} />}
      value={text}
      flex={1}
      miw={200}
      onChange={({ currentTarget: { value } }) => {
        setText(value);
        search(value);
      }}
    />
  );
}

interface ChoiceProps {
  readonly name: string;
  readonly data: readonly (string | { readonly value: string; readonly label: string })[];
  readonly value: string | undefined;
  readonly onChange: (value: string | undefined) => void;
}

/** One of several values, or any; a value from the URL is always listed. */
function Choice({ name, data, value, onChange }: ChoiceProps) {
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
