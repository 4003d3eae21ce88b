import { Button, Group, Menu, Stack, Text, TextInput } from '@mantine/core';
import { IconBookmark } from '@tabler/icons-react';
import { queryOptions, useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Schema } from '../../api/generated/schema.ts';
import { get, send } from '../../api/request.ts';
import type { SavedView } from '../../api/types.ts';
import { BusyButton } from '../../parts/busy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { FormDialog } from '../../parts/form-dialog.tsx';
import { useSave } from '../../parts/use-save.ts';
import { isNarrowed, type TaskFilters } from './task-filters.ts';

const viewsQuery = queryOptions({
  queryKey: ['task-views'],
  queryFn: ({ signal }) => get<Schema['SavedViewListView']>('/task-views', {}, signal),
});

/** Opens, saves and deletes views: filters under a name. */
export function SavedViewsMenu({ filters }: { readonly filters: TaskFilters }) {
  const navigate = useNavigate();
  const views = useQuery(viewsQuery).data?.data ?? [];
  const [dialog, setDialog] = useState<'save' | 'delete' | null>(null);
  const { from: _, to: __, ...kept } = filters;
  return (
    <>
      <Menu position="bottom-start" withinPortal>
        <Menu.Target>
          <Button variant="default" leftSection={<IconBookmark size={16} />}>
            Views
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {views.map(({ name, filters: saved }) => (
            <Menu.Item key={name} onClick={() => void navigate({ to: '/tasks', search: saved })}>
              {name}
            </Menu.Item>
          ))}
          {views.length > 0 && <Menu.Divider />}
          <Menu.Item disabled={!isNarrowed(kept)} onClick={() => setDialog('save')}>
            Save this view
          </Menu.Item>
          {views.length > 0 && <Menu.Item onClick={() => setDialog('delete')}>Delete views</Menu.Item>}
        </Menu.Dropdown>
      </Menu>
      {dialog === 'save' && <SaveView filters={kept} views={views} onClose={() => setDialog(null)} />}
      {dialog === 'delete' && <DeleteViews views={views} onClose={() => setDialog(null)} />}
    </>
  );
}

interface SaveViewProps {
  readonly filters: TaskFilters;
  readonly views: readonly SavedView[];
  readonly onClose: () => void;
}

function SaveView({ filters, views, onClose }: SaveViewProps) {
  const [name, setName] = useState('');
  const isKnown = views.some((view) => view.name === name.trim());
  const save = useSave({
    send: () => send('POST', '/task-views', { name: name.trim(), ...filters }),
    stale: [viewsQuery],
    done: 'View saved',
    after: onClose,
  });
  return (
    <FormDialog
      title="Save this view"
      action={isKnown ? 'Replace view' : 'Save view'}
      save={save}
      doing="Could not save the view"
      onSubmit={() => save.mutate()}
      onClose={onClose}
    >
      <TextInput
        label="Name"
        description={
          isKnown
            ? 'You have a view with this name, which is replaced.'
            : 'Keeps the filters, the search, and the order, but not the time range. Only you see it.'
        }
        required
        data-autofocus
        maxLength={100}
        value={name}
        onChange={({ currentTarget }) => setName(currentTarget.value)}
      />
    </FormDialog>
  );
}

function DeleteViews({ views, onClose }: Omit<SaveViewProps, 'filters'>) {
  const remove = useSave({
    send: (name: string) => send('POST', '/task-views/delete', { name }),
    stale: [viewsQuery],
    done: (_, name) => `View ${name} deleted`,
    failed: 'Could not delete the view',
  });
  return (
    <Dialog opened onClose={onClose} title="Delete views">
      <Stack gap="xs">
        {views.length === 0 && <Text size="sm">You have no saved views.</Text>}
        {views.map(({ name }) => (
          <Group key={name} justify="space-between" wrap="nowrap">
            <Text size="sm" truncate title={name}>
              {name}
            </Text>
            <BusyButton
              variant="default"
              size="xs"
              aria-label={`Delete ${name}`}
              busy={remove.isPending && remove.variables === name}
              onClick={() => remove.mutate(name)}
            >
              Delete
            </BusyButton>
          </Group>
        ))}
        <Group justify="flex-end" mt="md">
          <Button variant="default" onClick={onClose}>
            Close
          </Button>
        </Group>
      </Stack>
    </Dialog>
  );
}
