import { Button, Group } from '@mantine/core';
import { IconStar, IconStarFilled } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { keyNamesQuery, modelsQuery, useMay, useSession } from '../../api/queries.ts';
import { peopleQuery } from '../../api/team-queries.ts';
import { SearchField } from '../../parts/search-field.tsx';
import { Choice } from '../tasks/task-filter-bar.tsx';

/** Filters of the gallery; kept in the URL, so that a selection can be shared. */
export interface GalleryFilters {
  /** Part of a prompt. */
  readonly text?: string | undefined;
  readonly model?: string | undefined;
  readonly provider?: string | undefined;
  /** Id of a key, or `playground`. */
  readonly key?: string | undefined;
  /** Id of the user who started the task. */
  readonly person?: string | undefined;
  /** `true`: favorites only. */
  readonly favorites?: string | undefined;
}

export function isFiltered(filters: GalleryFilters): boolean {
  return Object.values(filters).some((value) => value !== undefined);
}

/** Narrows the gallery; offers only filters with something to choose. */
export function GalleryFilterBar({ filters }: { readonly filters: GalleryFilters }) {
  const navigate = useNavigate();
  const { image_providers: providers } = useSession();
  const managesTeam = useMay()('team.manage');
  const models = useQuery(modelsQuery).data?.data.map(({ id }) => id) ?? [];
  const keys = useQuery(keyNamesQuery).data?.data.map(({ id, name }) => ({ value: id, label: name })) ?? [];
  const people = useQuery({ ...peopleQuery, enabled: managesTeam }).data?.data ?? [];
  const persons = people.map(({ id, name }) => ({ value: id, label: name }));
  const change = (changes: GalleryFilters) => {
    void navigate({ to: '/gallery', search: { ...filters, ...changes }, replace: true });
  };
  const isStarred = filters.favorites === 'true';
  return (
    <Group gap="sm">
      <SearchField
        label="Search prompts"
        placeholder="Search prompts"
        text={filters.text}
        onChange={(text) => change({ text })}
      />
      <Button
        variant={isStarred ? 'light' : 'default'}
        aria-pressed={isStarred}
        leftSection={isStarred ? <IconStarFilled size={16} /> : <IconStar size={16} />}
        onClick={() => change({ favorites: isStarred ? undefined : 'true' })}
      >
        Favorites
      </Button>
      {(models.length > 1 || filters.model !== undefined) && (
        <Choice name="Model" data={models} value={filters.model} onChange={(model) => change({ model })} />
      )}
      {(providers.length > 1 || filters.provider !== undefined) && (
        <Choice
          name="Provider"
          data={providers}
          value={filters.provider}
          onChange={(provider) => change({ provider })}
        />
      )}
      {(persons.length > 1 || filters.person !== undefined) && (
        <Choice name="User" data={persons} value={filters.person} onChange={(person) => change({ person })} />
      )}
      <Choice
        name="Key"
        data={[{ value: 'playground', label: 'Playground' }, ...keys]}
        value={filters.key}
        onChange={(key) => change({ key })}
      />
    </Group>
  );
}
